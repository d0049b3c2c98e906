"""What a person sees at a terminal: every list and page fits it, in local time, with ids that can be typed.

Fails where a line is wider than the terminal, a text of a session colours or moves anything, a short id means nothing
or another session, NO_COLOR or `--no-pager` isn't obeyed, or a pipe gets what is made for a terminal.
"""

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app.workspace import run_in_workspace
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.commands import run_process
from tests.support.sample_workspace import write_sample_workspace
from tests.support.terminals import Seen, run_on_terminal
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]

TWIN = "2489c83d-1f2e-4a5b-9c55-7a1d6e0c9b1"
ARABIC = "لماذا يفشل اختبار الدفع في المتجر عند منتصف الليل؟"
WIDE = "パーサーが最後の行を落とすのはなぜですか、修正してください"
HOSTILE = "Fix \x1b[31mred\x1b[0m \u202eevil [bold]markup[/bold] :smile: <script>x</script> " + "and on " * 40
REPLY = "Done, `Vec<T>` is kept. \n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n<b>bold</b> &lt; text"
_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LINES = [
    ["list"], ["list", "--agent", "all"], ["search", "fix"], ["search", "is:task"], ["show", "hostile"],
    ["show", "wide", "--kind", "transcript"], ["show", "long", "--turns", "1-3"], ["memory", "list"],
    ["memory", "list", "--pending"], ["memory", "show", "global", "preference"], ["status"], ["hooks", "status"],
    ["config", "get"], ["help"], ["context", "--explain"], ["show", "nothing"], ["admin"], ["--help"],
]  # fmt: skip


def _fill(ws: Workspace) -> None:
    for name, ask in (("arabic", ARABIC), ("wide", WIDE), ("hostile", HOSTILE), (f"{TWIN}1", "One"), (f"{TWIN}2", "")):
        end_session(ws, name, project="/home/ada/日本語のプロジェクト", transcript=make_turns(ask or "Another", REPLY))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_sample_workspace(tmp_path_factory.mktemp("terminal") / "w")
    run_in_workspace(made, _fill, writes=True)
    return made


@pytest.mark.parametrize("columns", [40, 80, 230])
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_it_fits_every_width(root: Path, line: list[str], columns: int) -> None:
    seen = run_on_terminal(root, *line, columns=columns)
    assert seen.code in (0, 1, 2), seen.text
    assert "Traceback" not in seen.text
    # words of others may be longer than a line; ours are not
    drawn = seen.data.decode().replace("\r\n", "\n")
    assert "\x1b[31mred" not in drawn and "\u202e" not in drawn
    if line[0] in ("list", "search") or line[:2] == ["memory", "list"]:
        assert not _CANONICAL.search(seen.text), seen.text
    assert not [part for part in seen.lines if len(part) > columns]


@pytest.mark.parametrize("columns", [40, 120])
def test_an_id_of_a_list_can_be_typed(root: Path, columns: int) -> None:
    listed = run_on_terminal(root, "list", columns=columns)
    if columns < 70:
        names = re.findall(r"^(?:\S+ )?\S+ · (\S+)", listed.text, re.MULTILINE)
    else:
        names = [re.split(r" {2,}", line)[1] for line in listed.lines[1:] if re.match(r"\S", line)]
    whole = {row["session_id"]: row["title"] for row in run_process(root, "list", "--json").json["sessions"]}
    assert len(names) == len(set(names)) == len(whole) >= 8
    shown = {run_process(root, "show", name, "--json").json["session"]["session_id"] for name in names}
    assert shown == set(whole)
    for command in (["open", "--editor", "--print"], ["resume"], ["remove", "--dry-run"], ["context", "--session"]):
        done = run_process(root, *command, names[0], "--json")
        assert "no session" not in done.err, done.err


def test_an_entry_s_short_id_can_be_typed(root: Path) -> None:
    line = run_on_terminal(root, "memory", "show", "global", "preference").lines[0]
    name = line.split(" · ")[0]
    assert re.fullmatch(r"[0-9a-f]{8}", name), line
    for command in (["show", name], ["open", name, "--print"], ["memory", "why", name], ["memory", "pin", name]):
        done = run_process(root, *command, EDITOR="true")
        assert done.code == 0, (command, done.err)


def test_a_page_shows_markdown_and_loses_no_character(root: Path) -> None:
    seen = run_on_terminal(root, "show", "hostile", "--kind", "transcript", columns=100)
    for words in ("Vec<T>", "<script>x</script>", "<b>bold</b>", "[bold]markup[/bold]", ":smile:", "x = 1"):
        assert words in " ".join(seen.text.split()), seen.text
    assert "⟦U+0020⟧" not in seen.text, "blanks at the end of a line say nothing"
    assert "[[memory/" not in seen.text and "\n^t-" not in seen.text and "|---|" not in seen.text
    piped = run_process(root, "show", "hostile", "--kind", "transcript").out
    assert "|---|" in piped and "[[memory/" in piped and "\x1b" not in piped


def test_lists_say_how_many_there_are(root: Path) -> None:
    assert "3 of 8 sessions" in run_on_terminal(root, "list", "--limit", "3").text
    piped = run_process(root, "list", "--limit", "3")
    assert "3 of 8 sessions; `lineage list --all`" in piped.err and "of 8" not in piped.out
    assert " of 8 sessions" not in run_on_terminal(root, "list", "--all").text
    assert len(run_process(root, "list", "--all", "--json").json["sessions"]) == 8
    assert (
        "there are more: `--limit 5` shows them"
        in run_on_terminal(root, "search", "parser", "fix", "--limit", "1").text
    )


def test_a_book_of_a_project_names_its_folder(root: Path) -> None:
    seen = run_on_terminal(root, "memory", "list", columns=100)
    listed = run_process(root, "list", "--project", "reader", "--json").json["sessions"]
    assert f"project/reader · {listed[0]['project']}" in seen.lines, seen.text
    assert seen.lines.count("global") == 1


def test_stale_tasks_are_counted_apart(root: Path) -> None:
    """Beside those in use: what `show` calls stale is told to nobody."""
    for number, at in ((1, "2025-01-01T00:00:00.000Z"), (2, "2025-01-02T00:00:00.000Z")):
        with open_test_workspace(root) as ws:
            write_entry(ws, "project/old", "task", f"Wash wombat {number}.", at=at, source="user_turn")
    run_process(root, "memory", "add", "project/old", "task", "Feed the wombats.")
    assert "  task         1 in use, 2 stale" in run_on_terminal(root, "memory", "list").lines
    assert "3 entries, 2 of them stale\n" in run_process(root, "memory", "list").out


def test_books_are_listed_while_the_index_is_away(root: Path) -> None:
    seen = run_on_terminal(root, "memory", "list", columns=200, LINEAGE_INDEX="postgresql://127.0.0.1:1/nowhere")
    assert (seen.code, "project/reader" in seen.lines) == (0, True), seen.text
    assert "the folders of projects are not known: " in seen.text


def test_words_that_match_stand_without_marks_of_markdown(root: Path) -> None:
    turns = make_turns("Why?", "## Cause\n\n> [!note] **quokka** eats it\n\n```go\n   12→\tquokka()\n```")
    run_in_workspace(root, lambda ws: end_session(ws, "marks", transcript=turns), writes=True)
    text = " ".join(run_on_terminal(root, "search", "quokka", columns=200).text.split())
    assert "Cause quokka eats it quokka()" in text
    assert "[!note] **quokka**" in run_process(root, "search", "quokka").out


def test_times_are_those_of_the_machine_s_zone(root: Path) -> None:
    run_process(root, "remember", "The clock is read once.", "--kind", "fact")

    def find_minutes(zone: str) -> int:
        text = run_on_terminal(root, "memory", "show", "global", "fact", TZ=zone).text
        hours, minutes = re.findall(r"(?:today|yesterday|\d) (\d\d):(\d\d)", text)[0]
        return int(hours) * 60 + int(minutes)

    assert (find_minutes("Asia/Tokyo") - find_minutes("UTC")) % (24 * 60) == 9 * 60


def test_turns_of_a_transcript_have_times_of_the_machine_s_zone(root: Path) -> None:
    """The same turns in two zones, whose days part between them; a pipe gets the file as it is."""
    lines = {
        zone: re.findall(r"\b(\d+) · (?:user · )?((?:\d{4}-\d\d-\d\d )?)(\d\d):(\d\d):\d\d\b(?!Z)", seen.text)
        for zone in ("UTC", "Asia/Tokyo")
        if (seen := run_on_terminal(root, "show", "hostile", "--kind", "transcript", TZ=zone))
    }
    assert len(lines["UTC"]) == len(lines["Asia/Tokyo"]) > 1
    for (number, _, hours, minutes), (other, _, there, same) in zip(*lines.values(), strict=True):
        assert (number, minutes, (int(there) - int(hours)) % 24) == (other, same, 9)
    assert lines["UTC"][0][1], "the first turn has its date"
    assert re.search(r"\d\d:\d\d:\d\dZ", run_process(root, "show", "hostile", "--kind", "transcript").out)


def test_what_writes_names_the_workspace_once_it_has_written(root: Path) -> None:
    for words in (["remember", "Named at the end."], ["reindex"], ["admin", "render"], ["work"]):
        assert run_on_terminal(root, *words, columns=200).lines[-1] == f"workspace: {root}"
    for words in (["memory", "relearn", "--dry-run"], ["list"], ["reindex", "--json"]):
        assert f"workspace: {root}" not in run_on_terminal(root, *words, columns=200).text
    assert "workspace:" not in run_process(root, "reindex").out


def test_forgetting_shows_the_words_on_one_line_and_commands_that_can_be_copied(root: Path) -> None:
    text = "Ask before a dependency is added, whatever it is, and name who keeps it alive."
    made = run_process(root, "remember", "--kind", "preference", text, "--json").json
    seen = run_on_terminal(root, "memory", "forget", made["id"], columns=60)
    words, restore, again = (next(line for line in seen.lines if mark in line) for mark in ("“", "restore", "remember"))
    assert (len(words), words.startswith("  “Ask before a"), words.endswith("…”")) == (60, True, True)
    assert restore == f"    lineage memory restore {made['id']}"
    whole = f"    lineage remember --scope global --kind preference '{text}'"
    assert again + seen.lines[seen.lines.index(again) + 1] + seen.lines[seen.lines.index(again) + 2] == whole
    run_process(root, "memory", "restore", made["id"])
    run_process(root, *shlex.split(whole)[1:])
    pipe = run_process(root, "memory", "forget", made["id"]).out
    assert f"  “{text}”\n" in pipe and f"{whole}\n" in pipe


def test_colours_obey_the_environment(root: Path) -> None:
    def count_colours(seen: Seen) -> int:
        return len(re.findall(rb"\x1b\[[0-9;]*3[0-7]m", seen.data))

    assert count_colours(run_on_terminal(root, "list"))
    assert not count_colours(run_on_terminal(root, "list", NO_COLOR="1"))
    assert not count_colours(run_on_terminal(root, "list", TERM="dumb"))
    assert b"\x1b" not in run_process(root, "list", FORCE_COLOR="").out.encode()


@pytest.mark.parametrize(
    ("options", "pager", "is_paged"),
    [([], "PROGRAM", True), (["--no-pager"], "PROGRAM", False), ([], "", False), ([], "cat", False)],
)
def test_long_output_goes_through_the_pager(
    root: Path, tmp_path: Path, options: list[str], pager: str, is_paged: bool
) -> None:
    program = tmp_path / "page"
    program.write_text("#!/bin/sh\necho PAGED\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    variables = {"PAGER": pager.replace("PROGRAM", str(program))}
    for words in (["list", *options], [*options, "list"]):
        assert ("PAGED" in run_on_terminal(root, *words, rows=10, **variables).text) == is_paged
    assert "PAGED" not in run_on_terminal(root, "list", *options, rows=500, **variables).text
    assert "PAGED" not in run_process(root, "list", **variables).out


def test_a_pager_that_is_closed_early_is_no_error(root: Path, tmp_path: Path) -> None:
    program = tmp_path / "page"
    program.write_text("#!/bin/sh\nhead -c 1 >/dev/null\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    seen = run_on_terminal(root, "show", "hostile", "--kind", "transcript", rows=5, PAGER=str(program))
    assert (seen.code, seen.text) == (0, "")


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "tr_TR.UTF-8", "ar_SA.UTF-8"])
def test_a_pipe_gets_the_same_bytes_in_every_locale(root: Path, locale: str) -> None:
    for words in (
        ["list"],
        ["search", "fix"],
        ["show", "wide"],
        ["memory", "show", "global", "preference"],
        ["list", "--json"],
    ):
        there, here = run_process(root, *words, LC_ALL="C.UTF-8"), run_process(root, *words, LC_ALL=locale, LANG=locale)
        assert there == here
        assert here.code == 0


@pytest.mark.parametrize("words", [["list"], ["show", "hostile", "--kind", "transcript"], ["help"], ["--help"]])
def test_a_pipe_that_closes_ends_it_quietly(root: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "lineage", "-w", str(root), *words]
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as pipe:
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_command_on_a_line_of_its_own_is_never_broken(tmp_path: Path) -> None:
    """It is copied: a real line break would end it in its middle."""
    folder = tmp_path / "a folder whose name is long" / "and another one in it that is called my project"
    folder.mkdir(parents=True)
    with open_test_workspace(tmp_path / "ws") as ws:
        end_session(ws, "s-1", project=str(folder), harness="claude-code", transcript=make_turns("Hello", "Hi."))
    seen = run_on_terminal(tmp_path / "ws", "resume", "s-1")
    assert seen.code == 0, seen.text
    assert f"cd '{folder}' && claude --resume s-1" in seen.data.decode().splitlines()
