"""Pieces of Markdown that mean something to one of its readers, to be thrown together."""

FRAGMENTS = (
    "`", "``", "```", "~~~", "\n", "\n\n", " ", "  ", "    ", "[[x]]", "![[y]]", "#tag", "# h", "$a$", "$$", "<b>",
    "<%", "%%", "%", "\\", "\\\\", "|", "---", "===", "- ", "1. ", "> ", "a", "http://x.y", "www.x.y", "a@b.c", "::",
    "k:: v", "^id", "[a](b)", "![i](u)", "[a]: b", "[^1]", "- [ ] t", "\t", "\r", "⟦U+000D⟧", "⟦", "= x", "$= y",
    "dataviewjs", "js", "mermaid", "&lt;", "INPUT[", "|---|", "\u2028", "\u200b", "é", "x", "| a | b |\n|---|---|\n",
    "```js\n", "\n```\n", "   ```\n", "\n   ```\n", "- x\n", "*", "**", "_", "==", "~~", "1) ", "+ ", "  - ", "#1",
    "#1a", "/", ":",
)  # fmt: skip
