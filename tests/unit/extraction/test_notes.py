"""Parsing of flat notes: the kinds of sections, entries of their own, and that no line is lost.

Fails without `_parse_timed_part`, `_block_starts`, `_group_by_size`, `_is_same_date` and `_headings` of notes.py, the
folding, the words and the similarity in `find_section_kind` of sections.py.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.extraction.admission_policy import MAX_NOTE_LENGTH
from lineage.extraction.notes import parse_notes
from lineage.extraction.sections import find_section_kind
from tests.support.parametrize import each


def found(text: str, kind: str | None = None, fallback: str = "lesson") -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in parse_notes(text, kind, fallback)]


@each(
    ("title", "kind"),
    [
        ("Decisões", ("decision", True)),
        ("DECISOES TECNICAS:", ("decision", True)),
        ("🧭 Decisions", ("decision", True)),
        ("Decisions of 2026", ("decision", False)),
        ("Notas de Sessão", ("lesson", True)),
        ("Aprendizados", ("lesson", True)),
        ("Findings", ("lesson", True)),
        ("Contexto de Projeto", ("project", True)),
        ("Handoffs", ("handoff", True)),
        ("Tarefas", ("task", True)),
        ("Aprendizado", ("lesson", True)),
        ("Aprendisados", ("lesson", False)),
        ("Notebook setup", None),
        ("Auth", None),
        ("", None),
    ],
)
def test_a_heading_names_a_kind(title: str, kind: tuple[str, bool] | None) -> None:
    assert find_section_kind(title) == kind


def test_what_stands_above_the_first_heading_is_a_note() -> None:
    assert found("Above.\n\n# Decisions\nOne.") == [("note", "Above."), ("decision", "# Decisions\nOne.")]


def test_a_list_under_the_name_of_a_kind_is_taken_item_by_item() -> None:
    text = "## Decisões\n- Go\n  not Rust\n\n- SSE\n1. Tabs\n## About decisions\n- whole\n- list\n"
    assert found(text) == [
        ("decision", "Go\n  not Rust"),
        ("decision", "SSE"),
        ("decision", "Tabs"),
        ("decision", "## About decisions\n- whole\n- list"),
    ]
    assert parse_notes(text, None, "lesson")[0].tags == ("Decisões",)


def test_open_tasks_are_tasks_wherever_they_stand_and_done_ones_a_note() -> None:
    text = "# Auth\nText.\n- [ ] Rotate\n- [x] Done\n# Tasks\n- [ ] Ship\n- write\n# Tarefas\n- [x] Old\n"
    assert found(text) == [
        ("task", "Rotate"),
        ("lesson", "# Auth\nText.\n- [x] Done"),
        ("task", "Ship"),
        ("task", "write"),
        ("note", "# Tarefas\n- [x] Old"),
    ]


def test_headings_without_text_stay_with_what_comes_next_or_are_a_note() -> None:
    assert found("# Ann\n## Tasks\n- [ ] Ship\n## Auth\nText.") == [
        ("task", "Ship"),
        ("lesson", "# Ann\n## Auth\nText."),
    ]
    assert found("# Ann\n## Empty") == [("note", "# Ann\n## Empty")]


def test_nothing_begins_within_a_fence() -> None:
    text = "# Auth\n```sh\n# a comment\n- [ ] no task\n```\n- [ ] a task\n"
    assert found(text) == [("task", "a task"), ("lesson", "# Auth\n```sh\n# a comment\n- [ ] no task\n```")]
    assert found("- ```\n  # a comment\n  ```\n# Auth\nx", "decision")[0] == ("decision", "```\n  # a comment\n  ```")


@pytest.mark.parametrize("kind", ["daily/2026-03-28", "curated", "project", "handoff"])
def test_a_file_of_one_kind_stays_whole_by_section(kind: str) -> None:
    text = "Above.\n# Tasks\n- [ ] Ship"
    assert found(text, kind) == [(kind, "Above."), (kind, "# Tasks\n- [ ] Ship")]


def test_an_entry_ends_at_the_next_one_only_and_its_id_is_its_time() -> None:
    text = (
        "Above.\n<!-- id:1773679871839 -->\n## 2026-03-16T16:51 · #react #auto-extract\n\none\n\n---\n\n"
        "# two\n\n---\n\n"
        "<!-- id:1773679871838 -->\n## 2026-03-16T13:51\n\nthree\n"
    )
    above, three, one, two = parse_notes(text, "lesson", "lesson")
    assert (above.text, above.at) == ("Above.", None)
    assert (three.text, three.at, three.tags) == ("three", "2026-03-16T16:51:11.838Z", ())
    assert (one.text, one.at, one.tags) == ("one\n\n---", "2026-03-16T16:51:11.839Z", ("react", "auto-extract"))
    assert (two.text, two.at) == ("# two", one.at)
    assert (one.line, two.line, three.line) == (5, 9, 16)


@pytest.mark.parametrize("head", ["## 2025-03-16 · #react", "## 2026-03-16 and more", "## 2026-13-45"])
def test_a_head_that_says_something_else_is_text(head: str) -> None:
    (piece,) = parse_notes(f"<!-- id:1773679871839 -->\n{head}\n\none\n", None, "lesson")
    assert (piece.text, piece.tags) == (f"{head}\n\none", ())


def test_a_head_that_is_all_there_is_stays() -> None:
    assert found("<!-- id:1773679871839 -->\n## 2026-03-16 · #react\n---\n") == [("note", "## 2026-03-16 · #react")]


def test_an_id_that_is_no_time_is_text() -> None:
    assert found("<!-- id:7 -->\nText.\n") == [("note", "<!-- id:7 -->\nText.")]


def test_a_long_section_is_cut_between_blocks() -> None:
    blocks = [f"{number} " + "word " * 150 for number in range(10)]
    found_ = parse_notes("# Auth\n" + "\n\n".join(blocks), None, "lesson")
    assert len(found_) > 1
    assert all(len(piece.text) <= MAX_NOTE_LENGTH for piece in found_)
    assert found_[0].text.startswith("# Auth\n0 word")
    assert [piece.text for piece in parse_notes("x" * 5000, None, "lesson")] == ["x" * 5000]


LINES = st.sampled_from(
    [
        "# A {}", "## Decisions", "## About lessons {}", "### C {}", "- i {}", "  - j {}", "- [ ] t {}", "- [x] d {}",
        "1. n {}", "p {}", "  indented {}", "\tq {}", "```", "~~~ x{}", "- ```", "---", "", "", "<!-- c {} -->", "===",
        "| a {} |", "> q {}", "<!-- id:17736798718{:02} -->", "## 2026-03-16T16:51 · #tag{}",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=40), st.sampled_from([None, "decision", "task", "curated"]))
def test_every_line_is_in_a_piece_and_in_its_order(lines: list[str], kind: str | None) -> None:
    text = "\n".join(line.format(number) for number, line in enumerate(lines))
    made = parse_notes(text, kind, "lesson")
    said = [
        line for piece in made for line in (*piece.text.split("\n"), *piece.tags, *[f"#{tag}" for tag in piece.tags])
    ]
    times = {piece.at for piece in made}
    for number, line in enumerate(text.split("\n")):
        bare = line.removeprefix("- [ ] ").removeprefix("1. ").removeprefix("- ")
        is_found = {line, bare, line.removeprefix("## ")} & set(said)
        is_format = line.startswith(("<!-- id:", "---")) or line == "## Decisions" or not line.strip()
        is_head = line.startswith("## 2026-03-16T") and f"tag{number}" in said
        assert is_found or is_format or is_head, (line, said)
        assert not line.startswith("<!-- id:") or times - {None} or line in said
