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
