"""What unit tests are made of: text that tries to break out, and one valid document of each kind."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.format import documents
from lineage.core.format.body import HASH_SCOPE, hash_body
from lineage.core.format.contract import FALLBACK
from lineage.core.format.documents import Artifact, Manifest, Tombstone

Value = TypeVar("Value")

TIME = "2026-03-28T22:34:06.792Z"
LATER = "2026-03-29T08:00:00.000Z"
SESSION = Identity("default", "sess-1")
STEM = naming.build_stem(TIME, SESSION.token)
LATER_STEM = naming.build_stem(LATER, SESSION.token)

HOSTILE = (
    "---", "\n---\n", "]]", "[[", "![[x]]", "|", " | session=", "`", "```dataviewjs\n", "~~~~", "<script>",
    "<%* x %>", "#tag", "#12", "^", "`$= x`", "\u0085", "\u2028", "\u2029", "\ufeff", "\x00", "\x1b[31m",
    "\x1b]8;;", "\x9b", "\x7f", "\ud800", "\udfff", "\u202e", "\u061c", "\u200b", "😀", "é", "e\u0301", "&lt;",
    "&amp;", "&#96;", "\\", "\r\n", "\r", "\n", "\t", " ", "\xa0", "**", " [error]",
    "## 3 · user · – ^t-0123456789", '"', "'", ": ", "- ", " #", "!!python/x ", "&a ", "*a", "~", "null", "no",
    "1_000", "12:30:45", "2026-03-28T22:34:06Z", "{", "}", "%%", "\ufffe", "\uffff",
)  # fmt: skip

INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""What no rendered line holds: control and bidi characters, zero-width ones, line ends, lone surrogates."""

_ANY = st.characters(exclude_categories=())


def draw_texts(*more: str) -> st.SearchStrategy[str]:
    """Any text, lone surrogates included, rich in what has a meaning somewhere, `more` among it."""
    return st.lists(st.text(_ANY, max_size=6) | st.sampled_from((*HOSTILE, *more)), max_size=12).map("".join)


def draw_well_formed(*more: str) -> st.SearchStrategy[str]:
    """`texts` that UTF-8 can hold: what comes out of any file."""
    return draw_texts(*more).map(lambda text: "".join(c for c in text if not "\ud800" <= c <= "\udfff"))


def draw_named_tuples(kind: Callable[..., Value], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Value]:
    """Named tuples of these fields; the others keep their defaults, which `builds` would make something up for."""
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


def make_artifact(kind: str = naming.TRANSCRIPT, **values: Any) -> Artifact:
    """A valid artifact of the session `default:sess-1`; its hash follows the body."""
    body = values.pop("body", "one\n\ntwo\n")
    whole: dict[str, Any] = {
        "kind": kind,
        "agent_id": SESSION.agent_id,
        "session_id": SESSION.session_id,
        "session_key": None,
        "project": "/home/ada/demo",
        "harness": "generic",
        "captured_at": TIME,
        "started_at": None,
        "ended_at": TIME,
        "source_node_id": None,
        "content_sha256": hash_body(body),
        "hash_scope": HASH_SCOPE,
        "sanitizer_version": "sanitize_transcript_v1+0",
        "memory_sentence": "In demo, the user asked.",
        "memory_sentence_version": documents.SENTENCE_VERSION,
        "memory_sentence_quality": FALLBACK,
        "memory_sentence_generated_at": TIME,
        "format": documents.FORMAT,
        "repository": None,
        "lane": None,
        "private": False,
        "forked_from": None,
        "parent_session": None,
        "partial": False,
        "watermark": [2, "t-0123456789", "sanitize_transcript_v1+0"],
        "models": ["m-1"],
        "branches": [],
        "title": "A title",
        "aliases": ["A title"],
        "tags": ["lineage", f"lineage/{kind}"],
        "cssclasses": ["lineage", f"lineage-{kind}"],
        **values,
    }
    identity = Identity(whole["agent_id"], whole["session_id"], whole["session_key"])
    whole.setdefault("manifest_path", naming.artifact_path(naming.build_stem(TIME, identity.token), naming.MANIFEST))
    return Artifact(body=body, **whole)


def make_manifest(**values: Any) -> Manifest:
    """A valid manifest of the same session, with one capture."""
    first = make_artifact()
    whole: dict[str, Any] = {name: value for name, value in first._asdict().items() if name in Manifest._fields}
    whole |= {
        "kind": naming.MANIFEST,
        "summary_path": naming.artifact_path(STEM, naming.SUMMARY),
        "transcript_path": naming.artifact_path(STEM, naming.TRANSCRIPT),
        "compaction_path": None,
        "memory_md_refs": ["MEMORY.md#2026-03-28"],
        "updated_at": TIME,
        "revision": 1,
        "write_id": "write-1",
        "captures": [STEM],
        "compactions": [],
        "resanitized": [],
    }
    return Manifest(**{**whole, **values})


def make_tombstone(**values: Any) -> Tombstone:
    whole: dict[str, Any] = {
        "kind": "tombstone",
        "agent_id": SESSION.agent_id,
        "session_token": SESSION.token,
        "removed_at": LATER,
        "reason": "asked for",
        "removed_paths": [naming.artifact_path(STEM, naming.SUMMARY)],
        "removed_turns": ["t-0123456789"],
        "was_private": True,
    }
    return Tombstone(**{**whole, **values})
