"""Fenced and neutralized text: Obsidian shows it and never runs it (format: Bodies)."""

import re

CODE_MARK = "› "
"""Before the code of a span that a plug-in of Obsidian's would run: an inline query begins with `=` or `$=`."""
_MARKED_CODE = re.compile(rf"(?:`{CODE_MARK}|&\#96;)(?=[\s\ufeff]*\$?=)")  # an older version wrote the entity
_RUN = re.compile(r"~{3,}|`{3,}")
_EXECUTABLE = re.compile(
    r"""(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:`{3,}|~{3,}))[ \t]*
        (?=dataview|dataviewjs|templater|js-engine|meta-bind|run-|button|query)
      | (?P<embed>!)(?=\[\[)
      | (?P<tag><)(?=%|/?(?:script|iframe|object|embed|style|svg|img|link|meta|form|base)\b)
      | (?P<inline>`)(?=(?:[^\S\n]|\ufeff)*\$?=|(?<!```)\n(?:[^\S\n]|\ufeff)*\$?=)
      | (?P<rule>^---)(?=[ \t]*$)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)


def fence_text(text: str, info: str = "") -> str:
    """Return the text inside a tilde fence longer than any fence in it."""
    # Few texts hold a fence: the two `in` save them the slower search.
    has_run = "~~~" in text or "```" in text
    longest = max((len(run) for run in _RUN.findall(text)), default=2) if has_run else 2
    fence = "~" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def parse_fence_opening(line: str) -> tuple[str, str] | None:
    """Return the fence that a line opens and its info string, or None for any other line."""
    if not line.startswith("~~~"):
        return None
    info = line.lstrip("~")
    return line[: len(line) - len(info)], info


def unmark_code(text: str) -> str:
    """Return a text for a reader that runs no code, with the code spans that `neutralize_markdown` marked.

    >>> unmark_code(neutralize_markdown("write `=` without blanks"))
    'write `=` without blanks'
    """
    return _MARKED_CODE.sub("`", text)


def neutralize_markdown(text: str) -> str:
    r"""Return unfenced text without anything that runs or embeds, by visible escapes.

    >>> neutralize_markdown("![[secret]] <%* tp %>")
    '!\\[[secret]] &lt;%* tp %>'
    """

    # An escape comes after the first character of its match, so that a backslash before it can't undo it.
    def escape(match: re.Match[str]) -> str:
        if match["tag"]:
            return "&lt;"
        if match["fence"]:
            return f"{match['fence']}text "
        if match["inline"]:
            return f"`{CODE_MARK}"
        return "!\\" if match["embed"] else "\\---"

    return _EXECUTABLE.sub(escape, text)
