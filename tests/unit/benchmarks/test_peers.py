"""Other tools in the bench, played by small commands: who fails, hangs or is absent has a row that says so, and an
answer counts where it is in one of the first five sessions that are named."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from benchmarks import peers
from benchmarks.corpus import Corpus
from benchmarks.family import ended
from benchmarks.searching import answered_questions
from benchmarks.tools import Tool

_STEM = "2026-11-20T10-00-00.000Z"
_TOKENS = [f"{letter * 16}" for letter in "abcdef"]


def corpus(folder: Path, *, answering: str = "") -> Corpus:
    """Six sessions and a claim; the transcript of `answering` has the answer to every question."""
    made = Corpus(folder / "corpus")
    (made.memory / "claims").mkdir(parents=True)
    (made.memory / "claims" / f"{_TOKENS[0]}.md").touch()
    answers = "\n".join(sentence for _, sentence in answered_questions(20))
    for token in _TOKENS:
        (made.memory / f"{_STEM}--{token}--transcript.md").write_text(answers if token == answering else "", "utf-8")
        (made.memory / f"{_STEM}--{token}--summary.md").touch()
    return made


def tool(search: str, index: str = ":", program: str = "grep") -> Tool:
    shell = ("sh", "-c")
    return Tool(
        name="it", mode=", a way", program=program, index=[[*shell, index]], search=[*shell, search], named="(.+)\n"
    )


def rows(capsys: pytest.CaptureFixture[str], on: Corpus, *tools: Tool, patience: float = 60) -> list[list[str]]:
    peers.main(on, patience, tools)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert "indexing 12 files" in lines[0]
    found = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert {len(cells) for cells in found} == {8}
    return found


def test_a_row_has_the_version_and_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = "head -c 3000000 /dev/zero > {home}/kept"
    first, second = rows(capsys, corpus(tmp_path), tool("echo"), tool("echo", index))
    assert first[0].startswith("it ") and first[0].endswith(", a way") and any(map(str.isdigit, first[0]))
    assert (first[2], first[6], first[7]) == ("1.0", "1.0", "0")
    assert second[4] == "3 MB"


@pytest.mark.parametrize(("answering", "answered"), [(_TOKENS[4], "20"), (_TOKENS[5], "0")])
def test_five_sessions_are_looked_at_however_often_they_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answering: str, answered: str
) -> None:
    named = [f"memory/{_STEM}--{token}--{kind}.md" for token in _TOKENS for kind in ("summary", "transcript")]
    [cells] = rows(capsys, corpus(tmp_path, answering=answering), tool(f"printf '%s\\n' {' '.join(named)}"))
    assert cells[7] == answered


def test_a_question_is_asked_as_it_is_and_as_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = 'test "$(echo "{question}" | tr " " "|")" = "{words}" && grep -rlwE "{question}|{words}" {notes}'
    [cells] = rows(capsys, corpus(tmp_path, answering=_TOKENS[2]), tool(search))
    assert cells[7] == "20"


def test_who_gives_no_figures_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tool(":", program="no-such-program")
    failing = tool(":", "echo early >&2; echo the reason >&2; exit 3")
    unable = tool("echo no index; exit 1")
    silent = tool("exit 4")
    hanging = tool(":", "sleep 1000")
    sound, *others = rows(
        capsys, corpus(tmp_path), tool(":"), absent, failing, unable, silent, hanging, tool(":"), patience=2
    )
    assert [cells[1] for cells in others[:5]] == [
        "not installed",
        "failed: the reason",
        "failed: no index",
        "failed: exit 4",
        "not ended within 2 s",
    ]
    assert others[0][0] == "it, a way"
    assert sound[6] == "1.0" and others[5][7] == "0"


def test_every_question_is_asked_of_the_first_tool_beside_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = tmp_path / "asked"
    first, second = tool(f"echo first >> {asked}"), tool(f"echo second >> {asked}")
    rows(capsys, corpus(tmp_path), first, second)
    assert asked.read_text("ascii").split() == ["first"] * 20 + ["first", "second"] * 20


def test_another_tool_gets_no_claims_and_a_home_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = 'test ! -e {notes}/memory/claims && test "$HOME" = {home} && echo > "$HOME/made"'
    on = corpus(tmp_path)
    for cells in rows(capsys, on, tool(":", f"test ! -e {{home}}/made && {index}"), tool(":", index)):
        assert "failed" not in cells[1]
    assert (on.memory / "claims").is_dir()


def test_what_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with pytest.raises(subprocess.TimeoutExpired):
        ended(["sh", "-c", f"sleep 1000 & echo $! > {started}; wait"], os.environ, 0.5)
    child = Path("/proc", started.read_text("ascii").strip())
    deadline = time.monotonic() + 30
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_running(child)


def _is_running(process: Path) -> bool:
    try:
        return "State:\tZ" not in (process / "status").read_text("ascii")
    except OSError:
        return False


def test_the_peak_is_of_all_processes_together() -> None:
    hold = "import time; held = bytearray(b'x' * 40_000_000); time.sleep(1)"
    done = ended(["sh", "-c", f'python3 -c "{hold}" & python3 -c "{hold}"; wait; echo done'], os.environ, 60)
    assert done.output == "done\n"
    assert 80_000_000 < done.peak < 200_000_000
