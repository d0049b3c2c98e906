"""`resume`, `send` and `spawn` with real programs that stand in for harnesses'."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lineage.app.agent_runs import DEPTH_VARIABLE
from lineage.app.locations import SUPPRESS_VARIABLE
from lineage.core.base.naming import derive_session_token
from lineage.core.format.transcript import parse_turns
from lineage.harness.programs import PROGRAMS
from tests.support.commands import LineageCommand, run_process
from tests.support.fake_programs import CLAUDE, FakePrograms, capture_first_message
from tests.support.hook_process import append_transcript, list_captured, read_seen_sessions
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow
POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")


def in_history(home: Path, session: str = "s-1") -> Path:
    """Claude Code's transcript of a session."""
    path = home / ".claude" / "projects" / "demo" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    return append_transcript(path, "Mend it.")


# --- resume ----------------------------------------------------------------------------------------------------------


def test_resume_prints_the_command_line_in_the_sessions_folder(lineage: LineageCommand, folder: Path) -> None:
    capture_first_message(lineage, folder)
    assert lineage("resume", "s-1").out == f"cd '{folder}' && claude --resume s-1\n"
    assert lineage("resume", "s-1", "--json").json == {
        "session_id": "s-1",
        "session_token": derive_session_token("default", "s-1"),
        "harness": "claude-code",
        "folder": str(folder),
        "command": ["claude", "--resume", "s-1"],
    }


def test_resume_says_what_is_wrong_and_what_next(lineage: LineageCommand, folder: Path) -> None:
    unknown = lineage("resume", "nobody")
    assert (unknown.code, "`lineage init" in unknown.err) == (1, True)
    capture_first_message(lineage, folder, "generic", "s-2")
    capture_first_message(lineage, folder, "openclaw", "s-3")
    unknown = lineage("resume", "nobody")
    assert (unknown.code, "no session 'nobody'" in unknown.err, "`lineage list`" in unknown.err) == (1, True, True)
    assert "generic is no program" in lineage("resume", "s-2").err
    assert "openclaw does not resume" in lineage("resume", "s-3").err


@pytest.mark.parametrize("session", ["-p", "--dangerously-skip-permissions"])
def test_an_id_that_is_an_option_is_never_given_to_a_program(
    lineage: LineageCommand, folder: Path, session: str
) -> None:
    payload = {"harness": "claude-code", "session_id": session, "project": str(folder), "transcript": "User: Hi."}
    run_process(lineage.root, "session-end", "--stdin", stdin=json.dumps(payload).encode())
    done = lineage("resume", derive_session_token("default", session))
    assert (done.code, "would be read as an option" in done.err) == (2, True)


@POSIX
def test_resume_becomes_the_program_and_leaves_its_hooks_alone(
    lineage: LineageCommand, programs: FakePrograms, folder: Path
) -> None:
    programs.add("claude", 'print("\\x1b[32mhere\\x1b[0m"); sys.exit(7)')
    capture_first_message(lineage, folder)
    done = run_process(lineage.root, "resume", "s-1", "--run")
    assert (done.code, done.out) == (7, "\x1b[32mhere\x1b[0m\n")
    (call,) = programs.calls
    assert (call["folder"], call["arguments"]) == (str(folder), ["--resume", "s-1"])
    assert SUPPRESS_VARIABLE not in call["environment"]


def test_resume_runs_where_the_project_is_now(lineage: LineageCommand, programs: FakePrograms, folder: Path) -> None:
    programs.add("claude")
    capture_first_message(lineage, Path("/home/ada/gone"))
    gone = run_process(lineage.root, "resume", "s-1", "--run")
    assert (gone.code, "/home/ada/gone is not there" in gone.err, "--project" in gone.err) == (1, True, True)
    assert run_process(lineage.root, "resume", "s-1", "--run", "--project", str(folder)).code == 0
    assert programs.calls[0]["folder"] == str(folder)


# --- send ------------------------------------------------------------------------------------------------------------


def test_send_passes_the_answer_on_and_captures_both(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE)
    path = in_history(home)
    lineage.end_sample("--project", str(folder), path=path, session="s-1")
    done = lineage("send", "s-1", "--project", str(folder), "--", "-p is 'an' $option?")
    assert (done.code, done.out) == (0, "It is mended.\n")
    assert done.err == f"thinking\nlineage: captured: session {derive_session_token('default', 's-1')}\n"
    (call,) = programs.calls
    assert (call["arguments"], call["stdin"]) == (["-p", "--resume", "s-1"], "-p is 'an' $option?")
    newest = list_captured(lineage.root)[-1]
    assert [turn.text for turn in parse_turns(newest.body)] == ["-p is 'an' $option?", "It is mended."]
    assert read_seen_sessions(lineage.root)[0].captured_size == path.stat().st_size


def test_what_lineage_starts_runs_no_hook_and_knows_its_depth(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.add("codex")
    capture_first_message(lineage, folder, "codex")
    for name in ("CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.setenv(name, "1")
    assert lineage("send", "s-1", "Go on.").code == 0
    found = programs.calls[0]["environment"]
    assert (found[SUPPRESS_VARIABLE], found[DEPTH_VARIABLE], found["LINEAGE_WORKSPACE"]) == (
        "1",
        "1",
        str(lineage.root),
    )
    assert not [name for name in found if name.startswith("CLAUDE")]


@pytest.mark.parametrize("harness", [name for name, program in PROGRAMS.items() if program.send])
def test_every_harness_gets_the_message_whole_and_never_as_an_option(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, harness: str
) -> None:
    text = "--yolo {session}\n@/etc/passwd"
    programs.add(PROGRAMS[harness].name)
    capture_first_message(lineage, folder, harness)
    assert lineage("send", "s-1", "--", text).code == 0
    (call,) = programs.calls
    words = call["arguments"]
    assert call["folder"] == str(folder)
    if call["stdin"]:
        assert call["stdin"] == text
        assert text not in words
    else:
        (word,) = [word for word in words if word.endswith(text)]
        assert word != text or words[words.index(word) - 1] == "--"
    assert "s-1" in " ".join(words) or harness == "aider"
    assert PROGRAMS[harness].spawn is None or lineage("spawn", harness, "--project", str(folder), "--", text).code == 0


def test_a_program_that_fails_is_exit_1_and_what_it_did_is_captured(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE + "sys.exit(5)")
    lineage.end_sample("--project", str(folder), path=in_history(home), session="s-1")
    done = lineage("send", "s-1", "Go on.", "--project", str(folder))
    assert (done.code, "claude-code ended with exit code 5" in done.err) == (1, True)
    assert len(list_captured(lineage.root)) == 2
    programs.add("claude", "os.kill(os.getpid(), 9)")
    assert "ended with signal 9" in lineage("send", "s-1", "Go on.", "--project", str(folder)).err


def test_json_is_one_object_with_the_answer_in_it(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE + "sys.exit(5)")
    lineage.end_sample("--project", str(folder), path=in_history(home), session="s-1")
    done = lineage("send", "s-1", "Go on.", "--project", str(folder), "--json")
    assert (done.code, list(done.json)) == (1, ["harness", "folder", "exit_code", "output", "captures"])
    assert (done.json["exit_code"], done.json["output"]) == (5, "It is mended.\n")
    assert [outcome["status"] for outcome in done.json["captures"]] == ["captured"]


def test_a_missing_program_and_a_missing_folder_are_named(
    lineage: LineageCommand, programs: FakePrograms, folder: Path
) -> None:
    capture_first_message(lineage, folder)
    missing = lineage("send", "s-1", "Go on.")
    assert (missing.code, "no program claude on PATH" in missing.err) == (1, True)
    capture_first_message(lineage, Path("/home/ada/gone"), session="s-2")
    gone = lineage("send", "s-2", "Go on.")
    assert (gone.code, "/home/ada/gone is not there" in gone.err) == (1, True)
    (programs.folder / "claude").write_bytes(b"\x7fELF nonsense")
    (programs.folder / "claude").chmod(0o755)
    broken = lineage("send", "s-1", "Go on.")
    assert (broken.code, "cannot be started" in broken.err) == (1, True)


@pytest.mark.leaves_findings
def test_nothing_of_a_removed_session_is_captured_again(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE)
    path = in_history(home)
    lineage.end_sample("--project", str(folder), path=path, session="s-1")
    assert lineage("remove", "s-1", "--reason", "private", "--yes").code == 0
    assert lineage("send", "s-1", "Go on.", "--project", str(folder)).code == 1
    assert list_captured(lineage.root) == []
    assert programs.calls == []


def test_a_private_session_stays_private(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE)
    lineage.end_sample("--project", str(folder), "--private", path=in_history(home), session="s-1")
    assert lineage("send", "s-1", "Go on.", "--project", str(folder)).code == 0
    assert [artifact.private for artifact in list_captured(lineage.root)] == [True, True]


# --- spawn -----------------------------------------------------------------------------------------------------------


def test_spawn_begins_a_session_and_captures_it(lineage: LineageCommand, programs: FakePrograms, folder: Path) -> None:
    programs.add("claude", CLAUDE)
    lineage("init")
    done = lineage("spawn", "claude-code", "Which tests are slow?", "--project", str(folder), "--agent", "ann")
    assert (done.code, done.out) == (0, "It is mended.\n")
    session = programs.calls[0]["arguments"][-1]
    (artifact,) = list_captured(lineage.root)
    assert (artifact.session_id, artifact.agent_id, artifact.project) == (session, "ann", str(folder))
    assert "Which tests are slow?" in artifact.body


CODEX = """
def rollout(session, cwd):
    at = "2026-10-02T09:00:00.000Z"
    path = Path.home() / ".codex" / "sessions" / "2026" / "10" / "02" / f"rollout-2026-10-02T09-00-00-{session}.jsonl"
    meta = {"id": session, "timestamp": at, "cwd": cwd, "originator": "codex_exec", "cli_version": "0.145.0"}
    keep(path, {"timestamp": at, "type": "session_meta", "payload": meta},
         {"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": told}})

rollout("01999f00-0000-7000-8000-000000000001", os.getcwd())
rollout("01999f00-0000-7000-8000-000000000002", "/srv/other")
"""


def test_spawn_finds_the_new_session_of_the_folder_and_no_other(
    lineage: LineageCommand, programs: FakePrograms, folder: Path
) -> None:
    programs.add("codex", CODEX.replace("os.getcwd()", '"/srv/older"'))
    lineage("init")
    assert "not captured" in lineage("spawn", "codex", "Older.", "--project", str(folder)).err
    programs.add("codex", CODEX.replace("0001", "0003").replace("0002", "0004"))
    assert "captured: session" in lineage("spawn", "codex", "Which tests are slow?", "--project", str(folder)).err
    assert [artifact.session_id[-4:] for artifact in list_captured(lineage.root)] == ["0003"]
    programs.add("codex", CODEX.replace("0001", "0005").replace("0002", "0006"))
    third = lineage("spawn", "codex", "And which are not?", "--project", str(folder), "--json").json
    assert [outcome["status"] for outcome in third["captures"]] == ["captured"]


AIDER = """
number = len(list(Path().glob("run-*"))) + 1
Path(f"run-{number}").touch()
text = arguments[-1].partition("=")[2]
with open(".aider.chat.history.md", "a") as file:
    file.write(f"\\n# aider chat started at 2026-10-02 09:00:0{number}\\n\\n#### {text}\\n\\n")
    file.write("It is mended.\\n\\n> Tokens: 1\\n")
"""


def test_aiders_history_is_in_the_folder(lineage: LineageCommand, programs: FakePrograms, folder: Path) -> None:
    programs.add("aider", AIDER)
    lineage("init")
    assert lineage("spawn", "aider", "Mend the reader.", "--project", str(folder)).code == 0
    (first,) = list_captured(lineage.root)
    assert "Mend the reader." in first.body
    assert lineage("send", first.session_id, "And the writer.").code == 0
    assert len({artifact.session_id for artifact in list_captured(lineage.root)}) == 2


def test_spawn_refuses_what_there_is_not(lineage: LineageCommand, programs: FakePrograms, folder: Path) -> None:
    lineage("init")
    unknown = lineage("spawn", "clod", "Hi.")
    assert (unknown.code, "unknown harness 'clod'" in unknown.err) == (2, True)
    assert "openclaw does not begin" in lineage("spawn", "openclaw", "Hi.").err
    assert lineage("spawn", "claude-code", "Hi.", "--project", str(folder / "gone")).code == 2
    assert lineage("spawn", "claude-code", "Hi.", "--agent", "../eve").code == 2
    assert lineage("spawn", "claude-code", "a\0b").code == 2
    assert programs.calls == []


# --- Afterwards -----------------------------------------------------------------------------------------------------


def test_a_session_is_seen_so_the_sweep_goes_on_with_it(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path
) -> None:
    programs.add("claude", CLAUDE)
    lineage("init")
    assert lineage("spawn", "claude-code", "Hi.", "--project", str(folder)).code == 0
    (found,) = read_seen_sessions(lineage.root)
    append_transcript(Path(str(found.transcript_path)), "And more, by hand.")
    time.sleep(0.01)
    assert "1 session captured" in lineage("sweep", "--idle", "0").out


def test_no_checkpoint_is_left_of_it(lineage: LineageCommand, programs: FakePrograms, folder: Path, home: Path) -> None:
    programs.add("claude", CLAUDE)
    path = in_history(home)
    lineage.end_sample("--project", str(folder), path=path, session="s-1")
    with open_test_workspace(lineage.root) as ws:
        ws.documents.checkpoints.put(_checkpoint())
    assert lineage("send", "s-1", "Go on.", "--project", str(folder)).code == 0
    with open_test_workspace(lineage.root) as ws:
        assert ws.documents.checkpoints.list_for_agent(None) == []


def _checkpoint() -> Any:
    from tests.contracts.test_checkpoints import checkpoint

    return checkpoint("s-1")
