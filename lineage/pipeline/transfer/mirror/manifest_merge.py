"""The merge of two versions of a manifest, under a new revision (spec: mutable session manifest).

The result has each link that one side added, and lacks each link of the ancestor that one side dropped. The same two
versions give the same bytes on every machine, so several mirrors agree.
"""

import hashlib
from collections.abc import Callable

from lineage.core.base import naming
from lineage.core.format.body import hash_body
from lineage.core.format.documents import Manifest
from lineage.core.format.manifest import render_manifest_body

_WRITE_ID = 32


def merge_manifests(base: Manifest | None, one: Manifest, other: Manifest) -> Manifest:
    """Merge two manifests. Return one of them unchanged if it holds the links of both."""
    older, newer = sorted((one, other), key=lambda m: (m.revision, m.updated_at, m.write_id))
    merged = _merge(base, older, newer)
    for side in (newer, older):
        if _without_revision(merged) == _without_revision(side):
            return side
    body = render_manifest_body(merged) if merged.captures or merged.compactions else newer.body
    return merged._replace(
        body=body,
        content_sha256=hash_body(body),
        revision=newer.revision + 1,
        write_id=hashlib.sha256(f"{older.write_id}\n{newer.write_id}".encode()).hexdigest()[:_WRITE_ID],
        updated_at=max(older.updated_at, newer.updated_at),
    )


def _merge(base: Manifest | None, older: Manifest, newer: Manifest) -> Manifest:
    def merge_links(field: Callable[[Manifest], list[str]]) -> list[str]:
        ours, theirs = set(field(newer)), set(field(older))
        ancestor = set(field(base)) if base else set()
        return sorted((ours | theirs) - (ancestor - ours) - (ancestor - theirs))

    captures, compactions = merge_links(lambda m: m.captures), merge_links(lambda m: m.compactions)
    first = older if captures and captures[0] not in newer.captures else newer
    last = older if captures and captures[-1] not in newer.captures else newer
    return newer._replace(
        captures=captures,
        compactions=compactions,
        transcript_path=naming.artifact_path(captures[-1], naming.TRANSCRIPT) if captures else None,
        summary_path=naming.artifact_path(captures[-1], naming.SUMMARY) if captures else None,
        compaction_path=naming.artifact_path(compactions[-1], naming.COMPACTION) if compactions else None,
        memory_md_refs=merge_links(lambda m: m.memory_md_refs),
        resanitized=list(dict.fromkeys((*newer.resanitized, *older.resanitized))),
        project=newer.project or older.project,
        started_at=first.started_at,
        ended_at=last.ended_at,
        title=last.title,
        aliases=last.aliases,
    )


def _without_revision(manifest: Manifest) -> Manifest:
    """Return a manifest without the fields of its latest write."""
    return manifest._replace(body="", content_sha256="", revision=0, write_id="", updated_at="")
