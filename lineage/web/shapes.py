"""What the API's answers look like: each shape's schema, and how a value of the pipeline becomes one."""

from dataclasses import asdict
from typing import Any

from lineage.core.checkpoint import Checkpoint
from lineage.core.turns import Turn
from lineage.index import MARK, EntryRow, Hit, SessionRow
from lineage.pipeline.knowledge.bookkeeping import Overview
from lineage.pipeline.knowledge.confirming import Evidence
from lineage.pipeline.viewing import Part, Relative, View
from lineage.web.schema import COUNTS, FLAG, NUMBER, TEXT, WHOLE, Schema, listed, maybe, one_of, record

SESSION: Schema = record(
    {
        "session_id": TEXT, "session_key": maybe(TEXT), "session_token": TEXT, "agent_id": TEXT,
        "project": maybe(TEXT), "harness": TEXT, "title": TEXT, "started_at": maybe(TEXT), "ended_at": maybe(TEXT),
        "membership_ts": TEXT, "memory_sentence": TEXT, "manifest_path": TEXT, "captures": WHOLE, "private": FLAG,
    }
)  # fmt: skip
PART: Schema = record(
    {
        "stem": TEXT, "captured_at": TEXT, "memory_sentence": TEXT,
        "paths": {"type": "object", "additionalProperties": TEXT}, "turns": maybe(listed(WHOLE)),
    }
)  # fmt: skip
RELATIVE: Schema = record(
    {
        "tie": one_of("forked from", "fork", "started by", "started"), "session_id": TEXT,
        "session_token": maybe(TEXT), "memory_sentence": maybe(TEXT),
    }
)  # fmt: skip
VIEW: Schema = record(
    {
        "session": SESSION, "revision": WHOLE, "turns": WHOLE, "captures": listed(PART), "compactions": listed(PART),
        "relatives": listed(RELATIVE), "unread": listed(TEXT),
    }
)  # fmt: skip
TURN: Schema = record(
    {
        "number": WHOLE, "id": TEXT, "role": TEXT, "at": maybe(TEXT), "name": TEXT, "input": TEXT, "error": FLAG,
        "thinking": FLAG, "text": TEXT,
    }
)  # fmt: skip
ENTRY: Schema = record(
    {
        "id": TEXT, "scope": TEXT, "kind": TEXT, "shelf": TEXT, "path": TEXT, "line": WHOLE, "at": maybe(TEXT),
        "updated": maybe(TEXT), "trust": TEXT, "source": TEXT, "tool": maybe(TEXT), "from": maybe(TEXT),
        "tags": listed(TEXT), "supersedes": listed(TEXT), "state": TEXT, "text": TEXT,
    }
)  # fmt: skip
BOOK: Schema = record(
    {
        "scope": TEXT, "kind": TEXT, "path": TEXT, "entries": WHOLE, "waiting": WHOLE, "archived": WHOLE,
        "forgotten": WHOLE, "problems": listed(TEXT),
    }
)  # fmt: skip
EVIDENCE: Schema = record(
    {
        "entry": ENTRY, "quote": TEXT, "link": maybe(TEXT), "role": maybe(TEXT), "said_at": maybe(TEXT),
        "replaces": listed(TEXT), "seen": TEXT,
    }
)  # fmt: skip
FOUND_ENTRY: Schema = record(
    {
        "id": TEXT, "scope": TEXT, "book": TEXT, "shelf": TEXT, "trust": TEXT, "source": TEXT, "from": maybe(TEXT),
        "tags": listed(TEXT), "standing": FLAG, "done": maybe(FLAG),
    }
)  # fmt: skip
HIT: Schema = record(
    {
        "session_id": maybe(TEXT), "session_token": maybe(TEXT), "agent_id": maybe(TEXT), "kind": TEXT, "path": TEXT,
        "turns": maybe(listed(WHOLE)), "score": NUMBER, "snippet": TEXT,
        "parts": listed(record({"text": TEXT, "matched": FLAG})), "project": maybe(TEXT),
        "membership_ts": maybe(TEXT), "memory_sentence": maybe(TEXT), "entry": maybe(FOUND_ENTRY),
    }
)  # fmt: skip
MESSAGE: Schema = record({"role": TEXT, "text": TEXT}, {"at": maybe(TEXT)})
CHECKPOINT: Schema = record(
    {
        "agent_id": TEXT, "session_id": TEXT, "session_token": TEXT, "harness": TEXT, "project": maybe(TEXT),
        "saved_at": TEXT, "messages": listed(MESSAGE), "offered_at": maybe(TEXT), "used_at": maybe(TEXT),
    }
)  # fmt: skip
OUTCOME: Schema = record(
    {
        "status": one_of("captured", "unchanged", "refused"), "session_token": TEXT, "reason": maybe(TEXT),
        "manifest_path": maybe(TEXT), "transcript_path": maybe(TEXT), "summary_path": maybe(TEXT),
        "compaction_path": maybe(TEXT), "captured_at": maybe(TEXT), "memory_sentence": maybe(TEXT),
        "memory_sentence_quality": maybe(TEXT), "turns": WHOLE, "compactions": WHOLE, "redactions": COUNTS,
        "skipped": COUNTS, "learned": record({"dropped": COUNTS, "kept": WHOLE, "pending": WHOLE}),
    }
)  # fmt: skip
REMEMBERED: Schema = record(
    {
        "status": one_of("remembered", "pending", "known", "forgotten", "dropped"), "scope": TEXT, "kind": TEXT,
        "id": maybe(TEXT), "path": maybe(TEXT), "text": TEXT, "trust": maybe(TEXT), "harness": maybe(TEXT),
        "reason": maybe(TEXT), "hint": maybe(TEXT), "redactions": COUNTS,
    }
)  # fmt: skip
RECEIPT: Schema = record(
    {
        "session_token": TEXT, "session_id": maybe(TEXT), "agent_id": TEXT, "harness": maybe(TEXT), "reason": TEXT,
        "removed_at": TEXT, "dry_run": FLAG, "removed_paths": listed(TEXT), "spool_files": listed(TEXT),
        "rows": WHOLE, "turns": WHOLE, "entries": WHOLE, "checked_files": WHOLE, "elsewhere": listed(TEXT),
        "out_of_reach": listed(TEXT),
    }
)  # fmt: skip
FINDING: Schema = record({"level": one_of("MUST", "SHOULD"), "path": TEXT, "what": TEXT, "mend": TEXT})


def session(row: SessionRow) -> dict[str, Any]:
    return asdict(row)


def view(found: View) -> dict[str, Any]:
    return {
        "session": session(found.session),
        "revision": found.revision,
        "turns": found.turns,
        "captures": [_part(part) for part in found.captures],
        "compactions": [_part(part) for part in found.compactions],
        "relatives": [_relative(relative) for relative in found.relatives],
        "unread": list(found.unread),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "stem": part.stem,
        "captured_at": part.at,
        "memory_sentence": part.sentence,
        "paths": dict(part.paths),
        "turns": list(part.turns) if part.turns else None,
    }


def _relative(relative: Relative) -> dict[str, Any]:
    row = relative.session
    return {
        "tie": relative.tie,
        "session_id": relative.named,
        "session_token": row.session_token if row else None,
        "memory_sentence": row.memory_sentence if row else None,
    }


def turn(one: Turn) -> dict[str, Any]:
    return {name: getattr(one, name) for name in TURN["properties"]}


def book(found: Overview) -> dict[str, Any]:
    counts = {"entries": found.entries, "waiting": len(found.waiting), "archived": found.archived}
    named = {"scope": found.ref.scope, "kind": found.ref.kind, "path": found.ref.path}
    return {**named, **counts, "forgotten": found.forgotten, "problems": list(found.problems)}


def evidence(found: Evidence, seen: str) -> dict[str, Any]:
    """`seen` is what a confirmation brings along: it stands for all of this."""
    said = {"quote": found.quote, "link": found.link, "role": found.role, "said_at": found.said_at}
    return {"entry": found.place.as_json(), **said, "replaces": list(found.replaces), "seen": seen}


def hit(found: Hit) -> dict[str, Any]:
    parts = snippet_parts(found.snippet)
    return {
        "session_id": found.session_id,
        "session_token": found.session_token,
        "agent_id": found.agent_id,
        "kind": found.kind,
        "path": found.path,
        "turns": list(found.turns) if found.turns else None,
        "score": round(found.score, 6),
        "snippet": "".join(text for text, _ in parts),
        "parts": [{"text": text, "matched": matched} for text, matched in parts],
        "project": found.project,
        "membership_ts": found.membership_ts,
        "memory_sentence": found.memory_sentence,
        "entry": _found_entry(found.entry) if found.entry else None,
    }


def _found_entry(row: EntryRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "scope": row.scope,
        "book": row.kind,
        "shelf": row.shelf,
        "trust": row.trust,
        "source": row.source,
        "from": row.origin,
        "tags": list(row.tags),
        "standing": row.standing,
        "done": row.done,
    }


def snippet_parts(snippet: str) -> list[tuple[str, bool]]:
    """A snippet cut at the words that matched: (text, whether it matched), in one line.

    >>> snippet_parts("the \\x02last\\x03 line")
    [('the ', False), ('last', True), (' line', False)]
    """
    opening, closing = MARK
    first, *others = " ".join(snippet.split()).split(opening)
    parts = [(first, False)]
    for other in others:
        matched, _, rest = other.partition(closing)
        parts += [(matched, True), (rest, False)]
    return [(text, matched) for text, matched in parts if text]


def checkpoint(found: Checkpoint) -> dict[str, Any]:
    return found.as_json()
