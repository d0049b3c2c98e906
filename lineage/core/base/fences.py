"""Fences: text that Obsidian shows and never runs. (format: Bodies)"""

import re

_RUN = re.compile(r"~{3,}|`{3,}")
_EXECUTABLE = re.compile(
    r"""(?P<fence>^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:`{3,}|~{3,}))[ \t]*
        (?=dataview|dataviewjs|templater|js-engine|meta-bind|run-|button|query)
      | (?P<embed>!)(?=\[\[)
      | (?P<tag><)(?=%|/?(?:script|iframe|object|embed|style|svg|img|link|meta|form|base)\b)
      | (?P<inline>`)(?=\$?=)
      | (?P<rule>^---)(?=[ \t]*$)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)


def fence_text(text: str, info: str = "") -> str:
    """The text inside a tilde fence longer than any fence in it."""
    has_run = "~~~" in text or "```" in text  # few texts have one, and looking for it takes longer than this
    longest = max((len(run) for run in _RUN.findall(text)), default=2) if has_run else 2
    fence = "~" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def parse_fence_opening(line: str) -> tuple[str, str] | None:
    """The fence that a line opens and its info string, None where it opens none."""
    if not line.startswith("~~~"):
        return None
    info = line.lstrip("~")
    return line[: len(line) - len(info)], info


def neutralize_markdown(text: str) -> str:
    r"""Unfenced text in which nothing runs or embeds: a backslash, an entity or a word stands visibly in the way.

    What stands in the way comes after the text's own first character, so that a backslash before it can't undo it.

    >>> neutralize_markdown("![[secret]] <%* tp %>")
    '!\\[[secret]] &lt;%* tp %>'
    """

    def broken(match: re.Match[str]) -> str:
        if match["tag"]:
            return "&lt;"
        if match["fence"]:
            return f"{match['fence']}text "
        if match["inline"]:
            return "&#96;"
        return "!\\" if match["embed"] else "\\---"

    return _EXECUTABLE.sub(broken, text)
