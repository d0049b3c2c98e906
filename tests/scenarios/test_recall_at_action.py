"""What a hook says at an edit, a command and a failure: what memory binds to that file, command or error, and no other.

With git itself. Fails where a file is known by its base name alone, where what was said at the prompt or the start is
said again, and where a hook tells another project's lessons.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.cli import hook_entry
from lineage.cli.hook_action import build_action
from lineage.core.books.entry import ASSISTANT_TURN, USER_TURN
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.remember import Memo, remember
from lineage.recall.at_action import MAX_ITEMS, Action
from lineage.telemetry import SeenSession
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.workspace import Workspace
from tests.scenarios.test_recall_at_prompt import list_given, read_answer
from tests.support.books import write_entry
from tests.support.git import make_repository, run_git
from tests.support.hook_process import read_hook_log
from tests.support.workspace import end_session, make_turns, open_test_workspace

URL = "git@github.com:ada/demo.git"
LESSON = "The reader drops the last line unless the buffer is flushed."

Act = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def demo(root: Path, tmp_path: Path) -> Path:
    """A repository with a lesson about `src/reader.py`, and another one about `alembic upgrade` and `KeyError`."""
    demo = make_repository(tmp_path / "demo", URL)
    (demo / "src").mkdir()
    with open_test_workspace(root) as ws:
        bind(ws, demo, LESSON, "file:src/reader.py")
        bind(ws, demo, "Migrations need the lock.", "command:alembic upgrade", kind="decision")
        bind(ws, demo, "The key is case-sensitive.", "error:KeyError")
    return demo


def bind(ws: Workspace, project: Path, text: str, *about: str, kind: str = "lesson", **more: Any) -> str:
    """An entry in the project's books that is about something."""
    folder = resolve_project_folder(ws, str(project), claim=True)
    return write_entry(ws, f"project/{folder}", kind, text, about=about, **more).id


@pytest.fixture
def act(root: Path, demo: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Act:
    """Hand an action to the hook, Claude Code's unless another is named, and return what the harness gets."""
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")

    def send(harness: str = "claude-code", **more: Any) -> str:
        payload = {"hook_event_name": "PreToolUse", "session_id": "s-2", "cwd": str(demo), **more}
        capfdbinary.readouterr()
        hook_entry.enqueue(str(root), harness, "default", payload)
        return read_answer(capfdbinary.readouterr().out)

    return send


def edit(path: object) -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_input": {"file_path": str(path), "old_string": "a", "new_string": "b"}}


def run(command: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def test_a_lesson_is_told_at_its_file_once_a_session(root: Path, demo: Path, act: Act) -> None:
    assert LESSON in act(**edit(demo / "src/reader.py"))
    assert act(**edit(demo / "src/reader.py")) == ""
    assert LESSON in act(session_id="s-3", **edit(demo / "src/reader.py"))
    assert [(one["kind"], one["tokens"] > 0) for one in list_given(root)] == [("action", True)]


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("make && alembic upgrade head", True),
        ('echo "$(alembic upgrade head)"', True),
        ('git commit -m "fix; alembic upgrade works"', False),
        ("git commit -m 'fix (alembic upgrade) at last'", False),
        ("git commit -am 'fix it\n\nalembic upgrade works'", False),
        ("echo 'a'; alembic upgrade head", True),
        ("# Let's run the migrations\nalembic upgrade head\necho 'done'", True),
        ("echo don\\'t && alembic upgrade head && echo won\\'t", True),
        ("git commit -m \"$(cat <<'EOF'\nFix it\n\nalembic upgrade works now\nEOF\n)\"", False),
        ("gh pr create -t 'fix' -b 'fix it; alembic upgrade head works'", False),
        ("ssh web1 -t 'cd /app && alembic upgrade head'", True),
        ("ssh prod 'cd /srv && alembic upgrade head'", True),
        ('docker exec app sh -c "cd /app && alembic upgrade head"', True),
        ("cat > n.md <<EOF\nDon't panic\nEOF\nalembic upgrade head && echo 'ok'", True),
    ],
)
def test_what_a_commit_or_a_pull_request_is_told_is_no_command(act: Act, command: str, is_told: bool) -> None:
    assert bool(act(**run(command))) is is_told


def test_a_command_that_went_well_has_not_failed_whatever_it_printed(act: Act) -> None:
    output = "KeyError in the log: process exited with code 1"
    result = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "cat log"}}
    assert act(**result, tool_response={"exit_code": 0, "output": output}) == ""
    assert act(**result, tool_response={"metadata": {"exit_code": 0}, "output": output}) == ""
    assert act(**result, tool_response=f"Exit code: 0\nOutput:\n{output}") == ""
    head = "\nOutput:\n"
    for printed in (f"Exit code: 0{head}{output}\nexit code: 1 of the job", f"{output}\nexit code: 2\nExit code: 0"):
        assert act(**result, tool_response=printed) == ""
    failed = [f"{begin} 1{head}{output}\nexit code: 0" for begin in ("Exit code:", "Process exited with code")]
    chunk = "Chunk ID: 1\nWall time: 2 s\nProcess exited with code"
    assert act(**result, tool_response=f"{chunk} 0{head}{output}\nexit code: 1 of job") == ""
    failed.append(f"{chunk} 1{head}{output}\nexit code: 0")
    for number, printed in enumerate(failed):
        assert "case-sensitive" in act(**result, session_id=f"s-4{number}", tool_response=printed)
    assert "case-sensitive" in act(**result, tool_response={"exit_code": 1, "output": output})
    assert "case-sensitive" in act(**result, session_id="s-3", tool_response={"output": output})


@pytest.mark.parametrize(
    "name", ["reader.py", "src/reader.pyc", "src/old/reader.py", "lib/src/reader.py", "src", "Src/reader.py"]
)
def test_a_file_of_the_same_name_elsewhere_is_another_one(demo: Path, act: Act, name: str) -> None:
    assert act(**edit(demo / name)) == ""


def test_the_file_is_the_same_in_every_checkout_and_from_every_folder(demo: Path, act: Act, tmp_path: Path) -> None:
    run_git("-C", demo, "worktree", "add", "--quiet", "--detach", tmp_path / "topic")
    run_git("-C", demo, "worktree", "add", "--quiet", "--detach", demo / ".worktrees/a")
    clone = make_repository(tmp_path / "clone", "https://github.com/Ada/demo")
    (tmp_path / "link").symlink_to(demo)
    for number, folder in enumerate((tmp_path / "topic", demo / ".worktrees/a", clone, tmp_path / "link")):
        assert LESSON in act(session_id=f"x-{number}", cwd=str(folder), **edit(folder / "src/reader.py")), folder
    assert LESSON in act(session_id="x-8", cwd=str(demo / "src"), **edit("reader.py"))
    assert LESSON in act(session_id="x-9", cwd=str(tmp_path), **edit(demo / "src/../src/reader.py"))


def test_a_file_of_another_repository_is_not_the_projects(demo: Path, act: Act, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other", "git@github.com:ada/other.git")
    run_git("-C", demo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor")
    for path in (other / "src/reader.py", demo / "vendor/src/reader.py", tmp_path / "src/reader.py"):
        assert act(**edit(path)) == "", path
    assert act(cwd=str(other), **edit("src/reader.py")) == ""
    assert act(cwd=str(other), **run("alembic upgrade head")) == ""


def test_a_project_without_a_repository_knows_its_files_too(root: Path, act: Act, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    (plain / "src").mkdir(parents=True)
    with open_test_workspace(root) as ws:
        bind(ws, plain, "The wombat bites.", "file:src/reader.py")
    assert "wombat" in act(cwd=str(plain), **edit("src/reader.py"))
    assert act(cwd=str(plain), session_id="s-3", **edit("reader.py")) == ""


def test_an_edit_may_make_its_folders_and_a_lesson_be_about_one(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        bind(ws, demo, "Handlers are generated.", "file:gen/handlers/")
    assert "generated" in act(**edit(demo / "gen/handlers/v2/user.go"))
    assert act(session_id="s-3", **edit(demo / "gen/handlers.go")) == ""


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("alembic upgrade head", True),
        ("cd web && DB=x  alembic   upgrade head 2>&1 | tail", True),
        ("uv run alembic upgrade", True),
        ("./venv/bin/alembic upgrade head", True),
        ("nohup /opt/bin/alembic upgrade head &", True),
        ("! alembic upgrade head", True),
        ("ls alembic/upgrade", False),
        ("alembic upgraded", False),
        ("echo alembic upgrade", False),
        ("alembic downgrade", False),
    ],
)
def test_a_command_is_known_by_its_first_words(act: Act, command: str, is_told: bool) -> None:
    assert ("Migrations need the lock." in act(**run(command))) == is_told


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ({"hook_event_name": "PostToolUseFailure", "error": "Exit code 1\nKeyError: 'a'"}, True),
        ({"hook_event_name": "PostToolUse", "tool_response": "KeyError: 'a'\nExit code: 1"}, True),
        ({"hook_event_name": "PostToolUseFailure", "error": "Exit code 1\n\x1b[1;31mKeyError\x1b[0m: 'a'"}, True),
        ({"hook_event_name": "PostToolUse", "tool_response": "KeyError is documented\nExit code: 0"}, False),
        ({"hook_event_name": "AfterTool", "tool_response": {"llmContent": "KeyError\nExit Code: 2"}}, True),
        ({"hook_event_name": "PostToolUseFailure", "error": "MyKeyErrors"}, False),
        ({"hook_event_name": "PreToolUse"}, False),
    ],
)
def test_an_error_is_known_by_its_name_where_a_command_failed(act: Act, more: dict[str, Any], is_told: bool) -> None:
    assert ("case-sensitive" in act(**run("pytest -q"), **more)) == is_told


@pytest.mark.parametrize(
    "given",
    [
        {
            "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch\n*** Update File: src/reader.py\n@@\n*** End Patch"},
        },
        {"tool_name": "write_file", "tool_input": {"file_path": "src/reader.py", "content": "x"}},
        {"tool_name": "edit", "tool_input": {"filePath": "src/reader.py"}},
        {
            "hook_event_name": None,
            "toolName": "str_replace_editor",
            "toolArgs": '{"command": "create", "path": "src/reader.py"}',
        },
    ],
)
def test_each_harness_s_edit_names_its_file(act: Act, given: dict[str, Any]) -> None:
    assert LESSON in act(**given)


def test_what_was_said_at_the_prompt_is_not_said_again(root: Path, demo: Path, act: Act) -> None:
    asked = {
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Why does the reader drop the last line, is the buffer flushed?",
    }
    assert LESSON in act(**asked)
    assert act(**edit(demo / "src/reader.py")) == ""


@pytest.mark.leaves_findings
def test_what_was_said_at_the_start_is_not_said_again_until_it_is_gone(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        ws.telemetry.record_event(SeenSession("x", "default", "s-1", "t", None, str(demo), "x", ws.now, None))
        prepare_contexts(ws)
    assert LESSON in act(hook_event_name="SessionStart", source="startup")
    assert act(**edit(demo / "src/reader.py")) == ""
    assert [one["kind"] for one in list_given(root)] == ["start"] * 3
    assert LESSON in act(session_id="s-3", **edit(demo / "src/reader.py"))  # it was told nothing at its start
    with open_test_workspace(root) as ws:
        ws.documents.context_cache.clear()
    act(hook_event_name="SessionStart", source="clear")
    assert LESSON in act(**edit(demo / "src/reader.py"))


def test_at_most_two_are_told_those_of_the_user_first(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        bind(ws, demo, "The agent found four.", "file:x.py", source=ASSISTANT_TURN)
        bind(ws, demo, "The user said five.", "file:x.py", source=USER_TURN, at="2026-01-01T00:00:00Z")
        bind(ws, demo, "The user said six.", "file:x.py", source=USER_TURN, at="2026-01-02T00:00:00Z")
    text = act(**edit(demo / "x.py"))
    assert MAX_ITEMS == 2 and text.index("six") < text.index("five") and "four" not in text
    assert "four" in act(**edit(demo / "x.py"))


@pytest.mark.leaves_findings
def test_what_nobody_may_see_is_not_told(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        for session, more in (("hid", {"private": True}), ("gone", {}), ("run", {})):
            path = end_session(ws, session, project=str(demo), transcript=make_turns("Mend it.", "Done."), **more)
            bind(ws, demo, f"The {session} wombat.", f"file:{session}.py", origin=f"[[{path.manifest_path}]]")
        remove(ws, "gone", reason="asked for")
        old = bind(ws, demo, "The old wombat.", "file:old.py")
        bind(ws, demo, "Nothing.", supersedes=(old,), at="2026-11-21T11:00:00Z")
        bind(ws, demo, "A task.", "file:task.py", kind="task")
    for name in ("hid", "gone", "old", "task"):
        assert act(**edit(demo / f"{name}.py")) == "", name
    assert act(session_id="run", **edit(demo / "run.py")) == ""
    assert "run wombat" in act(**edit(demo / "run.py"))


def test_global_books_tell_of_commands_and_of_no_file(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        write_entry(
            ws, "global", "lesson", "Ask before you publish.", about=("command:npm publish", "file:package.json")
        )
    assert act(**edit(demo / "package.json")) == ""
    assert "Ask before" in act(**run("npm publish --access public"))


def test_what_a_person_remembers_of_a_project_is_told_there(root: Path, demo: Path, act: Act) -> None:
    with open_test_workspace(root) as ws:
        remember(ws, Memo(text="Never touch this by hand.", kind="lesson", scope="project/demo", about=("go.sum",)))
    assert "by hand" in act(**edit(demo / "go.sum"))


@pytest.mark.parametrize("setting", ["[recall]\naction = false\n", "[recall\naction = false\n"])
def test_a_setting_turns_it_off(root: Path, demo: Path, act: Act, setting: str) -> None:
    settings = root / "lineage.toml"
    settings.write_text(setting)
    assert act(**edit(demo / "src/reader.py")) == ""
    settings.unlink()


@pytest.mark.parametrize(
    "tool_input", [None, [], "x", {"file_path": 7}, {"file_path": "\0"}, {"command": ["a", 1]}, {"path": "~nobody/x"}]
)
def test_what_is_no_action_is_answered_with_nothing(act: Act, root: Path, tool_input: object) -> None:
    assert act(tool_name="Edit", tool_input=tool_input) == ""
    assert "Error" not in read_hook_log(root)


NAMES = st.text("ab./ -\"'\\é[]", max_size=12)


@given(NAMES, NAMES)
def test_only_the_path_itself_or_a_folder_around_it_is_met(path: str, bound: str) -> None:
    action = Action(["p"], [path], "", "")
    is_met = bound == path or (bound.endswith("/") and path.startswith(bound))
    if bound:
        assert (f"file:{bound}" in _subjects(action)) == is_met


def test_of_an_error_both_ends_are_read_and_each_once() -> None:
    assert Action(["p"], [], "", "ETIMEDOUT").error == "ETIMEDOUT"
    long = "a" * 30_000 + "b" * 30_000
    head, _, tail = Action(["p"], [], "", long).error.partition("\n")
    assert long.startswith(head) and long.endswith(tail) and len(head) == len(tail) < 30_000


def _subjects(action: Action) -> list[str]:
    from lineage.recall.at_action import _iter_places

    return [f"file:{place}" for path in action.paths for place in _iter_places(path)]


FIELDS = ["cwd", "tool_input", "toolArgs", "error", "tool_response", "toolResult"]
INNER = ["file_path", "command", "error", "exit_code", "output"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_no_payload_is_an_error(payload: dict[str, Any]) -> None:
    build_action(payload, ["p"])
