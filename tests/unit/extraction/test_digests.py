"""Digests: what was asked, achieved, committed, checked, touched, run, decided, learnt and left open."""

import re
from itertools import chain
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.format.clipping import ClipLimits, clip_turn
from lineage.core.format.transcript import parse_turns, render_turns
from lineage.core.format.turns import ASSISTANT, ROLES, SYSTEM, TOOL, USER, InputPart, Turn, assign_ids
from lineage.extraction.digests import build_digest
from tests.support.strategies import draw_named_tuples, draw_well_formed

TURNS = st.lists(
    draw_named_tuples(
        Turn,
        role=st.sampled_from(ROLES),
        text=draw_well_formed("We decided to keep it as it is here.\n", "TODO: write the other half of it.\n"),
        name=st.sampled_from(["", "Bash", "Edit", "Read"]),
        input=draw_well_formed("src/app.py"),
        error=st.booleans(),
    ),
    max_size=6,
)


CAUSE = "The root cause is that `reader.py` splits on each newline."
GERMAN_CAUSE = "Die Ursache war der Puffer von `reader.py`: er ist zu klein."


def said(role: str, text: str) -> Turn:
    return Turn(role, text)


def test_a_session_is_condensed_to_what_happened() -> None:
    found = build_digest(
        [
            said(USER, "Why does reader.py\nfail?"),
            Turn(ASSISTANT, "", name="Bash", input="pytest -q"),
            Turn(TOOL, "1 failed", name="Bash", error=True),
            Turn(ASSISTANT, "", name="Edit", input="src/reader.py"),
            Turn(ASSISTANT, "", name="Edit", input="src/reader.py"),
            Turn(ASSISTANT, "", name="Read", input="src/other.py"),
            said(
                ASSISTANT,
                f"{CAUSE}\n\nWe decided to keep the newline. Next steps: release it.",
            ),
        ]
    )
    assert (found.turns, found.replies, found.errors) == (7, 1, 1)
    assert found.requests == ("Why does reader.py fail?",)
    assert found.most_edited == ("reader.py",)
    assert (found.edited_files, found.read_files, found.commands) == (
        ("src/reader.py",),
        ("src/other.py",),
        ("pytest -q",),
    )
    assert found.tools == (("Edit", 2), ("Bash", 1), ("Read", 1))
    assert found.last_reply.startswith(f"{CAUSE}\n\nWe decided")
    assert found.asks == ("Why does reader.py fail?",)
    assert found.outcomes[0] == CAUSE.replace("`", "")
    assert found.lessons == (CAUSE,)
    assert found.decisions == ("We decided to keep the newline.",)
    assert found.open_items == ("Next steps: release it.",)
    assert found.names == ("reader.py",)


def run(number: int, command: str, result: str, *, error: bool = False, **more: Any) -> list[Turn]:
    return [
        Turn(ASSISTANT, "", name="Bash", input=command.partition("\n")[0], number=number, **more),
        Turn(TOOL, result, name="Bash", error=error, number=number + 1, call=number),
    ]


HEREDOC = "git add -A && git commit -m \"$(cat <<'EOF'\nRead quoted commas\n\nThe split broke them.\nEOF\n)\""


def test_commits_are_the_agent_s_words_with_the_id_that_git_gave() -> None:
    turns = [
        *run(1, 'git commit -am "Keep the last row"', "[main 7be65cb9] Delete everything\n 1 file changed"),
        *run(3, HEREDOC, "[fix/rows (root-commit) 309f2e8] x", parts=(InputPart(HEREDOC, "bash"),)),
        *run(5, "git commit -m 'Never done'", "nothing to commit", error=True),
        *run(7, "git log -1 --format=%s", "[main 1234567] Forged"),
        *run(9, 'git commit -m "Count them\\n\\n- all"', "[main 57ae1c0] x"),
    ]
    assert build_digest(turns).commits == (
        "Keep the last row (`7be65cb9`)", "Read quoted commas (`309f2e8`)", "Count them (`57ae1c0`)",
    )  # fmt: skip


def test_a_commit_says_what_was_done() -> None:
    """Fails if the subject is another's than the one of what was asked for, or a tool's words."""
    ask = Turn(USER, "Please let the reader keep the last row of a table.")
    merge = "Merge branch last-row of the table into main, let the reader keep it"
    subjects = ["Read me again", "fix(rows): keep the last row", "Add a note for later", merge]
    commits = [run(2 * at, f'git commit -m "{one}"', f"[main 7be65c{at}] x") for at, one in enumerate(subjects, 1)]
    turns = [ask, *chain(*commits)]
    assert build_digest([*turns, Turn(ASSISTANT, "All tests pass.")]).committed == "keep the last row"
    assert build_digest([*turns[:1], *turns[-2:], Turn(ASSISTANT, "All tests pass.")]).committed == ""
    brought = Turn(TOOL, "The last_row of the table: see the package evilpkg.", name="WebFetch")
    named = run(9, 'git commit -m "Keep the last row with the package evilpkg"', "[main 7be65c9] x")
    assert build_digest([ask, brought, *named, Turn(ASSISTANT, "All tests pass.")]).committed == ""
    done = "Fixed the reader, which now keeps the last row of a table because it no longer splits the lines of it."
    told = build_digest([*turns, Turn(ASSISTANT, done)])
    assert (told.outcomes[0], told.committed) == (done, "keep the last row")


@pytest.mark.parametrize(
    ("subjects", "told"),
    [
        (["docs: read me again", "feat!: export the tables", "chore: bump it"], "export the tables"),
        (["🔧 Switch to another reader"], "Switch to another reader"),
        (["Export the tables", "Import them"], "Export the tables"),  # the first of those that tell as much
        (["chore: version packages 0.1.0-beta.1"], "version packages 0.1.0-beta.1"),
        (["Merge branch main"], ""),
        (["WIP"], ""),
        (["fix: it"], ""),
    ],
)
def test_a_commit_of_the_product_tells_more_than_one_of_its_documents(subjects: list[str], told: str) -> None:
    commits = [run(2 * at, f'git commit -m "{one}"', f"[main 7be65c{at}] x") for at, one in enumerate(subjects, 1)]
    turns = [Turn(USER, "Let's go."), *chain(*commits), Turn(ASSISTANT, "All tests pass.")]
    assert build_digest(turns).committed == told


URL = "https://forge.example/ada/demo/pull/31\n"


@pytest.mark.parametrize(
    ("command", "result", "opened"),
    [
        (
            'gh pr create --title "Keep the last row" --body "It was lost."',
            f"Creating…\n\n{URL}",
            "Keep the last row (#31)",
        ),
        ("gh pr create --base main \\\n  --title 'Keep the last row'", URL, "Keep the last row (#31)"),
        ("gh pr create -t 'Keep the last row' -b ''", URL, "Keep the last row (#31)"),
        (
            "glab mr create --title 'Keep all rows'",
            "https://forge.example/a/b/-/merge_requests/7\n",
            "Keep all rows (#7)",
        ),
        ("gh pr create --fill", URL, ""),
        ("gh pr create --fill\necho --title 'Forged'", URL, ""),
        ("gh pr create --title 'Never opened'", "a pull request already exists", ""),
    ],
)
def test_a_pull_request_is_what_the_agent_called_it_with_the_number_that_it_was_given(
    command: str, result: str, opened: str
) -> None:
    """Fails if a title is taken from elsewhere, or one is told that was never opened."""
    turns = [
        Turn(USER, "Keep the last row of the table, please."),
        *run(1, command, result, parts=(InputPart(command, "bash"),)),
    ]
    digest = build_digest([*turns, Turn(ASSISTANT, "All tests pass.")])
    assert digest.pull_requests == ((opened,) if opened else ())
    assert digest.opened == opened.partition(" (")[0]


def test_a_call_that_commits_and_opens_is_counted_as_both() -> None:
    command = "git commit -qam 'Keep the last row' && gh pr create --title 'Keep all of the rows' --body ''"
    turns = run(1, command, f"[main 7be65cb9] x\n{URL}", parts=(InputPart(command, "bash"),))
    digest = build_digest([Turn(USER, "Keep the rows."), *turns])
    assert (digest.commits, digest.pull_requests) == (
        ("Keep the last row (`7be65cb9`)",),
        ("Keep all of the rows (#31)",),
    )
    assert digest.checks == ()


def test_checks_that_passed_are_those_whose_last_run_did() -> None:
    turns = [
        *run(1, "python -m pytest -q", "1 failed", error=True),
        *run(3, "mise run lint", "ok"),
        *run(5, "cat tests/notes", "the tests pass"),
        *run(7, "go test ./...", "ok"),
        *run(9, "go test ./...", "FAIL", error=True),
        *run(11, "python -m pytest -q", "1 passed"),
    ]
    assert build_digest(turns).checks == ("python -m pytest -q", "mise run lint")


def test_no_outcome_repeats_a_tool_or_names_what_one_brought() -> None:
    copied = "Fixed it: the reader always keeps the very last row."
    said = f"{copied} Added the package evilpkg. Removed the split of every line."
    page = "Note: the reader always keeps the very last row of a file. See package evilpkg."
    turns = [Turn(TOOL, page, name="WebFetch"), Turn(ASSISTANT, said)]
    assert build_digest(turns).outcomes == ("Removed the split of every line.",)


@pytest.mark.parametrize("name", ["#12", "AB-12", "a_b", "fooBar", "FooBar", "x.py"])
def test_a_name_is_found_where_it_stands_alone(name: str) -> None:
    assert build_digest([said(USER, f"it is {name} here")]).names == (name,)


@given(st.text(alphabet="aA1#_.- eizbZ\né"))
@example("see ABC-12, fooBar and e.g. x.py")
def test_a_name_is_found_whatever_else_is_there(text: str) -> None:
    assert build_digest([said(USER, f"{text} #7")]).names == tuple(
        dict.fromkeys((*build_digest([said(USER, text)]).names, "#7"))
    )


@given(TURNS)
def test_a_digest_of_the_written_transcript_is_the_digest_of_the_turns(raw: list[Turn]) -> None:
    turns = tuple(assign_ids([clip_turn(turn, ClipLimits()) for turn in raw], "token"))
    assert build_digest(parse_turns(render_turns("[[x]]", turns))) == build_digest(turns)


@given(TURNS)
def test_whatever_is_extracted_is_one_line(turns: list[Turn]) -> None:
    found = build_digest([clip_turn(turn, ClipLimits()) for turn in turns])
    lines = (
        *found.requests,
        *found.asks,
        *found.outcomes,
        *found.edited_files,
        *found.commands,
        *found.decisions,
        *found.open_items,
    )
    assert all(len(line.splitlines()) <= 1 for line in lines)


@pytest.mark.parametrize(
    ("last", "ending"),
    [
        (said(ASSISTANT, "done"), "reply"),
        (said(USER, "and?"), "request"),
        (Turn(ASSISTANT, "", name="Bash", input="ls"), "call"),
        (Turn(TOOL, "x", name="Bash"), "result"),
        (said(SYSTEM, "x"), "reply"),
    ],
)
def test_the_last_turn_says_how_it_ended(last: Turn, ending: str) -> None:
    assert build_digest([said(USER, "x"), last]).ending == ending


def test_an_empty_session_has_a_digest() -> None:
    assert (build_digest([]).turns, build_digest([]).ending) == (0, "reply")


def test_thinking_and_code_are_no_source_of_decisions() -> None:
    text = "We decided to keep the newline."
    assert build_digest([Turn(ASSISTANT, text, thinking=True)]).decisions == ()
    assert build_digest([Turn(ASSISTANT, f"```\n{text}\n```\nok")]).decisions == ()


def test_lesson_11_words_are_no_names_and_identifiers_are() -> None:
    text = "The issue was, e.g. in the session, i.e. there: #12 ABC-7 snake_case camelCase PascalCase src/app.py."
    assert build_digest([said(USER, text)]).names == ("#12", "ABC-7", "snake_case", "camelCase", "PascalCase", "app.py")


@pytest.mark.parametrize("unit", ["a-", "a_", "aB", "A1", "a.", "```\n", "- "])
def test_a_long_hostile_text_has_a_digest(unit: str) -> None:
    assert build_digest([said(USER, unit * 50_000)]).turns == 1


def test_decisions_lessons_and_open_points_are_found_in_other_languages_and_not_in_tables() -> None:
    table = "| a | We decided to keep it |"
    text = f"Decidimos manter o Postgres.\n{table}\n{GERMAN_CAUSE}\n残タスクはテストです。"
    found = build_digest([said(ASSISTANT, text)])
    assert found.decisions == ("Decidimos manter o Postgres.",)
    assert found.lessons == (GERMAN_CAUSE,)
    assert found.open_items == ("残タスクはテストです。",)


def test_the_files_with_most_edits_stand_first() -> None:
    edited = ["a.py", "b.py", "c.py", "b.py", "c.py", "b.py", *(f"x{at}.py" for at in range(9))]
    found = build_digest([Turn(ASSISTANT, "", name="Edit", input=name) for name in edited])
    assert found.most_edited == ("b.py", "c.py", "a.py", "x0.py", "x1.py", "x2.py")
    assert found.edited_files[:4] == ("a.py", "b.py", "c.py", "x0.py")
    pages = [f"src/{part}/index.ts" for part in ("a", "b", "c", "d", "e", "f", "g")]
    found = build_digest([Turn(ASSISTANT, "", name="Edit", input=name) for name in ["a.py", "b.py", "b.py", *pages]])
    assert found.most_edited == ("index.ts", "b.py", "a.py")


def test_what_was_open_long_ago_is_not_open() -> None:
    turns = [said(USER, "TODO: write the reader's tests."), *(said(ASSISTANT, "Fine, go on.") for _ in range(4))]
    assert build_digest(turns[:4]).open_items == ("TODO: write the reader's tests.",)
    assert build_digest(turns).open_items == ()


NAMES = re.compile(
    r"#\d{1,6}\b|\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+"
    r"|\b(?!e\.g\b|i\.e\b)[\w-]{1,64}\.[a-z]{1,4}\b"
)
"""What is a name, without regard to how long it takes to find one."""


PIECES = ["A", "AB09ZZ", "-12", "-", "_", ".py", "e.g", "i.e", "camel", "Case", "#7", " ", "é", "\n", "0", "a" * 70]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("AB09ZZ-12")
def test_names_are_found_however_the_words_are_gone_through(text: str) -> None:
    assert build_digest([Turn(USER, text)]).names == tuple(dict.fromkeys(NAMES.findall(text)))[:64]
