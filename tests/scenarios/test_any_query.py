"""A query of any bytes gives results or says clearly what is wrong, wherever it comes from: never a traceback.

What each guard rests on: index/fts_query.py, and `check_request` in app/request_model.py for the page and agents.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lineage.cli.main import run
from lineage.errors import InvalidInput
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.mcp_client import start_server
from tests.support.web_client import WebClient, serve_workspace
from tests.support.workspace import end_session, make_turns, open_test_workspace, search_sessions

pytestmark = pytest.mark.slow

PIECES = [
    '"', "'", "(", ")", "*", "^", "-", "+", ":", "{", "}", "AND", "OR", "NOT", "NEAR(", "NEAR/2", "title:", "body :",
    "parser", "la", "pars*", "is:", "is:open", "since:", "since:7d", "since:0000", "until:9999-99-99", "project:%",
    'project:"', "agent:_", "kind:entry", "\0", "\udcff", "\ud800", "\u200b", "\u202e", "最", "🦩", "\x1b[31m", "\x02",
    "\x03", "a\u0301", "ß", "İ", "--", ";", "\\", "/", "1e999", " ", "\n", "\r", "\t",
]  # fmt: skip
QUERIES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.text(st.characters(), max_size=200),
)
LONG = ["x" * 100_000, '"' * 100_001, "word " * 20_000, "a.b-c/" * 17_000, "日" * 33_000, "-x " * 33_000, "(" * 100_000]


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path_factory.mktemp("query") / "vault") as made:
        end_session(
            made, transcript=make_turns("Why does the parser drop the last line?", "It splits. 最后一行 \x1b[31m 🦩")
        )
        yield made


@given(QUERIES, st.booleans(), st.sampled_from([None, "default", "\udcff\0"]))
@example(LONG[0], False, None)
@example(LONG[3], True, None)
def test_of_the_index(ws: Workspace, query: str, by_passage: bool, agent: str | None) -> None:
    try:
        hits = search_sessions(ws, query, agent, 5, by_passage=by_passage)
    except InvalidInput as error:
        assert error.hint
        return
    assert len(hits) <= 5


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(QUERIES)
def test_of_the_command(ws: Workspace, capsys: pytest.CaptureFixture[str], query: str) -> None:
    for options in ([], ["--json"]):
        capsys.readouterr()
        code = run(["-w", str(ws.index.path.parents[1]), "search", *options, "--", query])
        told = capsys.readouterr()
        assert code in (0, 2), told.err
        assert "Traceback" not in told.err
        assert (told.err == "") == (code == 0)
        assert not set(told.out) & set("\x1b\0\x02\x03\u202e")
        assert not (code == 0 and options) or json.loads(told.out)["query"] == query


@pytest.mark.parametrize(
    "query",
    [b"\xff\xfe", b'"', b"\xed\xa0\x80 parser", b"NEAR(\x01", b"is:\xff", b"\x80" * 120_000, b'" OR ' * 25_000, b""],
)
def test_of_the_bytes_of_an_argument(lineage: LineageCommand, query: bytes) -> None:
    lineage.end_sample()
    command: list[str | bytes] = [sys.executable, "-m", "lineage", "-w", str(lineage.root), "search", "--", query]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode in (0, 2), done.stderr[:2000]
    assert b"Traceback" not in done.stderr
    assert b"unexpected" not in done.stderr


@pytest.fixture(scope="module")
def client(ws: Workspace) -> Iterator[WebClient]:
    with serve_workspace(ws.index.path.parents[1]) as made:
        yield made


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.binary(max_size=200), QUERIES.map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_of_an_address(client: WebClient, query: bytes) -> None:
    for page in ("/api/search", "/search"):
        answer = client.request("GET", f"{page}?q={quote_from_bytes(query)}")
        assert answer.status in (200, 400), answer.body
        assert b"Traceback" not in answer.body
    found = client.request("GET", f"/api/search?q={quote_from_bytes(query)}")
    assert "error" in found.json or {"query", "results"} <= set(found.json)


@pytest.mark.parametrize("query", LONG)
def test_of_an_address_that_is_too_long(client: WebClient, query: str) -> None:
    with contextlib.suppress(ConnectionError):  # it hangs up while the rest still comes
        assert client.request("GET", f"/api/search?q={quote_from_bytes(query.encode())}").status in (400, 414, 431)
    assert client.get("/api/search", q="parser").json["results"]


def test_of_the_messages_of_an_agent(lineage: LineageCommand) -> None:
    lineage.end_sample()
    told = [piece for piece in PIECES if not "\ud800" <= piece <= "\udfff"]  # no JSON for the SDK: it is passed over
    queries = [*told, *("".join(told[start:]) for start in range(0, len(told), 9)), *LONG]
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    calls = [{"name": "search", "arguments": {"query": query}} for query in queries]
    messages = [
        {"id": 0, "method": "initialize", "params": begin},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": call} for number, call in enumerate(calls, 1)),
    ]
    with start_server(lineage.root) as process:
        assert process.stdin and process.stdout and process.stderr
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                assert answer["id"] == message["id"]
                text = answer["result"]["content"][0]["text"] if message["id"] else ""
                assert "Traceback" not in text
                assert "unexpected" not in text, message
        process.stdin.close()
        assert (process.stdout.read(), process.stderr.read(), process.wait(60)) == (b"", b"", 0)


def test_of_a_workspace_without_a_word(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        for query in (*PIECES, *LONG):
            try:
                assert search_sessions(ws, query, None, 5) == []
            except InvalidInput as error:
                assert error.hint
