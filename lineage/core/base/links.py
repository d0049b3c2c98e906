"""Wikilinks, and the one escaping function for values in rendered lines (architecture: law 4)."""

import re

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SPACE = re.compile(r"[\s\u0085\u2028\u2029]+")
_SPECIAL = re.compile(r"(?<!\[)\[REDACTED:[\w.-]+\](?![\](\[:])|[\\\[\]|^`<]|#(?=[^\s\d#])|&(?=lt;|amp;|#96;)")
_RISKY = re.compile(r"[\\\[\]|^`<#&]")  # nothing else can be special, and this is quicker to look for
_ENTITIES = {"<": "&lt;", "`": "&#96;", "&": "&amp;"}
_ESCAPED = re.compile(r"\\([\\\[\]|^#])|&(lt|amp|#96);")


def to_one_line(text: str) -> str:
    """Return the text as one line: runs of white space become a space, control and bidi characters go."""
    line = text.replace("\n", " ")
    if line.isprintable():  # the only printable white space is the space
        return " ".join(line.split()) if "  " in line else line.strip()
    return _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()


def escape_markdown(value: str) -> str:
    r"""Return a value that cannot open or close a link, tag, cell, code or HTML in a rendered line.

    >>> escape_markdown("a ]] | [[b]] <script> #tag #12")
    'a \\]\\] \\| \\[\\[b\\]\\] &lt;script> \\#tag #12'
    """
    return escape_markdown_line(to_one_line(value))


def escape_markdown_line(line: str) -> str:
    """Escape a text that is one line already, and keep its outer spaces."""
    # The only long match is the mark of a redaction: it stays as it is, so that a search finds it.
    return (
        _SPECIAL.sub(lambda m: m[0] if len(m[0]) > 1 else _ENTITIES.get(m[0], "\\" + m[0]), line)
        if _RISKY.search(line)
        else line
    )


def unescape_markdown(line: str) -> str:
    """Undo `escape_markdown` for a text that is one line already."""
    if "\\" not in line and "&" not in line:
        return line
    return _ESCAPED.sub(lambda m: m[1] or {"lt": "<", "amp": "&", "#96": "`"}[m[2]], line)


def find_target(link: str) -> str:
    """Return what a wikilink points at: a path, with `#` and a place in it if it names one.

    >>> find_target("[[memory/x--summary.md#^t-1|summary]]")
    'memory/x--summary.md#^t-1'
    """
    return link.strip("[]").partition("|")[0]


def wikilink(path: str, label: str | None = None) -> str:
    """Return an Obsidian link relative to the workspace root (spec: workspace root).

    >>> wikilink("memory/x--summary.md", "summary")
    '[[memory/x--summary.md|summary]]'
    """
    return f"[[{path}|{label}]]" if label else f"[[{path}]]"
