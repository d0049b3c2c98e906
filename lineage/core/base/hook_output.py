"""The output of a hook: text as context in each harness's own format (harnesses.md 0.4), between lineage's markers.

The hook path imports this module, so it is light.
"""

from lineage.core.base.scan_json import quote_json

CONTEXT_OPENING = "<lineage-context>"
CONTEXT_CLOSING = "</lineage-context>"
CONTEXT_MARKERS = (
    (CONTEXT_OPENING, CONTEXT_CLOSING),
    ("<hook_context>&lt;lineage-context&gt;", "&lt;/lineage-context&gt;</hook_context>"),
    ("&lt;lineage-context&gt;", "&lt;/lineage-context&gt;"),
)
"""The markers of lineage's own blocks: as they are given, as Gemini CLI puts them into a prompt, and quoted of it."""

CUT_NOTE = "\n… (the rest is in the workspace)"

_EVENT = "EVENT"
MAX_TOKENS = 2_400
"""The tokens that fit every harness, as `core.capture.budget` counts them: at least a fourth of the bytes."""


def format_hook_output(output: "tuple[str, str, int] | None", text: str, event: str = "SessionStart") -> str:
    r"""Return the output that makes `text` context of a session: a line of ASCII, or "" for nothing.

    `output` is the harness's form: a line around `%s`, an encoding, the limit in bytes of it; None if nobody reads it.
    The text stands between markers that `strip_injections` takes out of transcripts.

    >>> format_hook_output(('{"additional_context":%s}\n', "utf-8", 9_000), "Earlier sessions: none.")
    '{"additional_context":"<lineage-context>\\nEarlier sessions: none.\\n</lineage-context>"}\n'
    """
    if output is None or not text.strip():
        return ""
    line, encoding, limit = output
    frame = f"{CONTEXT_OPENING}\n%s\n{CONTEXT_CLOSING}"
    # A marker within the text would end the block early.
    text = text.strip("\n").replace(CONTEXT_OPENING, "<lineage context>").replace(CONTEXT_CLOSING, "</lineage context>")
    text = text.encode("utf-8", "replace").decode()
    data, limit = text.encode(encoding), limit - len((frame % "").encode(encoding))
    if len(data) > limit:
        text = data[: limit - len(CUT_NOTE.encode(encoding))].decode(encoding, "ignore")
        text = (text.rpartition("\n")[0] if "\n" in text else text) + CUT_NOTE
    return line.replace(_EVENT, event) % quote_json(frame % text)


def strip_blocks(text: str, markers: tuple[tuple[str, str], ...] = CONTEXT_MARKERS) -> str:
    """Return the text without its closed blocks. The gap after a block at the start of a line goes too."""
    for opening, closing in markers:
        text = _strip_blocks(text, opening, closing)
    return text


def _strip_blocks(text: str, opening: str, closing: str) -> str:
    # One pass with `find`: a regular expression takes quadratic time for unclosed blocks.
    parts, position, begins_line = [], 0, True
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        if start > position:
            begins_line = text[start - 1] == "\n"
        parts.append(text[position:start])
        position = end + len(closing)
        gap = position
        while begins_line and text[gap : gap + 1] in (" ", "\t", "\n"):
            gap += 1
        position = text.rfind("\n", position, gap) + 1 or gap
    return "".join(parts) + text[position:]
