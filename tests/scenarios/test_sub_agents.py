"""Sub-agents are part of the session that started them: no row, no book of their prompts, nothing after a removal.

Fails without IS_NO_SUB_AGENT or FOLLOW_PARENT of index/ledger.py, `_IS_TOP_LEVEL` of index/sessions.py,
`is_parent_removed`, `follow_parent` or the look at the parent's tombstone and privacy in pipeline/capture/session.py,
`_hide_sub_agents` of session_end.py, `_link` of apply.py, `_find_sub_agents` or `_unlink_from_parent` of remove.py, and
the looks for sub-agents in reindex.py, verify.py, finish_pending.py and bundles.py.
"""

import json
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base.naming import derive_session_token
from lineage.core.capture.capture import Capture
from lineage.harness.adapters import ADAPTERS
from lineage.pipeline.capture.session import follow_parent, load_session
from lineage.pipeline.capture.source import read_source
from lineage.pipeline.ingest.worker import capture_session_tree
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support.commands import CommandResult, LineageCommand
from tests.support.dead_processes import read_all_files
from tests.support.goose import make_export, make_text, make_user_message, write_database
from tests.support.workspace import build_end_request, end_session, open_test_workspace, search_sessions

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
MAIN = "0c9a1d52-7f0e-4f3a-8d51-1c7a35b1c0de"
TOKEN = derive_session_token("default", MAIN)
AGENTS = [f"agent-a{number}" for number in range(1, 7)]
PROMPT = "Always keep wombats out of reader.py"
FOUND = "We decided to keep the quokka parser because the lantern parser loses the last line."
WORDS = (b"wombats", b"quokka", b"periscope")


def write_transcript(path: Path, *texts: str, session: str = MAIN, **envelope: Any) -> Path:
    """A transcript of Claude Code in which a user's records and the agent's alternate."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, text in enumerate(texts):
        role = ("user", "assistant")[number % 2]
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        record = {"type": role, "sessionId": session, "cwd": "/home/ada/demo", "isSidechain": False, **envelope}
        at = {"uuid": f"{path.stem}-{number}", "timestamp": f"2026-11-20T10:{number:02d}:00.000Z"}
        lines.append(json.dumps(record | at | {"message": {"role": role, "content": content}}))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_agent(history: Path, number: int, *, parent: str = MAIN, is_old: bool = False) -> Path:
    """A sub-agent's transcript where Claude Code has it today, or beside its parent's, as older versions did."""
    place = history / "-home-ada-demo" / ("" if is_old else f"{parent}/subagents") / f"agent-a{number}.jsonl"
    texts = (f"{PROMPT}, scout {number}.", f"{FOUND} Scout {number} saw a periscope.")
    return write_transcript(place, *texts, session=parent, isSidechain=True, agentId=f"a{number}")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A session with six sub-agents, two of them as older versions of Claude Code kept them."""
    folder = tmp_path / "projects"
    said = ("Find out why reader.py drops the last line.", "Six scouts looked; fixed in reader.py.")
    write_transcript(folder / "-home-ada-demo" / f"{MAIN}.jsonl", *said)
    for number in range(1, 7):
        write_agent(folder, number, is_old=number > 4)
    return folder


def take(lineage: LineageCommand, place: Path) -> dict[str, Any]:
    done = lineage("import", "claude-code", str(place), "--jobs", "1", "--json")
    assert done.code == 0, done.err
    (report,) = done.json["harnesses"]
    return report


def end(lineage: LineageCommand, path: Path, session: str, *more: str) -> CommandResult:
    place = ("--harness", "claude-code", "--session-id", session, "--transcript-path", str(path))
    return lineage("session-end", *place, "--project", "/home/ada/demo", *more, "--json")


def list_rows(lineage: LineageCommand) -> list[str]:
    return [line for line in (lineage.root / "MEMORY.md").read_text().splitlines() if "session=" in line]


def read_books(root: Path) -> str:
    return "\n".join(path.read_text() for path in sorted((root / "books").rglob("*.md")))


def find_words(root: Path) -> list[str]:
    """Every file of the workspace that holds a word of the sub-agents."""
    files = read_all_files(root)
    return [name for name, data in files.items() if any(word in data.lower() for word in WORDS)]


def test_six_sub_agents_leave_one_row_and_no_prompt_in_a_book(lineage: LineageCommand, history: Path) -> None:
    assert take(lineage, history)["captured"] == 7
    (row,) = list_rows(lineage)
    assert MAIN in row
    books = read_books(lineage.root)
    assert "wombats" not in books
    assert "keep the quokka parser" in books
    assert "user-stated" not in books
    assert {path.parent.name for path in (lineage.root / "books").rglob("decision.md")} == {"demo"}
    context = lineage("context", "--project", "/home/ada/demo").out
    assert "wombats" not in context
    assert not any(agent in context for agent in AGENTS)


def test_they_are_linked_found_and_shown_under_their_parent(lineage: LineageCommand, history: Path) -> None:
    take(lineage, history)
    (listed,) = lineage("sessions", "--json").json["sessions"]
    assert (listed["session_id"], listed["sub_agents"], listed["parent_token"]) == (MAIN, 6, None)
    for text in (lineage("sessions").out, lineage("show", MAIN).out):
        assert [agent for agent in AGENTS if agent in text] == AGENTS
    assert {one["session_id"] for one in lineage("show", MAIN, "--json").json["sub_agents"]} == set(AGENTS)
    assert lineage("show", "agent-a1", "--json").json["session"]["parent_token"] == TOKEN
    manifest = lineage("show", MAIN, "--kind", "manifest").out
    tokens = [derive_session_token("default", agent) for agent in AGENTS]
    assert all(f"--{token}--manifest" in manifest for token in tokens)
    hits = lineage("search", "periscope", "--json").json["results"]
    assert {hit["session_id"] for hit in hits if hit["kind"] != "entry"} == set(AGENTS)


@pytest.mark.parametrize("is_parent_first", [True, False], ids=["parent first", "sub-agent first"])
def test_either_order_gives_the_same(lineage: LineageCommand, history: Path, is_parent_first: bool) -> None:
    folder = history / "-home-ada-demo"
    sources = [(folder / f"{MAIN}.jsonl", MAIN), (folder / MAIN / "subagents/agent-a1.jsonl", "agent-a1")]
    for path, session in sources if is_parent_first else reversed(sources):
        assert end(lineage, path, session).json["status"] == "captured"
        assert end(lineage, path, session).json["status"] == "unchanged"
    (row,) = list_rows(lineage)
    assert MAIN in row
    (listed,) = lineage("sessions", "--json").json["sessions"]
    assert (listed["session_id"], listed["sub_agents"]) == (MAIN, 1)
    with open_test_workspace(lineage.root) as ws:
        manifest = load_session(ws, TOKEN).manifest
        assert manifest
        assert [stem[-16:] for stem in manifest.sub_agents] == [derive_session_token("default", "agent-a1")]
        child = load_session(ws, derive_session_token("default", "agent-a1")).manifest
        assert child
        assert (child.parent_session, child.memory_md_refs) == (MAIN, [])


def test_it_takes_its_parents_project_and_repository(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, MAIN)
        parent = load_session(ws, TOKEN)
        apart = read_source(ws, build_end_request(ws, "agent-a1"), Capture(turns=(), parent_session=MAIN))
        apart = replace(apart, project="/srv/apart", repository="example.org/ada/apart")
        followed = follow_parent(ws, apart)
        assert parent.manifest
        assert (followed.project, followed.repository) == (parent.manifest.project, parent.manifest.repository)


def test_without_its_parent_it_has_no_row_but_is_listed(lineage: LineageCommand, history: Path) -> None:
    end(lineage, history / f"-home-ada-demo/{MAIN}/subagents/agent-a1.jsonl", "agent-a1")
    assert list_rows(lineage) == []
    (listed,) = lineage("sessions", "--json").json["sessions"]
    assert (listed["session_id"], listed["parent_token"]) == ("agent-a1", TOKEN)
    (hit,) = lineage("search", "periscope", "kind:transcript", "--json").json["results"]
    assert hit["session_id"] == "agent-a1"


@pytest.mark.parametrize("is_parent_first", [True, False], ids=["parent first", "sub-agent first"])
def test_a_private_parents_sub_agents_are_private(
    lineage: LineageCommand, history: Path, is_parent_first: bool
) -> None:
    folder = history / "-home-ada-demo"
    child = (folder / f"{MAIN}/subagents/agent-a1.jsonl", "agent-a1")
    sources = [(folder / f"{MAIN}.jsonl", MAIN, "--private"), child]
    for path, session, *more in sources if is_parent_first else reversed(sources):
        end(lineage, path, session, *more)
    for again in (False, True):
        if again:
            (lineage.root / ".lineage/index.db").unlink()
        assert lineage("search", "periscope", "--json").json["results"] == []
        assert lineage("search", "quokka", "--json").json["results"] == []
        assert all(one["private"] for one in lineage("sessions", "--json").json["sessions"])
        assert lineage("show", "agent-a1", "--json").json["session"]["private"]
    others = [path for path in (lineage.root / "books").rglob("*.md") if path.parent.parent.name != "session"]
    assert "quokka" not in "\n".join(path.read_text() for path in others)
    assert "periscope" not in (lineage.root / "MEMORY.md").read_text()


def test_a_removal_takes_them_all_and_none_comes_back(lineage: LineageCommand, history: Path) -> None:
    take(lineage, history)
    assert find_words(lineage.root)
    forecast = lineage("remove", MAIN, "--dry-run", "--json").json
    receipt = lineage("remove", MAIN, "--yes", "--json").json
    assert sorted(receipt["sub_agents"]) == sorted(forecast["sub_agents"]) == AGENTS
    assert (receipt["turns"], receipt["removed_paths"]) == (14, forecast["removed_paths"])
    assert receipt["entries"] == forecast["entries"] > 0
    assert f"{MAIN}/subagents/" in receipt["out_of_reach"][0]
    assert find_words(lineage.root) == []
    assert lineage("sessions", "--json").json["sessions"] == []
    write_agent(history, 7)  # seen here for the first time
    write_agent(history, 8, parent="agent-a7")  # and one that it started
    report = take(lineage, history)
    assert (report["captured"], report["refused"]) == (0, 9)
    assert find_words(lineage.root) == []
    assert lineage("verify").code == 0
    assert lineage("remove", MAIN, "--yes").code == 1
    assert lineage("remove", "agent-a8", "--yes").err.startswith("lineage: 'agent-a8' was removed already")


def test_one_of_them_can_be_removed_alone(lineage: LineageCommand, history: Path) -> None:
    take(lineage, history)
    receipt = lineage("remove", "agent-a3", "--yes", "--json").json
    assert (receipt["sub_agents"], receipt["session_id"]) == ([], "agent-a3")
    (listed,) = lineage("sessions", "--json").json["sessions"]
    assert (listed["session_id"], listed["sub_agents"]) == (MAIN, 5)
    token = derive_session_token("default", "agent-a3")
    named = [path.name for path in (lineage.root / "memory").glob("*.md") if token in path.read_text()]
    assert (named, lineage("verify").code) == ([], 0)


@pytest.mark.parametrize("position", [4, 16, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9, 24, 30))])
def test_a_removal_that_is_cut_off_is_finished(
    lineage: LineageCommand, history: Path, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(lineage, history)
    with open_test_workspace(lineage.root) as ws:
        deletions, delete = count(1), type(ws.documents.base).delete

        def die(*given: Any) -> Any:
            if next(deletions) == position:
                raise KeyboardInterrupt
            return delete(*given)

        monkeypatch.setattr(type(ws.documents.base), "delete", die)
        assert lineage("remove", MAIN, "--yes").code == 130
        monkeypatch.undo()
    with open_test_workspace(lineage.root) as ws:
        recover(ws)
        assert (ws.documents.spool.list_pending(), find_words(lineage.root), verify(ws)) == ([], [], [])


def test_a_file_that_a_sync_brings_after_the_removal_counts_for_nothing(
    lineage: LineageCommand, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another machine captured a sub-agent that this one had not seen when it removed the parent."""
    other = LineageCommand(tmp_path / "other", capsys)
    take(other, write_agent(history, 7))
    take(lineage, history / f"-home-ada-demo/{MAIN}.jsonl")
    lineage("remove", MAIN, "--yes")
    token = derive_session_token("default", "agent-a7")
    for path in (other.root / "memory").rglob(f"*{token}*"):
        shutil.copy(path, lineage.root / path.relative_to(other.root))
    assert f"lineage remove {TOKEN} --again" in lineage("verify").out
    assert f"--{token}--manifest.md" in lineage("reindex").out.partition("of a removed session, ignored: ")[2]
    assert lineage("search", "periscope", "--json").json["results"] == []
    assert lineage("sessions", "--json").json["sessions"] == []
    assert lineage("remove", MAIN, "--again", "--yes", "--json").json["sub_agents"] == ["agent-a7"]
    assert [path.name for path in (lineage.root / "memory").glob("*.md") if token in path.name] == []
    assert lineage("verify").code == 0


def test_rows_of_a_removed_parents_sub_agents_go_with_its_tombstone(
    lineage: LineageCommand, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another machine removed the parent, and only its tombstone has come so far."""
    other = LineageCommand(tmp_path / "other", capsys)
    take(other, history / f"-home-ada-demo/{MAIN}.jsonl")
    take(lineage, history)
    other("remove", MAIN, "--yes")
    for path in (other.root / "memory/tombstones").glob("*.md"):
        (lineage.root / "memory/tombstones").mkdir(exist_ok=True)
        shutil.copy(path, lineage.root / path.relative_to(other.root))
    lineage("reindex")
    with open_test_workspace(lineage.root) as ws:
        assert search_sessions(ws, "periscope", None, 20) == []
    assert lineage("remove", MAIN, "--again", "--yes").code == 0
    assert find_words(lineage.root) == []


@pytest.mark.parametrize("size", [7, 2000], ids=["compared", "rebuilt"])
def test_what_was_captured_before_joins_its_parent_by_reindex(
    lineage: LineageCommand, history: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until now a sub-agent had a row of its own, and its parent's manifest did not name it; the files stay so."""
    monkeypatch.setattr("lineage.pipeline.maintenance.reindex._MIN_REBUILD", 10_000 - 5 * size)
    take(lineage, history)
    files = {path: path.read_bytes() for path in (lineage.root / "memory").glob("*.md")}
    (lineage.root / ".lineage/index.db").unlink()
    (lineage.root / "MEMORY.md").unlink()
    with open_test_workspace(lineage.root) as ws:
        reindex(ws)
    assert len(list_rows(lineage)) == 1
    (listed,) = lineage("sessions", "--json").json["sessions"]
    assert listed["sub_agents"] == 6
    assert {path: path.read_bytes() for path in files} == files


def test_a_bundle_takes_them_along(
    lineage: LineageCommand, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take(lineage, history)
    done = lineage("bundle", "export", MAIN, "-o", str(tmp_path / "main.zip"), "--json")
    assert len(done.json["sessions"]) == 7
    for name, more in (("restored", ["--restore"]), ("copied", [])):
        other = LineageCommand(tmp_path / name, capsys)
        other("init")
        assert len(other("bundle", "import", str(tmp_path / "main.zip"), *more, "--json").json["sessions"]) == 7
        (listed,) = other("sessions", "--json").json["sessions"]
        assert (listed["sub_agents"], len(list_rows(other)), other("verify").code) == (6, 1, 0)
        other("remove", listed["session_token"], "--yes")
        assert [name for name in find_words(other.root) if "books" not in name] == []
        assert other("bundle", "import", str(tmp_path / "main.zip"), "--restore").code == 1


def test_they_are_archived_with_it_and_still_go_with_it(lineage: LineageCommand, history: Path) -> None:
    take(lineage, history)
    with open_test_workspace(lineage.root, now="2027-03-01T00:00:00.000Z") as ws:
        assert archive(ws, "2027-01-01").sessions == 7
    assert lineage("search", "periscope", "--json").json["results"]
    assert len(lineage("remove", MAIN, "--yes", "--json").json["sub_agents"]) == 6
    assert find_words(lineage.root) == []


def copy_history(harness: str, folder: Path) -> tuple[Path, str, set[str]]:
    """A harness's history: the transcript of a session, its id, and the ids of its sub-agents."""
    if harness == "goose":
        folder.mkdir()
        ties = {"child": "main", "grandchild": "child"}
        exports = [
            make_export(
                make_user_message(make_text(f"In {name}")),
                id=name,
                **{"parent_session_id": ties[name]} if name in ties else {},
            )
            for name in ("main", *ties)
        ]
        return write_database(folder / "sessions.db", *exports), "main", set(ties)
    shutil.copytree(DATA / harness, folder)
    adapter = ADAPTERS[harness]
    captures = {
        item.path: adapter.read(item.path) for item in adapter.discover(folder) if "damaged" not in item.path.parts
    }
    sub_agents = [capture for capture in captures.values() if capture.parent_session]
    parent = sub_agents[0].parent_session or ""
    path = max(path for path, capture in captures.items() if capture.session_id == parent)
    return path, parent, {capture.session_id or "" for capture in sub_agents if capture.parent_session == parent}


def list_family(ws: Workspace, token: str) -> list[str]:
    rows = ws.index.list_sessions(None, parent=token)
    return [name for row in rows for name in (row.session_id, *list_family(ws, row.session_token))]


@pytest.mark.parametrize("harness", ["claude-code", "codex", "cursor", "gemini", "goose", "qwen"])
def test_a_sessions_end_brings_its_sub_agents_in_every_harness(tmp_path: Path, harness: str) -> None:
    path, session, ids = copy_history(harness, tmp_path / "history")
    with open_test_workspace(tmp_path / "w") as ws:
        payload = {"harness": harness, "session_id": session, "transcript_path": str(path), "project": "/home/ada/demo"}
        assert capture_session_tree(ws, payload, ws.now).status == "captured"
        (listed,) = ws.index.list_sessions(None)
        assert (listed.session_id, {*list_family(ws, listed.session_token)}) == (session, ids)
        assert capture_session_tree(ws, payload, ws.now).status == "unchanged"
