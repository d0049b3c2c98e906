"""Revisions of a manifest, which add links: pure functions (spec: mutable session manifest)."""

from collections.abc import Callable, Iterable, Sequence

from lineage.core.base import naming, times
from lineage.core.base.links import escape_markdown, to_one_line, wikilink
from lineage.core.format.body import HASH_SCOPE, hash_body
from lineage.core.format.documents import FORMAT, Artifact, Manifest
from lineage.core.format.resanitization import Replacement

_COPIED_FIELDS = (
    "agent_id", "session_id", "session_key", "project", "harness", "lane", "private", "forked_from", "parent_session",
    "partial", "title", "repository",
)  # fmt: skip


def link_artifacts(
    manifest: Manifest | None,
    stem: str,
    artifacts: Sequence[Artifact],
    write_id: str,
    now: str,
    sub_agents: Iterable[str] = (),
) -> Manifest | None:
    """Return the manifest with links to one capture or compaction, None if it has them; a new one at `stem`.

    `sub_agents` are stems of manifests to link too.
    """
    first = artifacts[0]
    if manifest is None:
        manifest = _new_manifest(first, stem)
    changed = _add_compaction(manifest, first) if first.kind == naming.COMPACTION else _add_capture(manifest, artifacts)
    changed = changed._replace(
        parent_session=manifest.parent_session or first.parent_session,
        sub_agents=sorted({*manifest.sub_agents, *sub_agents}),
    )
    if changed == manifest and manifest.revision > 0:
        return None
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def replace_sub_agents(manifest: Manifest, stems: Iterable[str], write_id: str, now: str) -> Manifest | None:
    """Return the manifest with links to the sub-agents of these stems, None if it has them."""
    changed = manifest._replace(sub_agents=sorted(set(stems)))
    if changed == manifest:
        return None
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def start_imported(manifest: Manifest, former_tokens: Sequence[str], write_id: str, now: str) -> Manifest:
    """Return the first revision of an imported manifest; `former_tokens` are its tokens, oldest first."""
    # The records of replaced artifacts name paths under the former tokens.
    changed = manifest._replace(resanitized=[], imported_from=list(former_tokens))
    return _bump_revision(changed, 0, render_manifest_body(changed), write_id, now)


def upgrade_manifest(manifest: Manifest, write_id: str, now: str) -> Manifest | None:
    """Return the manifest in today's format, None if it has it."""
    is_retired = not (manifest.captures or manifest.compactions)
    body = manifest.body if is_retired else render_manifest_body(manifest)
    changed = _bump_revision(manifest, manifest.revision, body, write_id, now)
    same = changed._replace(revision=manifest.revision, write_id=manifest.write_id, updated_at=manifest.updated_at)
    return None if same == manifest else changed


def retire(manifest: Manifest, successor: str, write_id: str, now: str) -> Manifest:
    """Return a second manifest of a session without its captures, as a link to the one at stem `successor`."""
    body = wikilink(naming.artifact_path(successor, naming.MANIFEST), "manifest") + "\n"
    emptied = manifest._replace(
        summary_path=None, transcript_path=None, compaction_path=None, memory_md_refs=[], captures=[], compactions=[]
    )
    return _bump_revision(emptied, manifest.revision, body, write_id, now)


def record_replacements(
    manifest: Manifest, records: Sequence[Replacement], clean: Callable[[str], str], write_id: str, now: str
) -> Manifest:
    """Return the manifest with records of replaced artifacts, its own texts redacted by `clean`."""
    # A crash can leave a record of a replacement that never happened: its file still has the old content.
    replaced = {(record.path, record.old) for record in records}
    kept = [record for record in manifest.replacements() if (record.path, record.old) not in replaced]
    title = to_one_line(clean(manifest.title))
    changed = manifest._replace(
        resanitized=[record.as_text() for record in (*kept, *records)],
        project=to_one_line(clean(manifest.project)) if manifest.project else None,
        repository=to_one_line(clean(manifest.repository)) if manifest.repository else None,
        title=title,
        aliases=manifest.aliases if title == manifest.title else [naming.build_alias(title, naming.MANIFEST)],
    )
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def list_capture_paths(manifest: Manifest) -> list[str]:
    """Return the paths of the transcripts and compactions that a manifest names."""
    captures = [naming.artifact_path(stem, naming.TRANSCRIPT) for stem in manifest.captures]
    return captures + [naming.artifact_path(stem, naming.COMPACTION) for stem in manifest.compactions]


def list_artifact_paths(manifest: Manifest) -> list[str]:
    """Return the path of every artifact that a manifest names, sorted."""
    newest = (manifest.summary_path, manifest.transcript_path, manifest.compaction_path)
    captures = [
        naming.artifact_path(stem, kind) for stem in manifest.captures for kind in (naming.TRANSCRIPT, naming.SUMMARY)
    ]
    compactions = [naming.artifact_path(stem, naming.COMPACTION) for stem in manifest.compactions]
    return sorted({*captures, *compactions, *(path for path in newest if path)})


def _bump_revision(changed: Manifest, revision: int, body: str, write_id: str, now: str) -> Manifest:
    return changed._replace(
        format=FORMAT,
        cssclasses=naming.build_css_classes(naming.MANIFEST),
        body=body,
        content_sha256=hash_body(body),
        revision=revision + 1,
        write_id=write_id,
        updated_at=now,
    )


def _new_manifest(artifact: Artifact, stem: str) -> Manifest:
    return Manifest(
        **{name: getattr(artifact, name) for name in _COPIED_FIELDS},
        kind=naming.MANIFEST,
        captured_at=naming.parse_captured_at(stem),
        summary_path=None,
        transcript_path=None,
        compaction_path=None,
        memory_md_refs=[],
        updated_at=artifact.captured_at,
        revision=0,
        write_id="",
        started_at=None,
        ended_at=None,
        captures=[],
        compactions=[],
        resanitized=[],
        content_sha256="",
        hash_scope=HASH_SCOPE,
        format=FORMAT,
        aliases=[naming.build_alias(artifact.title, naming.MANIFEST)],
        tags=["lineage", "lineage/manifest"],
        cssclasses=naming.build_css_classes(naming.MANIFEST),
        body="",
    )


def _add_capture(manifest: Manifest, artifacts: Sequence[Artifact]) -> Manifest:
    transcript = next(a for a in artifacts if a.kind == naming.TRANSCRIPT)
    if transcript.stem in manifest.captures:
        return manifest
    # A sync can bring an older capture after a newer one, so that the new one needn't be the newest.
    captures = sorted({*manifest.captures, transcript.stem})
    newest = captures[-1]
    is_newest = newest == transcript.stem
    return manifest._replace(
        captures=captures,
        transcript_path=naming.artifact_path(newest, naming.TRANSCRIPT),
        summary_path=naming.artifact_path(newest, naming.SUMMARY),
        memory_md_refs=sorted({*manifest.memory_md_refs, *_list_anchors(transcript)}),
        started_at=transcript.started_at if captures[0] == transcript.stem else manifest.started_at,
        ended_at=transcript.ended_at if is_newest else manifest.ended_at,
        project=manifest.project or transcript.project,
        partial=manifest.partial and transcript.partial,
        repository=manifest.repository or transcript.repository,
        title=transcript.title if is_newest else manifest.title,
        aliases=[naming.build_alias(transcript.title, naming.MANIFEST)] if is_newest else manifest.aliases,
    )


def _add_compaction(manifest: Manifest, artifact: Artifact) -> Manifest:
    # A compaction never changes a session's times. (format: Times)
    if artifact.stem in manifest.compactions:
        return manifest
    compactions = sorted({*manifest.compactions, artifact.stem})
    newest = naming.artifact_path(compactions[-1], naming.COMPACTION)
    return manifest._replace(compactions=compactions, compaction_path=newest)


def _list_anchors(artifact: Artifact) -> list[str]:
    return [] if artifact.parent_session else [memory_md_anchor(artifact)]  # a sub-agent has no row


def memory_md_anchor(artifact: Artifact) -> str:
    """Return the anchor of a capture's row: `MEMORY.md#2026-03-28` (format: MEMORY.md)."""
    membership = artifact.ended_at or artifact.captured_at
    return f"{naming.memory_md_path(artifact.agent_id)}#{times.to_date(membership)}"


def render_manifest_body(manifest: Manifest) -> str:
    """Return the body of a manifest: links to its newest artifacts, then every capture, compaction and sub-agent."""
    newest = (
        (manifest.summary_path, naming.SUMMARY),
        (manifest.transcript_path, naming.TRANSCRIPT),
        (manifest.compaction_path, naming.COMPACTION),
    )
    links = [wikilink(path, label) for path, label in newest if path]
    links += [wikilink(anchor, "ledger") for anchor in manifest.memory_md_refs]
    parts = [" ".join(links), f"# {escape_markdown(manifest.title)}"]
    if manifest.captures:
        lines = [_render_line(stem, naming.SUMMARY, naming.TRANSCRIPT) for stem in manifest.captures]
        parts.append("## Captures\n\n" + "\n".join(lines))
    if manifest.compactions:
        lines = [_render_line(stem, naming.COMPACTION) for stem in manifest.compactions]
        parts.append("## Compactions\n\n" + "\n".join(lines))
    if manifest.sub_agents:
        lines = [_render_line(stem, naming.MANIFEST) for stem in manifest.sub_agents]
        parts.append("## Sub-agents\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _render_line(stem: str, *kinds: str) -> str:
    links = [wikilink(naming.artifact_path(stem, kind), kind) for kind in kinds]
    return f"- {' · '.join((naming.parse_captured_at(stem), *links))}"
