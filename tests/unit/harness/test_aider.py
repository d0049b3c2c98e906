"""aider's chat histories: many sessions in one file, told apart line by line. (harnesses.md, section 13)"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn, assign_ids
from lineage.errors import TranscriptError
from lineage.harness import aider
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.aider import discover, read
from lineage.harness.jsonl import read_bytes

SAMPLE = Path(__file__).parents[2] / "data/aider/.aider.chat.history.md"
HEADING = "\n# aider chat started at 2026-10-02 09:00:00\n\n"
NEXT = "\n# aider chat started at 2026-10-02 11:00:00\n\n"

Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads the one session of a history that goes on with another, empty one; with `last` it is the last."""

    def read_text(words: str, last: bool = False) -> Capture:
        path = tmp_path / ".aider.chat.history.md"
        path.write_bytes((HEADING + words + ("" if last else NEXT)).encode())
        return read(path, next(discover(path)).session)

    return read_text


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in capture.turns]


def read_sessions(path: Path) -> dict[str | None, Capture]:
    return {item.session: read(item.path, item.session) for item in discover(path) if item.session}


# The sample as a whole


def test_the_sample_history_holds_two_sessions() -> None:
    first, second = (read(item.path, item.session) for item in discover(SAMPLE))
    assert first.turns == (Turn(USER, "Fix the reader\nand keep CRLF"), Turn(ASSISTANT, "Here is the fix."))
    assert first.models == ("sonnet",)
    assert first.skipped == {"bookkeeping": 3}
    assert (second.turns, second.skipped) == ((), {"unfinished": 1})


def test_times_are_of_no_known_zone_and_so_none() -> None:
    first, _ = read_sessions(SAMPLE).values()
    assert (first.started_at, first.ended_at) == (None, None)
    assert [turn.at for turn in first.turns] == [None, None]
    assert (first.compactions, first.parent_session, first.forked_from) == ((), None, None)


def test_the_project_is_the_folder_of_the_history(reader: Reader, tmp_path: Path) -> None:
    assert reader("#### Fix it  \n").project == str(tmp_path.resolve())


# Which session


def test_the_sessions_of_a_history_are_found_once_and_each_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / ".aider.chat.history.md"
    history.write_text("".join(f"{HEADING}#### Fix {number}  \n" for number in range(50)) + NEXT)
    sizes = []

    def count_bytes(path: Path, start: int = 0, end: int | None = None) -> bytes:
        data = read_bytes(path, start, end)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(aider, "read_bytes", count_bytes)
    captures = read_sessions(history)
    assert [capture.turns[0].text for capture in captures.values() if capture.turns] == [
        f"Fix {number}" for number in range(50)
    ]
    assert sum(sizes) < 2 * history.stat().st_size
    history.write_text(history.read_text() + "#### And one more  \n" + NEXT)
    assert len(read_sessions(history)) == 52


def test_an_id_says_when_the_session_began_and_differs_from_file_to_file(tmp_path: Path) -> None:
    ids = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        history = tmp_path / name / ".aider.chat.history.md"
        history.write_text(HEADING + "#### Fix it  \n" + HEADING + NEXT)
        ids += [item.session or "" for item in discover(history)]
    assert len(set(ids)) == 6
    assert all(re.fullmatch(r"aider-2026-10-02-(09|11)-00-00-[0-9a-f]{10}", name) for name in ids)


def test_an_id_stays_when_the_history_grows_and_however_its_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / ".aider.chat.history.md"
    history.write_text(HEADING)
    (before,) = read_sessions(history)
    history.write_text(HEADING + "#### Fix it  \n" + NEXT)
    assert next(iter(read_sessions(history))) == before
    monkeypatch.chdir(tmp_path)
    assert next(iter(read_sessions(Path(".aider.chat.history.md")))) == before
    (tmp_path / "link.md").symlink_to(history)
    assert read(tmp_path / "link.md", before).session_id == before


def test_a_session_must_be_named_where_there_are_several(reader: Reader) -> None:
    for name in (None, "aider-2026-10-02-09-00-00-0000000000"):
        with pytest.raises(TranscriptError, match="does not hold") as caught:
            read(SAMPLE, name)
        assert "lineage import aider" in caught.value.hint


def test_a_session_that_is_alone_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "history.md").write_text(HEADING + "#### Fix it  \n\n")
    assert list_texts(read(tmp_path / "history.md")) == [(USER, "Fix it")]


def test_text_without_a_heading_is_no_history_and_nothing_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "given.md"
    path.write_text("# Notes\n\n#### Fix it\n")
    with pytest.raises(TranscriptError, match="no aider session"):
        read(path)
    for nothing in ("", "\ufeff \r\n\0"):
        path.write_text(nothing)
        assert read(path) == Capture(turns=())


def test_what_stands_before_the_first_heading_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("cut off here\n" + HEADING + "#### Fix it  \n" + NEXT + "#### Test it  \n\n")
    first, second = read_sessions(tmp_path / "a.md").values()
    assert (first.skipped, second.skipped) == ({"unknown": 1}, {})


# Whose line it is


def test_prompts_answers_and_notes_are_told_apart(reader: Reader) -> None:
    capture = reader(
        "> /usr/bin/aider --model sonnet  \n> Aider v0.90.0  \n> Main model: sonnet with diff edit format  \n"
        "> Weak model: haiku  \n> Git repo: .git with 12 files  \n> Repo-map: using 1024 tokens  \n\n"
        "#### Fix the reader  \n####   \n#### and keep CRLF  \n\n"
        "Here is the fix.\n\n```python\ndef read(p): ...\n```\n\n\n"
        "> Tokens: 1k sent, 20 received.  \n> Applied edit to src/reader.py  \n"
        "> Commit 1a2b3c4 fix: the reader  \n\n#### /exit  \n"
    )
    assert capture.turns == (
        Turn(USER, "Fix the reader\n\nand keep CRLF"),
        Turn(ASSISTANT, "Here is the fix.\n\n```python\ndef read(p): ...\n```"),
        Turn(TOOL, "Applied edit to src/reader.py", name="edit", input="src/reader.py"),
        Turn(TOOL, "Commit 1a2b3c4 fix: the reader", name="aider"),
        Turn(USER, "/exit"),
    )
    assert capture.models == ("sonnet",)
    assert capture.skipped == {"bookkeeping": 7}


def test_prompts_with_a_blank_line_between_them_are_two(reader: Reader) -> None:
    assert list_texts(reader("#### One  \n\n#### Two  \n#### lines  \n")) == [(USER, "One"), (USER, "Two\nlines")]


def test_headings_of_an_answer_are_no_prompts(reader: Reader) -> None:
    """aider ends what the user typed with a hard break; a heading of an answer has none."""
    words = "Plan:\n\n#### Delete everything\n\nDone."
    assert list_texts(reader(f"#### Plan  \n\n{words}\n\n")) == [(USER, "Plan"), (ASSISTANT, words)]


@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_what_an_answer_fences_is_its_own(fence: str, reader: Reader) -> None:
    words = f"Write:\n{fence}md\n#### Title  \n> quoted\n```\n~~\n{fence}\nand\n{fence}\n> more\n{fence}"
    if fence == "```":
        words = words.replace("```\n~~\n", "")
    capture = reader(f"#### Write it  \n\n{words}\n\n> Tokens: 9 sent.  \n\n#### Thanks  \n")
    assert list_texts(capture) == [(USER, "Write it"), (ASSISTANT, words), (USER, "Thanks")]


def test_a_fence_within_a_fence_does_not_close_it(reader: Reader) -> None:
    words = "```md\n```python\n#### Title  \n```\nDone."
    assert list_texts(reader(f"#### Write it  \n\n{words}\n\n")) == [(USER, "Write it"), (ASSISTANT, words)]


def test_a_fence_that_was_never_closed_ends_with_the_answer(reader: Reader) -> None:
    capture = reader("#### Write it  \n\n```md\n> quo\n> ^C KeyboardInterrupt  \n\n#### Again  \n\n> note\n")
    assert [role for role, _ in list_texts(capture)] == [USER, ASSISTANT, TOOL, USER, TOOL]
    assert capture.turns[1].text == "```md\n> quo"


def test_a_history_that_lost_its_hard_breaks_is_read_by_its_marks(reader: Reader) -> None:
    capture = reader("> Aider v0.90.0\n\n#### Fix it\n#### now\n\nDone.\n\n```\n> Tokens: 9 sent.\n\n#### Thanks\n")
    assert list_texts(capture) == [(USER, "Fix it\nnow"), (ASSISTANT, "Done.\n\n```"), (USER, "Thanks")]


@pytest.mark.parametrize("line", ["####", "####  ", ">", "> "])
def test_a_mark_without_words_is_counted(line: str, reader: Reader) -> None:
    capture = reader(f"{line}\n\nDone.\n")
    assert list_texts(capture) == [(ASSISTANT, "Done.")]
    assert sum(capture.skipped.values()) == 1


@pytest.mark.parametrize("line", ["#####  five  ", "####no space  ", ">no space  ", " > indented  ", "# aider chat"])
def test_what_only_resembles_a_mark_is_an_answer(line: str, reader: Reader) -> None:
    assert list_texts(reader(f"#### Hi  \n\nSo:\n{line}\nDone.\n"))[1:] == [(ASSISTANT, f"So:\n{line}\nDone.")]


def test_our_own_block_is_stripped_from_prompts(reader: Reader) -> None:
    words = "#### <lineage-context>  \n#### old  \n#### </lineage-context>  \n#### Fix it  \n"
    assert list_texts(reader(words)) == [(USER, "Fix it")]


def test_line_ends_and_damage_are_taken_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    data = (HEADING + "#### Fix it  \n\n#### So:\nDone.\u2028Really.\n" + NEXT).replace("\n", "\r\n").encode()
    path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"Done", b"D\xffne"))
    first, _ = read_sessions(path).values()
    assert list_texts(first) == [(USER, "Fix it"), (ASSISTANT, "#### So:\nD\ufffdne.\u2028Really.")]


CHATTER = (
    "Add src/reader.py to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y",
    "Added src/reader.py to the chat",
    "Create new file? (Y)es/(N)o [Yes]: y",
    "https://aider.chat/docs/troubleshooting/edit-errors.html",
)


def test_what_aider_asks_and_says_of_itself_is_no_turn_and_moves_no_id(reader: Reader) -> None:
    """What captures hold keeps its id: they counted these lines, and a place is a part of an id."""
    chatter = [f"> {line}  \n\n" for line in CHATTER]
    plain = "> Two tests failed  \n\n"  # counts as a turn then and now
    blocks = [
        *chatter[:2],
        "#### Fix it  \n\n",
        chatter[2],
        "Done.\n\n",
        "> Applied edit to a.py  \n\n",
        chatter[3],
        plain,
    ]
    capture = reader("".join(blocks))
    assert [turn.text for turn in capture.turns] == ["Fix it", "Done.", "Applied edit to a.py", "Two tests failed"]
    assert capture.skipped == {"bookkeeping": 4}
    before = reader("".join(plain if block in chatter else block for block in blocks))
    ids = {turn.text: turn.id for turn in assign_ids(before.turns, "token")}
    assert [turn.id for turn in assign_ids(capture.turns, "token")] == [ids[turn.text] for turn in capture.turns]


# Growth


@pytest.mark.parametrize(
    ("words", "shown", "unfinished"),
    [
        ("#### Fix it  \n", [], 1),
        ("#### Fix it  \n\n", [USER], 0),
        ("#### Fix it  \n\nDone.\n\n", [USER], 1),
        ("#### Fix it  \n\nDone.\n\n> Commit 1a2b3c4  \n", [USER, ASSISTANT, TOOL], 0),
        ("#### Fix it  \n\nDone.\n\n> Commit 1a2", [USER], 1),
        ("", [], 0),
    ],
)
def test_what_may_still_grow_waits(words: str, shown: list[str], unfinished: int, reader: Reader) -> None:
    capture = reader(words, last=True)
    assert [turn.role for turn in capture.turns] == shown
    assert capture.skipped.get("unfinished", 0) == unfinished


LINES = st.sampled_from(
    [
        "", "#### Fix it  ", "#### now", "####", "> Aider v0.90  ", "> quoted", "> Applied edit to a.py  ", ">",
        "Done.", "```", "~~~", "  ", "# aider chat started at 2026-10-02 09:00:00",
        "# aider chat started at 2026-10-02 09:00:0",
        "# aider chat started at 2026-10-02 11:00:00 or so", "\u2028ü\r",
    ]
)  # fmt: skip


@pytest.mark.slow
@given(lines=st.lists(LINES, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_history_that_grows_byte_by_byte_only_ever_adds_turns(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    data = (HEADING + "\n".join(lines)).encode()
    earlier: dict[str | None, Capture] = {}
    for end in range(len(HEADING), len(data) + 1):
        path.write_bytes(data[:end])
        now = read_sessions(path)
        assert list(now)[: len(earlier)] == list(earlier)
        for name, capture in earlier.items():
            assert now[name].turns[: len(capture.turns)] == capture.turns
        earlier = now


# Finding


def test_the_history_is_where_the_environment_says() -> None:
    home = Path("/home/ada")
    assert list_history_roots("aider", home, {}) == []
    assert list_history_roots("aider", home, {"AIDER_CHAT_HISTORY_FILE": "/home/ada/history.md"}) == [
        home / "history.md"
    ]


def test_found_lists_the_sessions_of_every_history_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".aider.chat.history.md").write_bytes(SAMPLE.read_bytes())
        (tmp_path / name / "README.md").write_text("# aider chat started at 2026-10-02 09:00:00\n")
    (tmp_path / "b/.aider.chat.history.md").write_text("not one")
    (tmp_path / "link.aider.chat.history.md").symlink_to(SAMPLE)
    listed = list(discover(tmp_path))
    assert [item.path.parent.name for item in listed] == ["a", "a", "b"]
    assert [(item.session or "none")[:19] for item in listed] == ["aider-2026-10-02-09", "aider-2026-10-02-11", "none"]
    assert listed[2] == SessionLocation(tmp_path / "b/.aider.chat.history.md")
    assert list(discover(tmp_path / "nowhere")) == []


# What aider logs as a prompt


@pytest.mark.parametrize(
    ("history", "roles"),
    [
        ("#### Plan it  \n\nDo a.\n\nThen b.\n\n> Edit? y  \n\n#### Do a.  \n####   \n#### Then b.  \n\n", "uats"),
        ("#### /ask What is it?  \n\n#### What is it?  \n\nA reader.\n\n#### What is it?  \n\n", "usau"),
        ("#### <blank>  \n\n#### Fix it  \n\n", "su"),
        ("#### /lint  \n\n#### # Fix any errors below, if possible.  \n####   \n#### a.py:1  \n\n", "us"),
        ("#### Fix it  \n\n#### Fix it  \n\n", "uu"),
        ("#### /run  \n\n#### run  \n\n", "uu"),
    ],
    ids=["a plan for its editor", "a command's words", "nothing", "a linter's errors", "twice", "no command's words"],
)  # fmt: skip
def test_what_aider_hands_on_is_nobodys_words_and_keeps_its_id(history: str, roles: str, reader: Reader) -> None:
    turns = reader(history).turns
    assert "".join(turn.role[0] for turn in turns) == roles
    spoken = [turn._replace(role=USER, name="") for turn in turns]
    assert [turn.id for turn in assign_ids(turns, "t")] == [turn.id for turn in assign_ids(spoken, "t")]
    assert {turn.name for turn in turns if turn.role == SYSTEM} <= {"prompt"}
