"""SessionStart's answer: the context block in a harness's own output shape, within its limit. (harnesses.md 0.4)

The doorbell imports this: the standard library only, and of that only what reading the payload needs anyway.
"""

import json

CONTEXT_OPENING = "<lineage-context>"
CONTEXT_CLOSING = "</lineage-context>"
CUT_NOTE = "\n… (the rest is in the workspace)"

_HOOK = '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":%s}}\n'

OUTPUT_FORMATS: dict[str, tuple[str, str, int]] = {
    "claude-code": (_HOOK, "utf-16-le", 20_000),  # 10,000 characters, as JavaScript counts them
    "codex": (_HOOK, "utf-8", 9_600),  # about 2,500 tokens, a token being four bytes
    "gemini": (_HOOK, "utf-16-le", 20_000),
    "qwen": (_HOOK, "utf-16-le", 20_000),
    "cursor": ('{"additional_context":%s}\n', "utf-16-le", 20_000),
    "copilot": ('{"additionalContext":%s}\n', "utf-16-le", 20_000),
}
"""By harness: the line of JSON around the text, and the limit of the text as bytes in an encoding. Harnesses without a
documented limit have Claude Code's; those that are not here take nothing from a hook's stdout."""

MAX_TOKENS = 2_400
"""What every harness takes whole, as `core.budget` counts: never fewer than a fourth of the characters or bytes."""


def format_hook_output(harness: str, text: str) -> str:
    """What a SessionStart hook prints so that `text` becomes context: one line of ASCII with its end, "" where there is
    nothing to say or the harness takes nothing. The text stands between markers that `strip_injections` knows.

    >>> format_hook_output("cursor", "Earlier sessions: none.")
    '{"additional_context":"<lineage-context>\\\\nEarlier sessions: none.\\\\n</lineage-context>"}\\n'
    """
    if harness not in OUTPUT_FORMATS or not text.strip():
        return ""
    line, encoding, limit = OUTPUT_FORMATS[harness]
    frame = f"{CONTEXT_OPENING}\n%s\n{CONTEXT_CLOSING}"
    body = _clip(_escape_markers(text), encoding, limit - len((frame % "").encode(encoding)))
    return line % json.dumps(frame % body)


def _escape_markers(text: str) -> str:
    """The text without markers of its own, which would end the block early, and without what is no Unicode."""
    text = text.strip("\n").replace(CONTEXT_OPENING, "<lineage context>").replace(CONTEXT_CLOSING, "</lineage context>")
    return text.encode("utf-8", "replace").decode()


def _clip(text: str, encoding: str, limit: int) -> str:
    """At most `limit` bytes of the text, cut after a whole line where there is one, with a note that it was cut."""
    data = text.encode(encoding)
    if len(data) <= limit:
        return text
    kept = data[: limit - len(CUT_NOTE.encode(encoding))].decode(encoding, "ignore")
    return kept[: kept.rfind("\n") if "\n" in kept else len(kept)] + CUT_NOTE
