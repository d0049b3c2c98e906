"""`lineage search` as a person and a script use it: turns, passages, filters, and that any bytes are a query.

What each guard rests on: `--passages`, `is_named` and `_as_json` in cli/search.py; `parsed` in core/query.py.
"""

import pytest

from tests.support.commands import LineageCommand
from tests.support.mcp_client import start_agent
from tests.support.web_client import serve_workspace
from tests.support.workspace import end_session, make_turns, open_test_workspace


def results(lineage: LineageCommand, *query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = lineage("search", *query, "--json").json["results"]
    return found


@pytest.fixture
def searched(lineage: LineageCommand) -> LineageCommand:
    with open_test_workspace(lineage.root) as ws:
        texts = [f"matter{number} " + "plain words " * 60 for number in range(1, 9)]
        end_session(ws, "long", transcript=make_turns(*texts))
        end_session(ws, "anns", agent_id="ann", transcript=make_turns("About matter3 too", "Yes."))
    return lineage


def test_a_passage_is_shown_by_the_turns_that_it_names(searched: LineageCommand) -> None:
    (hit,) = results(searched, "matter5", "kind:transcript")
    first, last = hit["turns"]  # type: ignore[misc]
    assert first <= 5 <= last
    assert "matter5" in searched("show", "long", "--turns", f"{first}-{last}").out
    said = searched("search", "matter5", "kind:transcript").out
    assert f"  turns {first}-{last}\n" in said
    assert "--transcript]]" in said


def test_every_passage_is_shown_on_request(searched: LineageCommand) -> None:
    assert len(results(searched, "plain", "kind:transcript")) == 1
    assert len(results(searched, "plain", "kind:transcript", "--passages")) > 1


def test_a_list_of_sessions_names_no_manifest(searched: LineageCommand) -> None:
    kinds = {hit["kind"] for hit in results(searched, "is:session", "--passages")}
    assert kinds == {"summary", "transcript"}


def test_a_query_names_its_agent_unless_the_command_does(searched: LineageCommand) -> None:
    assert {hit["session_id"] for hit in results(searched, "matter3", "agent:ann")} == {"anns"}
    assert results(searched, "matter3", "agent:ann", "--agent", "default") == []


def test_a_filter_that_says_nothing_is_told_with_what_it_takes(searched: LineageCommand) -> None:
    done = searched("search", "x", "is:nothing")
    assert (done.code, "decision" in done.err) == (2, True)
    assert searched("search", "since:tomorrow").code == 2
    told = "before: is no filter and was searched for as a word; `until:` is one"
    assert told in searched("search", "x", "before:2020").err


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ['"', "NEAR(", "a AND", "*", "\udcff", "the of", "…", "-", "x" * 100_000, '"' * 999, "title:", "😀", "{}^"]
)
def test_any_bytes_are_a_query(searched: LineageCommand, query: str) -> None:
    assert searched("search", "--", query).code == 0


@pytest.mark.slow
def test_what_is_stale_comes_last_and_says_so_wherever_it_is_found(lineage: LineageCommand) -> None:
    said = (
        "Decision: the payment webhook retries five times with exponential backoff.",
        "Decision: the payment webhook no longer retries five times, it goes to the dead letter queue.",
    )
    tokens = list[str]()
    with open_test_workspace(lineage.root) as ws:
        for day, text in zip(("01", "10"), said, strict=True):
            at = f"2026-11-{day}T10:00:00.000Z"
            turns = make_turns(text, "Done.", start=at[:16])
            tokens.append(end_session(ws, f"s-{day}", transcript=turns, captured_at=at, ended_at=at).session_token)
    old, new = tokens
    query = "payment webhook retries is:session"
    with serve_workspace(lineage.root) as client, start_agent(lineage.root) as agent:
        places = {
            "search": lineage("search", query).out,
            "page": client.get("/search", q=query).text,
            "MCP": agent("search", query=query).text,
        }
    for place, text in places.items():
        assert 0 <= text.find("dead letter queue") < text.find("exponential backoff"), place
        assert text.count(f"superseded on 2026-11-10 by {new}") == 1 and old in text, place
