"""The summary's and the compaction's body: complete where there is something to say, inert whatever it says."""

import re

from hypothesis import example, given

from lineage.core.base.links import to_one_line
from lineage.core.base.markdown import restore_prose
from lineage.core.format.digest import Digest
from lineage.core.format.summary import render_compaction, render_summary
from tests.support.strategies import draw_texts

SIBLINGS = "[[memory/x--transcript.md|transcript]]"
SPAN = re.compile(r"(?<![`\\])(?:\\\\)*(`+)(?!`)(.+?)(?<!`)\1(?!`)")
"""A code span of markdown: it ends with as many backticks as it begins with, and an escaped backtick begins none."""

FULL = Digest(
    turns=4,
    requests=("Why?",),
    replies=2,
    last_reply="Because.\n\n# Really\n\n```\nno end",
    commits=("Read with csv.reader (`7be65cb`)",),
    checks=("pytest -q",),
    edited_files=("a.py",),
    commands=("pytest -q",),
    tools=(("Bash", 3), ("Edit", 1)),
    errors=2,
    decisions=("We use x.",),
    lessons=("The root cause is y.",),
    open_items=("TODO z",),
    ending="request",
)


def headings(body: str) -> list[str]:
    return re.findall(r"^## (.*)$", body, re.MULTILINE)


def test_an_extracted_summary_has_every_section() -> None:
    assert headings(render_summary(SIBLINGS, "T", FULL, None)) == [
        "Asked", "Outcome", "Commits", "Checks that passed", "Work", "Files touched", "Commands run", "Decisions",
        "Lessons", "Open",
    ]  # fmt: skip


def test_the_agent_s_last_message_stands_in_full_whatever_is_in_it() -> None:
    body = render_summary(SIBLINGS, "T", FULL, None)
    assert "> [!agent]\n> Because.\n>\n> " in body
    assert "\n> no end\n\n## Commits\n\n- Read with csv.reader (`7be65cb`)\n" in body


def test_a_narrative_takes_the_place_of_what_was_counted() -> None:
    body = render_summary(SIBLINGS, "T", FULL, "It was fixed.\n")
    assert body.startswith(f"{SIBLINGS}\n\n# T\n\nIt was fixed.\n\n## Asked\n")
    assert "Work" not in headings(body)


def test_an_empty_session_has_a_summary_too() -> None:
    assert headings(render_summary(SIBLINGS, "T", Digest(), None)) == ["Outcome", "Work"]


def test_of_a_last_message_that_repeats_a_tool_the_summary_says_so_and_what_came_before() -> None:
    body = render_summary(SIBLINGS, "T", Digest(replies=2, outcomes=("The reader is fixed.",)), None)
    assert "repeats what a tool printed; the transcript has it.\n\n- “The reader is fixed.”\n" in body
    assert "The agent said nothing." not in body
    assert "The agent said nothing." in render_summary(SIBLINGS, "T", Digest(), None)


def test_a_long_section_is_cut_and_says_so() -> None:
    body = render_summary(SIBLINGS, "T", Digest(requests=tuple(f"q{number}" for number in range(20))), None)
    assert "q11”" in body
    assert "q12”" not in body
    assert "- … and 8 more, in the transcript" in body


@example("<%* tp %>")
@example("a `= x` `<% y %>` [[z]]")
@example("~~~`=`")
@example("```dataviewjs\n<%* x %>")
@example("`=``")
@given(draw_texts("`", "`= x`", "`$= x`", "=", "$="))
def test_nothing_that_was_said_links_runs_or_adds_a_heading(text: str) -> None:
    line = to_one_line(text) or "x"
    digest = Digest(
        requests=(line,), last_reply=line, edited_files=(line,), commands=(line,), decisions=(line,), open_items=(line,)
    )
    body = render_summary(SIBLINGS, text, digest, None).removeprefix(SIBLINGS)
    assert headings(body) == ["Asked", "Outcome", "Work", "Files touched", "Commands run", "Decisions", "Open"]
    assert "<%" not in body
    spans = SPAN.findall(re.sub(r"^> ~~~.*", "", body, flags=re.MULTILINE))  # nothing is a span where a fence opens
    assert not [code for _, code in spans if code.lstrip().startswith(("=", "$"))]
    message = "\n".join(re.findall(r"^> ?(.*)$", body, re.MULTILINE)[1:])
    assert restore_prose(message) == line  # in the form of transcripts: `test_markdown` holds that nothing in it runs
    ours = re.sub(r"^>.*$", "", body, flags=re.MULTILINE)
    assert not re.search(r"\[\[|\]\]|<script", SPAN.sub("", ours))


@given(draw_texts())
def test_a_narrative_and_a_compaction_are_defused(text: str) -> None:
    for body in (render_summary(SIBLINGS, "T", Digest(), text), render_compaction(SIBLINGS, "T", text)):
        rest = body.removeprefix(SIBLINGS)
        assert not re.search(r"!\[\[|<script|<%|`\$?=|^---[ \t]*$", rest, re.MULTILINE)
