"""Revisions of a manifest add links: pure functions (spec: mutable session manifest)."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lineage.core.base import naming, note_paths, times
from lineage.core.base.links import escape_markdown, to_one_line, wikilink
from lineage.core.format.body import HASH_SCOPE, hash_body
from lineage.core.format.documents import FORMAT, Artifact, Manifest
from lineage.core.format.resanitization import Replacement
from lineage.errors import InvalidInput

_COPIED_FIELDS = (
    "agent_id", "session_id", "session_key", "project", "harness", "lane", "private", "forked_from", "parent_session",
    "partial", "title", "repository",
)  # fmt: skip


class SessionLinks(NamedTuple):
    """The links of a manifest to notes and other sessions; the field names are those of `Manifest`."""

    project_name: str = ""
    previous: list[str] = []  # noqa: RUF012  (lists of documents are never changed)
    related: list[str] = []  # noqa: RUF012


def link_artifacts(
    manifest: Manifest | None,
    stem: str,
    artifacts: Sequence[Artifact],
    write_id: str,
    now: str,
    sub_agents: Iterable[str] = (),
    links: SessionLinks | None = None,
) -> Manifest | None:
    """Return the manifest with links to one capture or compaction, None if it has them; a new one at `stem`.

    `sub_agents` are stems of manifests to link too; `links` take the place of those to notes and other sessions.
    """
    first = artifacts[0]
    if manifest is None:
        manifest = _new_manifest(first, stem)
    changed = _add_compaction(manifest, first) if first.kind == naming.COMPACTION else _add_capture(manifest, artifacts)
    changed = changed._replace(
        parent_session=manifest.parent_session or first.parent_session,
        sub_agents=sorted({*manifest.sub_agents, *sub_agents}),
        **(links._asdict() if links else {}),
    )
    if changed == manifest and manifest.revision > 0:
        return None
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def add_sub_agent(manifest: Manifest, stem: str, write_id: str, now: str) -> Manifest | None:
    """Return the manifest with a link to a sub-agent, None if it has it."""
    changed = manifest._replace(sub_agents=sorted({*manifest.sub_agents, stem}))
    return None if changed == manifest else _bump_rendered(changed, write_id, now)


def unlink_session(manifest: Manifest, token: str, write_id: str, now: str) -> Manifest | None:
    """Return the manifest without links to another session, None if it has none."""
    lists = {name: getattr(manifest, name) for name in ("sub_agents", "previous", "related")}
    kept: dict[str, Any] = {name: [stem for stem in stems if not stem.endswith(token)] for name, stems in lists.items()}
    return None if kept == lists else _bump_rendered(manifest._replace(**kept), write_id, now)


def start_imported(manifest: Manifest, former_tokens: Sequence[str], write_id: str, now: str) -> Manifest:
    """Return the first revision of an imported manifest; `former_tokens` are its tokens, oldest first."""
    # The records of replaced artifacts name paths under the former tokens, the links sessions of another workspace.
    changed = manifest._replace(resanitized=[], imported_from=list(former_tokens), **SessionLinks()._asdict())
    return _bump_revision(changed, 0, render_manifest_body(changed), write_id, now)


def upgrade_manifest(manifest: Manifest, links: SessionLinks, write_id: str, now: str) -> Manifest | None:
    """Return the manifest in today's format with these links, None if it has them."""
    is_retired = not (manifest.captures or manifest.compactions)
    linked = manifest if is_retired else manifest._replace(**links._asdict())
    body = manifest.body if is_retired else render_manifest_body(linked)
    changed = _bump_revision(linked, manifest.revision, body, write_id, now)
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


def _bump_rendered(changed: Manifest, write_id: str, now: str) -> Manifest:
    return _bump_revision(changed, changed.revision, render_manifest_body(changed), write_id, now)


def _bump_revision(changed: Manifest, revision: int, body: str, write_id: str, now: str) -> Manifest:
    project_tags = [note_paths.project_tag(changed.project_name)] if changed.project_name else []
    return changed._replace(
        tags=[tag for tag in changed.tags if not tag.startswith("project/")] + project_tags,
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
    anchors = [] if transcript.parent_session else [memory_md_anchor(transcript)]  # a sub-agent has no row
    return manifest._replace(
        captures=captures,
        transcript_path=naming.artifact_path(newest, naming.TRANSCRIPT),
        summary_path=naming.artifact_path(newest, naming.SUMMARY),
        memory_md_refs=sorted({*manifest.memory_md_refs, *anchors}),
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


def memory_md_anchor(artifact: Artifact) -> str:
    """Return the anchor of a capture's row: `MEMORY.md#2026-03-28` (format: MEMORY.md)."""
    membership = artifact.ended_at or artifact.captured_at
    return f"{naming.memory_md_path(artifact.agent_id)}#{times.to_date(membership)}"


def render_manifest_body(manifest: Manifest) -> str:
    """Return the body of a manifest: links to its newest artifacts and notes, to every capture, and other sessions."""
    newest = (
        (manifest.summary_path, naming.SUMMARY),
        (manifest.transcript_path, naming.TRANSCRIPT),
        (manifest.compaction_path, naming.COMPACTION),
    )
    links = [wikilink(path, label) for path, label in newest if path]
    links += [wikilink(anchor, "ledger") for anchor in manifest.memory_md_refs]
    links += [wikilink(path, label) for path, label in _list_notes(manifest)]
    parts = [" ".join(links), f"# {escape_markdown(manifest.title)}"]
    if manifest.captures:
        lines = [_render_line(stem, naming.SUMMARY, naming.TRANSCRIPT) for stem in manifest.captures]
        parts.append("## Captures\n\n" + "\n".join(lines))
    if manifest.compactions:
        lines = [_render_line(stem, naming.COMPACTION) for stem in manifest.compactions]
        parts.append("## Compactions\n\n" + "\n".join(lines))
    others = (
        ("Sub-agents", manifest.sub_agents),
        ("The session before", manifest.previous),
        ("Sessions with the same files", manifest.related),
    )
    for heading, stems in others:
        if stems:
            parts.append(f"## {heading}\n\n" + "\n".join(_render_line(stem, naming.MANIFEST) for stem in stems))
    return "\n\n".join(parts) + "\n"


def _list_notes(manifest: Manifest) -> list[tuple[str, str]]:
    """Return (path, label) of the notes of the session's project and days; a private or test session has none."""
    if manifest.private or naming.is_test_session(manifest.identity, manifest.project):
        return []
    days = sorted({anchor.rpartition("#")[2] for anchor in manifest.memory_md_refs})
    notes = [(note_paths.day_note_path(day), day) for day in days]
    with suppress(InvalidInput):  # no name, or one by hand that no file can have
        notes.insert(0, (note_paths.project_note_path(manifest.project_name), "project"))
    return notes


def _render_line(stem: str, *kinds: str) -> str:
    links = [wikilink(naming.artifact_path(stem, kind), kind) for kind in kinds]
    return f"- {' · '.join((naming.parse_captured_at(stem), *links))}"
