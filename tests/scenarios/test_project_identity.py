"""One project, however its sessions reach it: in captures, lists, search, books, MEMORY.md and the start of a session.

With git itself. Fails where a surface goes by the path instead of the identity, where a folder of a monorepo doesn't
narrow its sessions, where a book's folder doesn't go by its note, where Gemini's hash isn't tried, and where a remote's
credentials are kept.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.base.naming import derive_session_token
from lineage.core.base.project import build_project_key
from lineage.index import SessionFilter
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.search.search import search
from lineage.projects import identify_folder
from lineage.telemetry import SeenSession
from lineage.workspace.book_folders import CLAIM_NOTE, resolve_project_folder
from lineage.workspace.projects import KnownProjects, list_sessions
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.commands import LineageCommand
from tests.support.gemini import make_header, make_user_message, write_records
from tests.support.git import make_repository, run_git
from tests.support.hook_process import make_payload, run_hook
from tests.support.workspace import end_session, open_test_workspace, read_rows, read_store, write_capture

pytestmark = pytest.mark.slow

AT = "2025-03-20T10:00:00.000Z"
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
URL = f"https://ada:{SECRET}@GitHub.com/Ada/demo.git"
SCP = "git@github.com:ada/demo.git"
DEMO = "github.com/ada/demo"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path / "ws") as ws:
        yield ws


def make_ways(home: Path, remote: str) -> dict[str, Path]:
    """The folders that lead to one project, which has this remote or none; only "plain" leads to another."""
    main = make_repository(home / "code/demo", remote)
    (main / "packages/cli").mkdir(parents=True)
    gone = main / ".claude/worktrees/gone"
    for tree in (home / "topic", main / ".worktrees/a", gone):
        run_git("-C", main, "worktree", "add", "--quiet", "--detach", tree)
    run_git("-C", main, "worktree", "remove", gone)
    run_git("clone", "--quiet", main, home / "clone")
    run_git("clone", "--quiet", "--bare", main, home / "bare/.bare")
    (home / "bare/.git").write_text("gitdir: ./.bare\n")
    if remote:
        run_git("-C", home / "clone", "remote", "set-url", "origin", "ssh://git@github.com/ada/demo")
        run_git("-C", home / "bare/.bare", "remote", "set-url", "origin", SCP)
    run_git("-C", home / "bare", "worktree", "add", "--quiet", "-b", "topic", home / "bare/topic")
    (home / "link").symlink_to(main)
    (home / "plain").mkdir()
    return {
        "main": main, "worktree": home / "topic", "worktree inside": main / ".worktrees/a", "removed": gone,
        "clone": home / "clone", "bare": home / "bare/topic", "subfolder": main / "packages/cli",
        "symlink": home / "link", "plain": home / "plain",
    }  # fmt: skip


def write_gemini(home: Path, folder: Path) -> Path:
    """A session of Gemini that names its folder by hash alone."""
    digest = hashlib.sha256(str(folder).encode()).hexdigest()
    path = home / f".gemini/tmp/{digest}/chats/session-2026-10-02T09-00-8fd417af.jsonl"
    return write_records(path, make_header(projectHash=digest), make_user_message("u", "Mend the reader."))


def write_sub_agent(path: Path, parent: str, file: Path) -> Path:
    """A session of Claude Code's that another one started, with an edit of a file."""
    call = {"type": "tool_use", "id": "c", "name": "Edit", "input": {"file_path": str(file), "new_string": "wombat"}}
    record = {"sessionId": parent, "agentId": "x", "isSidechain": True, "timestamp": "2026-11-20T10:00:00Z"}
    said = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Mend the wombat."}}
    done = {"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": [call]}}
    path.write_text("".join(f"{json.dumps(record | one)}\n" for one in (said, done)))
    return path


def capture_all(ws: Workspace, ways: dict[str, Path], home: Path) -> dict[str, str]:
    """A session for each way, and one of Gemini; the project's key of each."""
    for way, folder in ways.items():
        end_session(ws, way, project=str(folder))
    log = str(write_gemini(home, ways["main"]))
    end_session(ws, "gemini", harness="gemini", project=None, transcript_path=log)
    rows = ws.index.list_sessions(None, limit=100)
    keys = {path: key for key, path in ws.index.list_projects()}
    assert len(rows) == len(ways) + 1
    return {row.session_id: keys[row.project or ""] for row in rows}


def test_twelve_ways_lead_to_one_project_by_its_remote(ws: Workspace, tmp_path: Path) -> None:
    ways = make_ways(tmp_path / "ada", URL)
    ways["other home"] = make_repository(tmp_path / "eve/demo", SCP)
    renamed = make_repository(tmp_path / "ada/before", URL)
    ways["renamed"] = renamed.rename(tmp_path / "ada/after")
    keys = capture_all(ws, ways, tmp_path / "ada")
    assert len(keys) == 12
    assert {way for way, key in keys.items() if key == DEMO} == keys.keys() - {"plain"}
    for way, folder in ways.items():
        found = {
            row.session_id for row in list_sessions(ws, None, limit=100, wanted=SessionFilter(project=str(folder)))
        }
        assert found == ({way} if way in {"plain", "subfolder"} else keys.keys() - {"plain"}), way
        assert resolve_project_folder(ws, str(folder)) == ("plain" if way == "plain" else "demo")
    assert len(list_sessions(ws, None, limit=100, wanted=SessionFilter(project="ada/demo"))) == len(keys) - 1
    files = read_store(ws.documents.store, "memory/")
    for data in (data for path, data in files.items() if "/claims/" not in path):
        assert b'\nrepository: "github.com/ada/demo"\n' in data or b"\nrepository: null\n" in data


def test_without_a_remote_its_folder_is_the_project(ws: Workspace, tmp_path: Path) -> None:
    ways = make_ways(tmp_path / "ada", "")
    ways["other home"] = make_repository(tmp_path / "eve/demo")
    ways["renamed"] = make_repository(tmp_path / "ada/before").rename(tmp_path / "ada/after")
    keys = capture_all(ws, ways, tmp_path / "ada")
    others = {way: keys.pop(way) for way in ("plain", "other home", "renamed")}
    assert set(keys.values()) == {str(ways["main"])}
    assert others == {way: str(ways[way]) for way in others}
    assert build_project_key("/home/ada/demo") == build_project_key("/Users/eve/demo")


def make_call(file: object) -> list[dict[str, str]]:
    return [
        {"role": "user", "text": "Mend the wombat, please."},
        {"role": "assistant", "text": "", "name": "Edit", "input": str(file)},
    ]


def list_in(ws: Workspace, project: str | None, path: str | None) -> set[str]:
    rows = list_sessions(ws, None, limit=99, wanted=SessionFilter(project=project, path=path))
    return {row.session_id for row in rows if row.parent_token is None}


def test_a_subfolder_of_a_monorepo_narrows_its_project(ws: Workspace, tmp_path: Path) -> None:
    ways = make_ways(tmp_path / "ada", URL)
    main, gone = ways["main"], ways["removed"]
    for folder in ("packages/api/src", "packages/api-old", "packages/web"):
        for checkout in (main, ways["worktree"], ways["clone"], ways["bare"]):
            (checkout / folder).mkdir(parents=True)
    other = make_repository(tmp_path / "other", "git@github.com:eve/other.git")
    (other / "packages/api").mkdir(parents=True)
    began = {
        **{way: folder / "packages/api" for way, folder in ways.items() if way not in {"subfolder", "plain"}},
        "deeper": main / "packages/api/src", "root": main, "web": main / "packages/web",
        "old": main / "packages/api-old", "elsewhere": other / "packages/api",
    }  # fmt: skip
    for session, folder in began.items():
        end_session(ws, session, project=str(folder), transcript=make_call("Makefile"))
    calls = {
        "absolute": main / "packages/api/src/a.py", "in worktree": gone / "packages/api/b.py",
        "relative": "packages/web/c.py, packages/api/c.py", "windows": f"{main}\\packages\\api\\d.py",
        "command": "ls packages/api/d.py", "prefix": f"{main}-/packages/api/x.py", "out": "../packages/api/x.py",
    }  # fmt: skip
    for session, file in calls.items():
        end_session(ws, session, project=str(main), transcript=make_call(file))
    end_session(ws, "parent", project=str(main), transcript=make_call("Makefile"))
    log = write_sub_agent(tmp_path / "agent-x.jsonl", "parent", main / "packages/api/src/a.py")
    end_session(ws, "agent-x", harness="claude-code", project=str(main), transcript_path=str(log))
    end_session(ws, "away", project=str(main), transcript=make_call("Makefile"))
    log = write_sub_agent(tmp_path / "agent-y.jsonl", "away", other / "packages/api/src/a.py")
    end_session(ws, "agent-y", harness="claude-code", project=str(other / "packages/api"), transcript_path=str(log))
    in_api = {*began, "absolute", "in worktree", "relative", "windows", "parent"} - {"root", "web", "old", "elsewhere"}
    assert list_in(ws, None, "packages/api") == in_api | {"elsewhere"}
    for project, path in (
        (DEMO, "./packages/api/"), (str(main), "PACKAGES/api"), (str(main / "packages/api"), None),
        (str(main / "packages"), "api"), (None, str(ways["clone"] / "packages/api")),
        (None, str(gone / "packages/api")), ("demo", str(main / "packages/api")),
    ):  # fmt: skip
        assert list_in(ws, project, path) == in_api, (project, path)
    assert list_in(ws, str(main), "packages/web") == {"web", "relative"}
    for session, folder in (
        ("named", main / ".worktrees/packages"),
        ("named too", main / ".claude/worktrees/packages"),
    ):
        end_session(ws, session, project=str(folder), transcript=make_call("Makefile"))
    assert not list_in(ws, DEMO, "packages") & {"named", "named too"}
    assert list_in(ws, DEMO, "packages/a_i") == list_in(ws, DEMO, "api") == set()
    everything = list_in(ws, str(main), None)
    assert everything == (began.keys() | calls.keys() | {"parent", "away", "named", "named too"}) - {"elsewhere"}
    assert list_in(ws, None, str(main)) == list_in(ws, DEMO, "../x") == everything
    # It is a filter alone: books, ledger and the start of a session are the repository's.
    assert {key for key, _ in ws.index.list_projects()} == {DEMO, "github.com/eve/other"}
    assert resolve_project_folder(ws, str(main / "packages/web")) == resolve_project_folder(ws, str(main))
    shutil.rmtree(main / "packages")  # a folder that is gone is known by its project
    assert list_in(ws, str(main / "packages/web"), None) == {"web", "relative"}
    rows = read_rows(ws)
    ws.index.reset()
    reindex(ws)
    assert read_rows(ws) == rows


def test_reindex_gives_what_was_captured_before_the_subfolder_that_it_was_seen_in(
    ws: Workspace, tmp_path: Path
) -> None:
    main = make_repository(tmp_path / "demo", URL)
    (main / "packages/api").mkdir(parents=True)
    write_capture(ws, "s-1", sentence="The wombat was mended.", captured_at=ws.now, project=str(main))
    folder, token = str(main / "packages/api"), derive_session_token("default", "s-1")
    ws.telemetry.record_event(SeenSession("x", "default", "s-1", token, None, folder, "x", ws.now, None))
    files = read_store(ws.documents.store, "memory/")
    for _ in range(2):
        reindex(ws)
        assert [row.session_id for row in list_sessions(ws, None, limit=9, wanted=SessionFilter(project=folder))] == [
            "s-1"
        ]
        assert {row["folders"] for row in read_rows(ws)} == {"\npackages/api/"}
    assert read_store(ws.documents.store, "memory/") == files
    assert not any(b"\nsubfolder:" in data for data in files.values())


def test_a_remote_s_credentials_are_kept_nowhere(ws: Workspace, tmp_path: Path) -> None:
    odd = f"https://example.org/{SECRET}/demo.git"
    for number, url in enumerate(
        (URL, odd, f"https://example.org/ada/demo?token={SECRET}", f"{SECRET}@example.org:a/b")
    ):
        folder = make_repository(tmp_path / f"demo-{number}", url)
        end_session(ws, f"s-{number}", project=str(folder))
        (folder / SECRET).mkdir()
        end_session(ws, f"sub-{number}", project=str(folder / SECRET))
        remember(ws, Memo(text="We decided to keep splitlines.", kind="decision", project=str(folder)))
        ws.telemetry.record_event(SeenSession("x", "default", f"s-{number}", "t", None, str(folder), "x", ws.now, None))
    reindex(ws)
    prepare_contexts(ws)
    files = [path for path in (tmp_path / "ws").rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert sum(b"github.com/ada/demo" in path.read_bytes() for path in files) >= 4


def test_what_was_captured_before_the_remote_joins_by_its_path(ws: Workspace, tmp_path: Path) -> None:
    demo = make_repository(tmp_path / "reader")
    end_session(ws, "before", project=str(demo))
    assert resolve_project_folder(ws, str(demo), claim=True) == "reader"
    files = read_store(ws.documents.store, "memory/")
    run_git("-C", demo, "remote", "add", "origin", URL)
    assert [row.session_id for row in list_sessions(ws, None, limit=9, wanted=SessionFilter(project=str(demo)))] == [
        "before"
    ]
    reindex(ws)
    assert read_store(ws.documents.store, "memory/") == files
    assert ws.index.list_projects() == [(DEMO, str(demo))]
    # Only a claim writes the repository into the folder's note; from then on any other checkout finds it.
    assert resolve_project_folder(ws, str(demo), claim=True) == "reader"
    note = ws.documents.store.read(f"books/project/reader/{CLAIM_NOTE}").data
    assert f'repository: "{DEMO}"'.encode() in note
    clone = make_repository(tmp_path / "elsewhere", SCP)
    assert resolve_project_folder(ws, str(clone), claim=True) == "reader"
    shutil.rmtree(demo)
    assert resolve_project_folder(ws, str(demo), DEMO) == "reader"


def test_books_of_two_repositories_of_one_name_are_two(ws: Workspace, tmp_path: Path) -> None:
    remotes = {"a": SCP, "b": "git@github.com:eve/demo.git", "c": "git@gitlab.com:eve/demo.git"}
    folders = [make_repository(tmp_path / name / "demo", url) for name, url in remotes.items()]
    names = [resolve_project_folder(ws, str(folder), claim=True) for folder in folders]
    assert names[:2] == ["demo", "eve-demo"]
    assert (names[2] or "").startswith("demo-")
    assert [resolve_project_folder(ws, str(folder), claim=True) for folder in folders] == names
    assert resolve_project_folder(ws, "eve/demo") == "eve-demo"
    # The path that a note was made for doesn't count any more once it names a repository.
    run_git("-C", folders[0], "remote", "set-url", "origin", "git@github.com:new/demo.git")
    assert resolve_project_folder(ws, str(folders[0])) == "new-demo"


def test_a_folder_with_a_hash_keeps_its_name_when_a_remote_comes(ws: Workspace, tmp_path: Path) -> None:
    resolve_project_folder(ws, "/srv/demo", claim=True)
    folder = make_repository(tmp_path / "demo")
    hashed = resolve_project_folder(ws, str(folder), claim=True)
    assert hashed and hashed.startswith("demo-")
    write_entry(ws, f"project/{hashed}", "decision", "We keep splitlines.")
    run_git("-C", folder, "remote", "add", "origin", URL)
    assert resolve_project_folder(ws, str(folder), claim=True) == hashed
    assert resolve_project_folder(ws, str(make_repository(tmp_path / "clone", SCP))) == hashed


@pytest.mark.in_folder
@pytest.mark.leaves_findings
def test_the_first_start_in_a_new_checkout_is_told_what_the_others_are(ws: Workspace, tmp_path: Path) -> None:
    main = make_repository(tmp_path / "demo", URL)
    other = make_repository(tmp_path / "other", "git@github.com:eve/other.git")
    assert resolve_project_folder(ws, str(main), claim=True) == "demo"
    write_entry(ws, "project/demo", "note", "The wombat splits lines.")
    ws.telemetry.record_event(SeenSession("x", "default", "s-1", "t", None, str(main), "x", ws.now, None))
    prepare_contexts(ws)
    run_git("-C", main, "worktree", "add", "--quiet", "--detach", tmp_path / "topic")
    run_git("clone", "--quiet", "--bare", main, tmp_path / "bare.git")
    run_git("-C", tmp_path / "bare.git", "remote", "set-url", "origin", SCP)
    clone = make_repository(tmp_path / "clone", SCP)
    (clone / "src").mkdir()
    for folder in (main, tmp_path / "topic", tmp_path / "bare.git", clone, clone / "src"):
        done = run_hook(tmp_path / "ws", make_payload("SessionStart", cwd=str(folder)))
        assert "wombat" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"], folder
        assert "wombat" in build_context(ws, ContextRequest(project=str(folder))).body
    for folder in (other, tmp_path):
        assert run_hook(tmp_path / "ws", make_payload("SessionStart", cwd=str(folder))).stdout == b""


@pytest.mark.in_folder
@pytest.mark.leaves_findings
def test_sessions_of_other_machines_are_told_found_and_named(ws: Workspace, tmp_path: Path) -> None:
    at = "2026-11-20T10:{:02d}:00.000Z"
    for number, (path, repository) in enumerate(
        (("/home/ada/cli", "github.com/ada/cli"), ("/Users/eve/work", "github.com/ada/cli"), ("/home/ada/cli", None),
         ("/srv/eve/cli", "github.com/eve/cli"))
    ):  # fmt: skip
        sentence = f"In s-{number} the wombat of the reader was mended by hand, and the splitter keeps each line now."
        write_capture(ws, f"s-{number}", sentence=sentence, captured_at=at.format(number), project=path,
                      repository=repository)  # fmt: skip
    reindex(ws)
    here = make_repository(tmp_path / "anywhere", "https://github.com/ada/cli")
    told = build_context(ws, ContextRequest(project=str(here))).body
    assert [name for name in ("s-0", "s-1", "s-2", "s-3") if derive_session_token("default", name) in told] == [
        "s-0",
        "s-1",
        "s-2",
    ]
    assert {hit.session_id for hit in search(ws, "project:ada/cli wombat", None, 9).hits} == {"s-0", "s-1", "s-2"}
    assert {hit.session_id for hit in search(ws, f"project:{here} wombat", None, 9).hits} == {"s-0", "s-1", "s-2"}
    assert {hit.session_id for hit in search(ws, "project:eve/cli wombat", None, 9).hits} == {"s-3"}
    folder = resolve_project_folder(ws, str(here), claim=True)
    write_entry(ws, f"project/{folder}", "note", "The wombat keeps each line.")
    publish_all(ws)
    memory = ws.documents.store.read("MEMORY.md").data.decode()
    assert memory.count("The wombat keeps each line.") == 1
    for number, path in enumerate(("/home/ada/cli", "/Users/eve/work", "/home/ada/cli", "/srv/eve/cli")):
        assert f"| session=s-{number} | project={path} |" in memory
    names = KnownProjects(ws, ws.index.list_projects()).label_paths()
    assert names == {"/home/ada/cli": "ada/cli", "/Users/eve/work": "ada/cli", "/srv/eve/cli": "eve/cli"}
    prepare_contexts(ws)
    printed = run_hook(tmp_path / "ws", make_payload("SessionStart", cwd=str(here))).stdout.decode()
    assert derive_session_token("default", "s-1") in printed


def start(ws_root: Path, folder: Path) -> str:
    """What the first session of a folder is told."""
    printed = run_hook(ws_root, make_payload("SessionStart", cwd=str(folder))).stdout
    return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"]) if printed else ""


@pytest.mark.in_folder
@pytest.mark.leaves_findings
def test_a_project_that_only_another_machine_knew_is_told_at_its_first_start_here(
    ws: Workspace, tmp_path: Path
) -> None:
    """Months ago, so that MEMORY.md doesn't name it any more; the block is the same, byte for byte."""
    sentence = "In cli the wombat of the reader was mended by hand, and the splitter keeps each line of it now."
    write_capture(ws, "s-1", sentence=sentence, captured_at=AT, ended_at=AT, project="/Users/eve/work",
                  repository=DEMO)  # fmt: skip
    reindex(ws)
    write_entry(ws, "global", "preference", "Answer in English.")
    assert prepare_contexts(ws) > 0 and prepare_contexts(ws) == 0
    clone = make_repository(tmp_path / "clone", SCP)
    (clone / "packages/api").mkdir(parents=True)
    run_git("-C", clone, "worktree", "add", "--quiet", "--detach", tmp_path / "topic")
    run_git("clone", "--quiet", "--bare", clone, tmp_path / "bare/.bare")
    (tmp_path / "bare/.git").write_text("gitdir: ./.bare\n")
    run_git("-C", tmp_path / "bare/.bare", "remote", "set-url", "origin", URL)
    run_git("-C", tmp_path / "bare", "worktree", "add", "--quiet", "-b", "topic", tmp_path / "bare/topic")
    run_git("-C", tmp_path / "bare", "worktree", "add", "--quiet", "-b", "gone", tmp_path / "bare/gone")
    ways = (clone, clone / "packages/api", tmp_path / "topic", tmp_path / "bare/topic", tmp_path / "bare/gone")
    told = {start(tmp_path / "ws", folder) for folder in ways}
    assert len(told) == 1 and derive_session_token("default", "s-1") in told.pop()
    other = make_repository(tmp_path / "other", "git@github.com:eve/other.git")
    run_git("-C", clone, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor")
    run_git("-C", clone / "vendor", "remote", "set-url", "origin", "git@github.com:eve/other.git")
    for folder in (other, clone / "vendor", tmp_path):  # of a project that nobody knows what is global alone
        text = start(tmp_path / "ws", folder)
        assert "Answer in English." in text and "s-1" not in text and "Last session" not in text


@pytest.mark.in_folder
@pytest.mark.leaves_findings
def test_a_start_is_told_by_the_repository_that_its_folder_has_now(ws: Workspace, tmp_path: Path) -> None:
    """A remote that came later, a main checkout that is gone, and another repository in the place of the first."""
    main = make_repository(tmp_path / "demo", "")
    run_git("-C", main, "worktree", "add", "--quiet", "--detach", tmp_path / "topic")
    ws.telemetry.record_event(SeenSession("x", "default", "s-1", "t", None, str(main), "x", ws.now, None))
    scope = f"project/{resolve_project_folder(ws, str(main), claim=True)}"
    write_entry(ws, scope, "note", "The wombat splits lines.")
    prepare_contexts(ws)
    assert "wombat" in start(tmp_path / "ws", main)
    run_git("-C", main, "remote", "add", "origin", URL)
    assert "wombat" in start(tmp_path / "ws", main)  # by its path, until the worker has run
    assert resolve_project_folder(ws, str(main), claim=True) == scope.partition("/")[2]
    write_entry(ws, scope, "note", "The quokka joins them.")
    prepare_contexts(ws)
    for folder in (main, tmp_path / "topic", make_repository(tmp_path / "clone", SCP)):
        text = start(tmp_path / "ws", folder)
        assert "wombat" in text and "quokka" in text, folder
    shutil.rmtree(main)
    assert "quokka" in start(tmp_path / "ws", tmp_path / "topic")
    make_repository(main, "git@github.com:eve/another.git")
    assert start(tmp_path / "ws", main) == ""


def test_a_search_is_narrowed_by_the_subfolder(ws: Workspace, tmp_path: Path) -> None:
    for session, file in (("api", "/home/ada/cli/packages/api/x.py"), ("web", "packages/web/x.py"), ("root", "x.py")):
        sentence = f"In {session} the wombat of the reader was mended by hand, and the splitter keeps each line now."
        write_capture(ws, session, sentence=sentence, captured_at=ws.now, project="/home/ada/cli",
                      transcript=make_call(file))  # fmt: skip
    reindex(ws)
    for query, path in (
        ("wombat path:packages/api", None), ("wombat", "packages/api"), ("path:Packages/API", None),
        ("wombat project:/home/ada/cli/packages/api", None), ("wombat project:cli path:packages/api/", None),
        ("wombat", "/home/ada/cli/packages/api"), ("wombat path:packages/web", "packages/api"),
    ):  # fmt: skip
        assert {hit.session_id for hit in search(ws, query, None, 9, path=path).hits} == {"api"}, query
    assert {hit.session_id for hit in search(ws, "wombat project:/home/ada/cli", None, 9).hits} == {
        "api",
        "web",
        "root",
    }
    assert search(ws, "wombat project:/home/ada/other/packages/api", None, 9).hits == []


@pytest.mark.in_folder
def test_the_commands_take_a_folder_of_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = LineageCommand(tmp_path / "ws", capsys)
    main = make_repository(tmp_path / "demo", URL)
    (main / "packages/api").mkdir(parents=True)
    with open_test_workspace(tmp_path / "ws") as ws:
        end_session(ws, "api", project=str(main), transcript=make_call("packages/api/x.py"))
        end_session(ws, "root", project=str(main))
    for place, path in ((main, "packages/api"), (main / "packages", "api"), (main / "packages/api", "."),
                        (tmp_path, "packages/api"), (tmp_path, f"{main}/packages/api/")):  # fmt: skip
        monkeypatch.chdir(place)
        sessions = lineage("sessions", "--path", path, "--json").json["sessions"]
        assert [row["session_id"] for row in sessions] == ["api"], place
        assert lineage("search", "wombat", "--path", path, "--json").json["results"] == []  # trials are not found
    monkeypatch.chdir(main)
    assert len(lineage("sessions", "--path", ".", "--json").json["sessions"]) == 2
    assert lineage("sessions", "--path", "x" * 5000, "--json").json["sessions"] == []


def test_gemini_s_hash_is_tried_on_every_known_folder_and_the_home(ws: Workspace, tmp_path: Path) -> None:
    for name, folder in (("unknown", tmp_path / "unknown"), ("home", Path.home()), ("seen", tmp_path / "seen/deep")):
        ws.telemetry.record_event(
            SeenSession("x", "default", "s-1", "t", None, str(tmp_path / "seen/deep"), "x", ws.now, None)
        )
        log = str(write_gemini(tmp_path / name, folder))
        end_session(ws, name, harness="gemini", project=None, transcript_path=log)
    projects = {row.session_id: row.project for row in ws.index.list_sessions(None)}
    assert projects == {"unknown": None, "home": str(Path.home()), "seen": str(tmp_path / "seen/deep")}


def test_nothing_leaves_a_session_without_a_project(ws: Workspace, tmp_path: Path) -> None:
    home = make_repository(Path.home(), URL)
    for folder in (str(home), None):
        assert identify_folder(folder)[1] is None
        assert resolve_project_folder(ws, folder, claim=True) is None
    assert BookRef("project/demo", "lesson") not in ws.documents.books.list()
