"""The description of a bundle: what it may say, and what is refused.

Fails without any single check of `_find_name_fault`, `_check_sessions`, `_check_members` or `_is_allowed_member`.
"""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from lineage.core.base.naming import Identity
from lineage.core.transfer.bundle import (
    LIMITS,
    VERSION,
    Bundle,
    BundledSession,
    Member,
    check_names,
    check_sizes,
    parse_bundle,
    serialize_bundle,
)
from lineage.errors import FormatError
from tests.support.parametrize import each
from tests.support.strategies import SESSION, STEM, TIME

OTHER = Identity("default", "sess-2").token
SUMMARY = f"memory/{STEM}--summary.md"
BOOK = f"books/session/{SESSION.token}/finding.md"
DIGEST = "0" * 64


def bundle(**values: Any) -> Bundle:
    whole: dict[str, Any] = {
        "holds": "sessions",
        "exported_at": TIME,
        "lineage_version": "1",
        "sanitizer_version": "sanitize_transcript_v1+0",
        "private": False,
        "sessions": (BundledSession("default", "sess-1", None, SESSION.token, (OTHER,)),),
        "members": (Member(BOOK, 2, DIGEST), Member(SUMMARY, 1, DIGEST)),
    }
    return Bundle(**{**whole, **values})


def told(**values: Any) -> bytes:
    return json.dumps({**json.loads(serialize_bundle(bundle())), **values}).encode()


def test_a_description_reads_back_equal() -> None:
    assert parse_bundle(serialize_bundle(bundle())) == bundle()
    books = bundle(holds="global", sessions=(), members=(Member("AGENT_MEMORY.md", 0, DIGEST),), exported_at="")
    assert parse_bundle(serialize_bundle(books)) == books
    assert bundle().all_tokens == {SESSION.token, OTHER}


@each("key", ["format_version", *asdict(bundle())])
def test_a_missing_key_and_one_of_another_type_are_refused(key: str) -> None:
    value = json.loads(serialize_bundle(bundle()))
    for wrong in ({k: v for k, v in value.items() if k != key}, {**value, key: {}}, {**value, key: None}):
        with pytest.raises(FormatError):
            parse_bundle(json.dumps(wrong).encode())


SESSIONS: list[Any] = json.loads(serialize_bundle(bundle()))["sessions"]
MEMBERS: list[Any] = json.loads(serialize_bundle(bundle()))["members"]


@each(
    "data",
    [
        b"", b"[]", b"null", b"\xff", b"[" * 100_000, told()[:-1], b'{"private": true, ' + told()[1:],
        told(unknown=1), told(private=0), told(private="false"), told(exported_at="yesterday"), told(holds="anything"),
        told(holds="global"), told(sessions=[]), told(sessions=SESSIONS * 2), told(sessions=["x"]),
        told(sessions=[{**SESSIONS[0], "session_id": "sess-9"}]),
        told(sessions=[{**SESSIONS[0], "session_id": "x\n"}]),
        told(sessions=[{**SESSIONS[0], "agent_id": "a:b"}]),
        told(sessions=[{**SESSIONS[0], "session_key": 1}]),
        told(sessions=[{**SESSIONS[0], "imported_from": "x"}]),
        told(sessions=[{**SESSIONS[0], "imported_from": ["../x"]}]),
        told(sessions=[{**SESSIONS[0], "more": 1}]),
        told(members=[{**MEMBERS[0], "bytes": -1}]), told(members=[{**MEMBERS[0], "bytes": True}]),
        told(members=[{**MEMBERS[0], "sha256": "x"}]), told(members=[{**MEMBERS[0], "path": 1}]),
        told(members=[{**MEMBERS[0], "bytes": LIMITS.member_bytes + 1}]),
    ],
)  # fmt: skip
def test_anything_else_is_no_description(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_bundle(data)


def test_a_version_of_the_future_says_what_to_do() -> None:
    with pytest.raises(FormatError) as caught:
        parse_bundle(told(format_version=VERSION + 1))
    assert caught.value.hint == "upgrade lineage"


@each(
    "path",
    [
        SUMMARY.replace(SESSION.token, OTHER), BOOK.replace(SESSION.token, OTHER), "books/global/note.md",
        "books/pending/global/note.md", "AGENT_MEMORY.md", "books/agent/ann/note.md", "books/project/demo/note.md",
        "MEMORY.md", "lineage.toml", f"memory/tombstones/{OTHER}.md", f"memory/claims/{SESSION.token}.md",
        "handbook/Start here.md", ".lineage/index.db",
    ],
)  # fmt: skip
def test_a_session_s_bundle_holds_files_of_the_session_alone(path: str) -> None:
    with pytest.raises(FormatError):
        parse_bundle(told(members=[{**MEMBERS[0], "path": path}]))


@each(
    ("names", "why"),
    [
        (["../x.md"], "leads out"), (["/etc/passwd"], "leads out"), (["C:/x.md"], "leads out"), (["c:x"], "leads out"),
        (["memory/../../x.md"], "leads out"), (["a\\b.md"], "character"), (["a\x00b.md"], "character"),
        (["a\nb.md"], "character"), (["memory//x.md"], "everywhere"), (["memory/CON"], "everywhere"),
        (["books/global/con.md"], "everywhere"), (["books/nul.x/a.md"], "everywhere"), (["memory/x."], "everywhere"),
        (["memory/x "], "everywhere"), (["./x.md"], "everywhere"), (["x.md"], "no place"), ([""], "everywhere"),
        (["memory/x/"], "everywhere"), ([SUMMARY, SUMMARY], "twice"),
        (["books/global/caf\u00e9.md", "books/global/cafe\u0301.md"], "twice"),
        (["books/global/strasse.md", "books/global/stra\u00dfe.md"], "twice"), ([SUMMARY, SUMMARY.upper()], "twice"),
        (["MEMORY/x.md"], "no place"), ([SUMMARY.upper()], "no place"),
    ],
)  # fmt: skip
def test_a_name_that_could_lead_astray_is_refused_by_reason(names: list[str], why: str) -> None:
    with pytest.raises(FormatError) as caught:
        check_names(names)
    assert why in caught.value.message


def test_sizes_are_bounded_one_by_one_and_together() -> None:
    check_sizes([LIMITS.member_bytes, 0])
    small = replace(LIMITS, members=2, member_bytes=10, total_bytes=15)
    check_sizes([10, 5], small)
    for sizes in ([1, 1, 1], [11], [8, 8]):
        with pytest.raises(FormatError):
            check_sizes(sizes, small)
