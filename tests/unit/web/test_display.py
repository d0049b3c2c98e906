"""What a page shows of a document: its words, without marks that only files need."""

from lineage.web import display

SUMMARY = """links
# Title

## Outcome

> [!agent]
> All tests pass.⟦U+0020⟧
>
> \\## Next
> `a\\## b`
"""


def test_a_summary_shows_no_escapes_and_headings_as_such() -> None:
    assert display.cut_summary(SUMMARY) == ("\n## Outcome\n\n> All tests pass.\n>\n> ## Next\n> `a\\## b`\n")


def test_words_lose_marks_of_markdown_and_nothing_else() -> None:
    assert display.strip_markup("## Decisions - **Use** `uv`, not a\\#b") == " Decisions - Use uv, not a#b"
    assert display.strip_markup(" C# and x > y, #12, a-b --- ") == " C# and x y, #12, a-b "
    assert display.strip_markup("C:\\new") == "C:\\new"


def test_nothing_turns_around_what_follows() -> None:
    assert display.clip_to_bytes("\u202eevil\u2066", 100) == "⟦U+202E⟧evil⟦U+2066⟧"
    assert display.show_overrides("שלום\u200f, hello") == "שלום\u200f, hello"
