"""The shapes of the API's answers: each schema, and the conversion of a pipeline value to it."""

from dataclasses import asdict, replace
from typing import Any

from lineage.index import Hit
from lineage.pipeline.memory.books import Evidence
from lineage.pipeline.search.session_view import RelatedSession, SessionView
from lineage.web.schema import BOOLEAN, COUNTS, INTEGER, NUMBER, TEXT, Schema, list_of, nullable, one_of, record

SESSION: Schema = record({
    "session_id": TEXT, "session_key": nullable(TEXT), "session_token": TEXT, "agent_id": TEXT,
    "project": nullable(TEXT), "harness": TEXT, "title": TEXT, "ask": TEXT, "outcome": TEXT,
    "started_at": nullable(TEXT), "ended_at": nullable(TEXT), "membership_ts": TEXT, "memory_sentence": TEXT,
    "manifest_path": TEXT, "captures": INTEGER, "private": BOOLEAN,
    "parent_token": nullable(TEXT), "sub_agents": INTEGER,
})  # fmt: skip
PART: Schema = record({
    "stem": TEXT, "captured_at": TEXT, "memory_sentence": TEXT,
    "paths": {"type": "object", "additionalProperties": TEXT}, "turns": nullable(list_of(INTEGER)),
})  # fmt: skip
RELATIVE: Schema = record({
    "tie": one_of("forked from", "fork", "started by", "started"), "session_id": TEXT,
    "session_token": nullable(TEXT), "title": nullable(TEXT), "memory_sentence": nullable(TEXT),
})  # fmt: skip
VIEW: Schema = record({
    "session": SESSION, "revision": INTEGER, "turns": INTEGER, "captures": list_of(PART),
    "compactions": list_of(PART), "relatives": list_of(RELATIVE), "unread": list_of(TEXT),
})  # fmt: skip
TURN: Schema = record({
    "number": INTEGER, "id": TEXT, "role": TEXT, "at": nullable(TEXT), "name": TEXT, "input": TEXT,
    "error": BOOLEAN, "thinking": BOOLEAN, "text": TEXT, "call": nullable(INTEGER),
    "parts": list_of(record({"label": TEXT, "language": TEXT, "old": nullable(TEXT), "text": TEXT})),
})  # fmt: skip
ENTRY: Schema = record({
    "id": TEXT, "scope": TEXT, "kind": TEXT, "shelf": TEXT, "path": TEXT, "line": INTEGER, "at": nullable(TEXT),
    "updated": nullable(TEXT), "trust": TEXT, "source": TEXT, "tool": nullable(TEXT), "from": nullable(TEXT),
    "tags": list_of(TEXT), "supersedes": list_of(TEXT), "state": TEXT, "text": TEXT,
})  # fmt: skip
BOOK: Schema = record({
    "scope": TEXT, "kind": TEXT, "path": TEXT, "entries": INTEGER, "waiting": INTEGER, "archived": INTEGER,
    "forgotten": INTEGER, "problems": list_of(TEXT),
})  # fmt: skip
EVIDENCE: Schema = record({
    "entry": ENTRY, "quote": TEXT, "link": nullable(TEXT), "role": nullable(TEXT), "said_at": nullable(TEXT),
    "replaces": list_of(TEXT), "seen": TEXT,
})  # fmt: skip
ENTRY_HIT: Schema = record({
    "id": TEXT, "scope": TEXT, "book": TEXT, "shelf": TEXT, "trust": TEXT, "source": TEXT, "from": nullable(TEXT),
    "tags": list_of(TEXT), "standing": BOOLEAN, "done": nullable(BOOLEAN),
})  # fmt: skip
HIT: Schema = record({
    "session_id": nullable(TEXT), "session_token": nullable(TEXT), "agent_id": nullable(TEXT), "kind": TEXT,
    "path": TEXT, "turns": nullable(list_of(INTEGER)), "score": NUMBER, "snippet": TEXT,
    "parts": list_of(record({"text": TEXT, "matched": BOOLEAN})), "project": nullable(TEXT),
    "membership_ts": nullable(TEXT), "title": nullable(TEXT), "outcome": nullable(TEXT),
    "memory_sentence": nullable(TEXT), "entry": nullable(ENTRY_HIT),
})  # fmt: skip
MESSAGE: Schema = record({"role": TEXT, "text": TEXT}, {"at": nullable(TEXT)})
CHECKPOINT: Schema = record({
    "agent_id": TEXT, "session_id": TEXT, "session_token": TEXT, "harness": TEXT, "project": nullable(TEXT),
    "saved_at": TEXT, "messages": list_of(MESSAGE), "offered_at": nullable(TEXT), "used_at": nullable(TEXT),
})  # fmt: skip
OUTCOME: Schema = record({
    "status": one_of("captured", "unchanged", "refused"), "session_token": TEXT, "reason": nullable(TEXT),
    "manifest_path": nullable(TEXT), "transcript_path": nullable(TEXT), "summary_path": nullable(TEXT),
    "compaction_path": nullable(TEXT), "captured_at": nullable(TEXT), "memory_sentence": nullable(TEXT),
    "memory_sentence_quality": nullable(TEXT), "turns": INTEGER, "compactions": INTEGER, "redactions": COUNTS,
    "skipped": COUNTS, "learned": record({"dropped": COUNTS, "kept": INTEGER, "pending": INTEGER}),
})  # fmt: skip
REMEMBERED: Schema = record({
    "status": one_of("remembered", "pending", "known", "forgotten", "dropped"), "scope": TEXT, "kind": TEXT,
    "id": nullable(TEXT), "path": nullable(TEXT), "text": TEXT, "trust": nullable(TEXT), "harness": nullable(TEXT),
    "reason": nullable(TEXT), "hint": nullable(TEXT), "redactions": COUNTS,
})  # fmt: skip
RECEIPT: Schema = record({
    "session_token": TEXT, "session_id": nullable(TEXT), "agent_id": TEXT, "harness": nullable(TEXT),
    "reason": TEXT, "removed_at": TEXT, "dry_run": BOOLEAN, "removed_paths": list_of(TEXT),
    "spool_files": list_of(TEXT), "rows": INTEGER, "turns": INTEGER, "entries": INTEGER, "checked_files": INTEGER,
    "elsewhere": list_of(TEXT), "out_of_reach": list_of(TEXT), "sub_agents": list_of(TEXT),
})  # fmt: skip
FINDING: Schema = record({"level": one_of("MUST", "SHOULD"), "path": TEXT, "what": TEXT, "mend": TEXT})


def dump_view(view: SessionView) -> dict[str, Any]:
    """Return a session with its lineage as JSON."""
    return {**asdict(view), "relatives": [_dump_relative(relative) for relative in view.relatives]}


def _dump_relative(relative: RelatedSession) -> dict[str, Any]:
    row = {name: getattr(relative.session, name, None) for name in ("session_token", "title", "memory_sentence")}
    return {"tie": relative.tie, "session_id": relative.session_id, **row}


def dump_evidence(evidence: Evidence, seen: str) -> dict[str, Any]:
    """Return the evidence of a pending entry as JSON. A confirmation sends `seen` back: it stands for all of this."""
    source = {"quote": evidence.quote, "link": evidence.link, "role": evidence.role, "said_at": evidence.turn_at}
    return {"entry": evidence.location.as_json(), **source, "replaces": list(evidence.replaces), "seen": seen}


def dump_hit(hit: Hit) -> dict[str, Any]:
    """Return a search result as JSON."""
    hit = replace(hit, snippet=" ".join(hit.snippet.split()))
    parts = [{"text": text, "matched": matched} for text, matched in hit.split_snippet() if text]
    return hit.as_json() | {"parts": parts, "entry": hit.entry.as_json() if hit.entry else None}
