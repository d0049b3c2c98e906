"""A conversation as markdown: every turn whole, read by CommonMark's own rules, with nothing live in it.

Fails without `escape_prose`, `escape_line` or the fences.
"""

from markdown_it import MarkdownIt

from lineage.core.format.turns import ASSISTANT, TOOL, USER, InputPart, Turn
from lineage.projection.conversation_md import render_conversation

LONG = "word " * 20_000
TURNS = [
    Turn(USER, "# Please\n\nmend **reader.py**.", at="2026-11-20T10:00:00.000Z", number=1),
    Turn(ASSISTANT, "Let me think.", thinking=True, number=2),
    Turn(
        ASSISTANT, "", name="Edit", input="/a/reader.py", parts=(InputPart("new\n", "python", old="old\n"),), number=3
    ),
    Turn(TOOL, f"~~~\n# no heading\n<script>alert(1)</script>\n{LONG}", name="Edit", number=4, call=3, error=True),
    Turn(ASSISTANT, "<script>alert(1)</script> [it](javascript:alert(1)) ![x](https://evil.example/x.png)", number=5),
]


def render() -> str:
    return "".join(render_conversation("A <b>title</b>", [("Session", "s-1"), ("Ended", "")], "It *works*.", TURNS))


def test_headings_are_the_turns() -> None:
    tokens = MarkdownIt().parse(render())
    headings = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
    assert len(headings) == 1 + len(TURNS)
    assert headings[1] == "1 · user · 2026-11-20 10:00"
    assert headings[2] == "2 · assistant · thinking"
    assert headings[4].startswith("4 · tool · Edit · of 3 · error")


def test_text_is_whole_and_nothing_of_it_runs() -> None:
    html = MarkdownIt().render(render())
    assert LONG.strip() in html
    assert "-old\n+new" in html
    assert "<strong>reader.py</strong>" in html
    for live in ("<script", "<img", "<a ", "<b>"):
        assert live not in html


def test_facts_without_a_value_are_left_out() -> None:
    assert "- Session: s-1\n" in render()
    assert "Ended" not in render()
