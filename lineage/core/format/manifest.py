"""How a manifest comes to be and what may change in it: pure functions from one revision to the next.

Only new links enter a manifest; its stem, identity and first times stay. (spec: mutable session manifest)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage.core.base import naming, times
from lineage.core.base.links import escape_markdown, to_one_line, wikilink
from lineage.core.format.body import HASH_SCOPE, hash_body
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.resanitization import Replacement

if TYPE_CHECKING:
    from lineage.core.sanitizer import Sanitizer


def link_artifacts(
    manifest: Manifest | None, stem: str, artifacts: Sequence[Artifact], write_id: str, now: str
) -> Manifest | None:
    """The manifest that names `artifacts` too; None where it names them already (nothing to write).

    `stem` is the session's claimed stem: the manifest of a session that has none yet is made there.
    `artifacts` are one capture (transcript and summary) or one compaction.
    """
    first = artifacts[0]
    if manifest is None:
        manifest = _new_manifest(first, stem)
    changed = _add_compaction(manifest, first) if first.kind == naming.COMPACTION else _add_capture(manifest, artifacts)
    if changed == manifest and manifest.revision > 0:
        return None
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def start_imported(manifest: Manifest, former_tokens: Sequence[str], write_id: str, now: str) -> Manifest:
    """The first revision of the manifest of a session that came in a bundle and got a fresh id; `came_from` are the
    tokens that it had before, oldest first. What was replaced under older ids is no replacement here."""
    changed = manifest._replace(resanitized=[], imported_from=list(former_tokens))
    return _bump_revision(changed, 0, render_manifest_body(changed), write_id, now)


def retire(manifest: Manifest, successor: str, write_id: str, now: str) -> Manifest:
    """A manifest whose captures another one of the session took over: it names nothing but its successor's stem."""
    body = wikilink(naming.artifact_path(successor, naming.MANIFEST), "manifest") + "\n"
    emptied = manifest._replace(
        summary_path=None,
        transcript_path=None,
        compaction_path=None,
        memory_md_refs=[],
        captures=[],
        compactions=[],
    )
    return _bump_revision(emptied, manifest.revision, body, write_id, now)


def record_replacements(
    manifest: Manifest, records: Sequence[Replacement], sanitizer: "Sanitizer", write_id: str, now: str
) -> Manifest:
    """The manifest that records the replacement of artifacts under new redaction rules, its own values under them too.

    A record that was never fulfilled, for the file is still what it was before, gives way to the new one.
    """
    replaced = {(record.path, record.old) for record in records}
    kept = [record for record in manifest.replacements() if (record.path, record.old) not in replaced]
    title = to_one_line(sanitizer.sanitize(manifest.title))
    changed = manifest._replace(
        resanitized=[record.as_text() for record in (*kept, *records)],
        project=to_one_line(sanitizer.sanitize(manifest.project)) if manifest.project else None,
        title=title,
        aliases=manifest.aliases if title == manifest.title else [naming.build_alias(title, naming.MANIFEST)],
    )
    return _bump_revision(changed, manifest.revision, render_manifest_body(changed), write_id, now)


def _bump_revision(changed: Manifest, revision: int, body: str, write_id: str, now: str) -> Manifest:
    return changed._replace(
        body=body,
        content_sha256=hash_body(body),
        revision=revision + 1,
        write_id=write_id,
        updated_at=now,
    )


def _new_manifest(artifact: Artifact, stem: str) -> Manifest:
    return Manifest(
        kind=naming.MANIFEST,
        agent_id=artifact.agent_id,
        session_id=artifact.session_id,
        session_key=artifact.session_key,
        project=artifact.project,
        harness=artifact.harness,
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
        lane=artifact.lane,
        private=artifact.private,
        forked_from=artifact.forked_from,
        parent_session=artifact.parent_session,
        title=artifact.title,
        aliases=[naming.build_alias(artifact.title, naming.MANIFEST)],
        tags=["lineage", "lineage/manifest"],
        body="",
    )


def _add_capture(manifest: Manifest, artifacts: Sequence[Artifact]) -> Manifest:
    transcript = next(a for a in artifacts if a.kind == naming.TRANSCRIPT)
    if transcript.stem in manifest.captures:
        return manifest
    captures = sorted({*manifest.captures, transcript.stem})
    newest = captures[-1]
    is_newest = newest == transcript.stem
    reference = memory_md_anchor(transcript)
    return manifest._replace(
        captures=captures,
        transcript_path=naming.artifact_path(newest, naming.TRANSCRIPT),
        summary_path=naming.artifact_path(newest, naming.SUMMARY),
        memory_md_refs=sorted({*manifest.memory_md_refs, reference}),
        started_at=transcript.started_at if captures[0] == transcript.stem else manifest.started_at,
        ended_at=transcript.ended_at if is_newest else manifest.ended_at,
        project=manifest.project or transcript.project,
        title=transcript.title if is_newest else manifest.title,
        aliases=[naming.build_alias(transcript.title, naming.MANIFEST)] if is_newest else manifest.aliases,
    )


def _add_compaction(manifest: Manifest, artifact: Artifact) -> Manifest:
    """Only the compaction's own links: a compaction never changes a session's times. (format: Times)"""
    if artifact.stem in manifest.compactions:
        return manifest
    compactions = sorted({*manifest.compactions, artifact.stem})
    return manifest._replace(
        compactions=compactions,
        compaction_path=naming.artifact_path(compactions[-1], naming.COMPACTION),
    )


def memory_md_anchor(artifact: Artifact) -> str:
    """The anchor of a capture's row: `MEMORY.md#2026-03-28`. (format: MEMORY.md)"""
    membership = artifact.ended_at or artifact.captured_at
    return f"{naming.memory_md_path(artifact.agent_id)}#{times.to_date(membership)}"


def render_manifest_body(manifest: Manifest) -> str:
    """The body that belongs to what a manifest names."""
    lines = [" ".join(_render_links(manifest)), f"# {escape_markdown(manifest.title)}"]
    if manifest.captures:
        lines.append("## Captures\n\n" + "\n".join(_render_capture(stem) for stem in manifest.captures))
    if manifest.compactions:
        lines.append("## Compactions\n\n" + "\n".join(_render_compaction(stem) for stem in manifest.compactions))
    return "\n\n".join(lines) + "\n"


def _render_links(manifest: Manifest) -> list[str]:
    newest = (
        (manifest.summary_path, "summary"),
        (manifest.transcript_path, "transcript"),
        (manifest.compaction_path, "compaction"),
    )
    return [wikilink(path, label) for path, label in newest if path] + [
        wikilink(ref, "ledger") for ref in manifest.memory_md_refs
    ]


def _render_capture(stem: str) -> str:
    summary = wikilink(naming.artifact_path(stem, naming.SUMMARY), "summary")
    transcript = wikilink(naming.artifact_path(stem, naming.TRANSCRIPT), "transcript")
    return f"- {naming.parse_captured_at(stem)} · {summary} · {transcript}"


def _render_compaction(stem: str) -> str:
    return (
        f"- {naming.parse_captured_at(stem)} · {wikilink(naming.artifact_path(stem, naming.COMPACTION), 'compaction')}"
    )
