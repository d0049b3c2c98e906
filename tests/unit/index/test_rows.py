"""From a file to its row, and from typed words to a query.

What each guard rests on: the fields of `build_row`; `_build_passages`, which leaves headings and links out; the quotes
in `build_match_expression`.
"""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.format.documents import serialize_document
from lineage.core.format.manifest import link_artifacts
from lineage.core.format.turns import Turn
from lineage.index import ArtifactRow, build_match_expression, build_row
from lineage.index.rows import COLUMNS
from tests.support.artifacts import AT, make_artifact, make_capture, make_identity, make_stem
from tests.support.parametrize import each


def test_a_row_has_the_columns_of_the_spec() -> None:
    spec = {"agent_id", "source_path", "source_sha256", "source_kind", "session_id", "session_key", "session_token"}
    spec |= {"project", "harness", "captured_at", "started_at", "ended_at", "manifest_path", "memory_sentence"}
    spec |= {"memory_sentence_quality", "membership_ts", "content_sha256"}
    assert spec <= set(COLUMNS)
    assert set(COLUMNS) == set(ArtifactRow._fields) - {"passages", "tool_runs"}


def test_an_artifact_s_row_says_what_the_artifact_says() -> None:
    document = make_artifact(ended_at=None, private=True, session_key="chat#1")
    data = serialize_document(document)
    row = build_row(document, data, "12-34-56")
    assert row.source_sha256 == hashlib.sha256(data).hexdigest()
    assert (row.source_path, row.stamp, row.stem) == (document.path, "12-34-56", document.stem)
    assert (row.membership_ts, row.private, row.visible) == (AT, 1, 1)
    assert (row.session_token, row.session_key) == (document.identity.token, "chat#1")


def test_a_session_belongs_to_the_time_it_ended() -> None:
    assert (
        build_row(make_artifact(ended_at="2026-11-29T00:00:00.000Z"), b"", "").membership_ts
        == "2026-11-29T00:00:00.000Z"
    )


def test_a_manifest_has_a_row_of_its_own_and_no_text() -> None:
    manifest = link_artifacts(None, make_stem(), make_capture(), "w-1", AT)
    assert manifest
    row = build_row(manifest, b"", "")
    assert (row.source_kind, row.source_path, row.manifest_path) == (naming.MANIFEST, manifest.path, manifest.path)
    assert (row.passages, row.memory_sentence) == ((), "")
    assert row.session_token == make_identity().token


def test_trial_sessions_are_marked() -> None:
    assert build_row(make_artifact(project="/tmp/x"), b"", "").visible == 0
    assert build_row(make_artifact(session="test-1", project=None), b"", "").visible == 0


def test_a_transcript_is_found_by_what_was_said_and_called_and_not_by_its_headings() -> None:
    turns = [
        Turn("user", "Why is it slow?", AT, id="t-0123456789", number=1),
        Turn("tool", "3 passed", AT, name="Bash", input="pytest -q", id="t-1123456789", number=2),
    ]
    body = transcript.render_turns("[[siblings]]", turns)
    passages = build_row(make_artifact(naming.TRANSCRIPT, body=body), b"", "").passages
    assert passages == (("Why is it slow?", 1, 1, False, "t0"), ("Bash pytest -q 3 passed", 2, 2, True, ""))
    asked_by_agent = make_artifact(naming.TRANSCRIPT, body=body, parent_session="s-0")
    assert next(iter(build_row(asked_by_agent, b"", "").passages)).speakers == "n0"


def test_a_summary_is_found_by_its_body_and_not_by_its_links() -> None:
    (passage,) = build_row(make_artifact(body="[[a|b]]\n\nThe body.\n"), b"", "").passages
    assert passage == ("The body.", 0, 0, False, "")


@each(
    ("query", "expression"),
    [
        ("", None),
        ('"*()', None),
        ("apples", '"apples"'),
        ("Apples apples APPLES", '"Apples"'),
        ("NEAR AND OR NOT", '"NEAR"'),
        ("it's", '"it" OR "s"'),
        ("to be or not to be", '"to" OR "be" OR "or" OR "not"'),
        ("why is src/app.py slow", '"src/app.py" OR "src" OR "app" OR "py" OR "slow"'),
        ("日本 Wal", '"\u200b日\u200b\u200b本\u200b" OR "Wal"'),
    ],
)
def test_a_query_is_its_words_each_quoted(query: str, expression: str | None) -> None:
    assert build_match_expression(query) == expression


@given(st.text())
def test_no_query_closes_a_quote(query: str) -> None:
    expression = build_match_expression(query)
    assert expression is None or all(
        part.startswith('"') and part.endswith('"') and '"' not in part[1:-1] and "\0" not in part
        for part in expression.split(" OR ")
    )


def test_an_endless_query_is_cut() -> None:
    expression = build_match_expression(" ".join(f"word{number}" for number in range(10_000)))
    assert expression
    assert expression.count(" OR ") == 63
