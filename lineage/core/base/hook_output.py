"""The output of a SessionStart hook: the context block in each harness's own format (harnesses.md 0.4).

The hook path imports this module, so it imports only `json`, for the hook's payload needs that anyway.
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
    # read by lineage's own plug-ins
    "opencode": ('{"context":%s}\n', "utf-16-le", 20_000),
    "openclaw": ('{"context":%s}\n', "utf-16-le", 20_000),
    "pi": ('{"context":%s}\n', "utf-16-le", 20_000),
}
"""By harness: the line of JSON around the text, an encoding, and the limit of the text in bytes of that encoding.

Harnesses without a documented limit have Claude Code's. Any other harness ignores the stdout of a hook."""

MAX_TOKENS = 2_400
"""The tokens that fit every harness, as `core.capture.budget` counts them: at least a fourth of the bytes."""


def format_hook_output(harness: str, text: str) -> str:
    r"""Return the output that makes `text` context of a new session: a line of ASCII, or "" for nothing.

    The text stands between markers that `strip_injections` takes out of transcripts.

    >>> format_hook_output("cursor", "Earlier sessions: none.")
    '{"additional_context":"<lineage-context>\\nEarlier sessions: none.\\n</lineage-context>"}\n'
    """
    if harness not in OUTPUT_FORMATS or not text.strip():
        return ""
    line, encoding, limit = OUTPUT_FORMATS[harness]
    frame = f"{CONTEXT_OPENING}\n%s\n{CONTEXT_CLOSING}"
    # A marker within the text would end the block early.
    text = text.strip("\n").replace(CONTEXT_OPENING, "<lineage context>").replace(CONTEXT_CLOSING, "</lineage context>")
    text = text.encode("utf-8", "replace").decode()
    data, limit = text.encode(encoding), limit - len((frame % "").encode(encoding))
    if len(data) > limit:
        text = data[: limit - len(CUT_NOTE.encode(encoding))].decode(encoding, "ignore")
        text = (text.rpartition("\n")[0] if "\n" in text else text) + CUT_NOTE
    return line % json.dumps(frame % text)
