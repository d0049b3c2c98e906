"""The summary's and the compaction's body. (format: Bodies)"""

import re
from collections.abc import Sequence

from lineage.core.digest import Digest
from lineage.core.fences import defused
from lineage.core.links import escaped, escaped_line
from lineage.core.wording import counted

_MOST = 12
_LONGEST = 400
_CODE = re.compile(r"`([^`]+)`")
_ENDINGS = {
    "reply": "The agent had the last word.",
    "request": "The user's last message was not answered.",
    "call": "The last tool call was not answered.",
    "result": "A tool result came last; the agent did not comment on it.",
}


def summary(siblings: str, title: str, digest: Digest, narrative: str | None) -> str:
    """The summary: `narrative` (the harness's or a model's own) where there is one, and what was extracted."""
    parts = [siblings, f"# {escaped(title)}"]
    if narrative:
        parts.append(defused(narrative.strip("\n")))
    parts += [
        _section("Asked", digest.requests, quote=True),
        "" if narrative else _section("Done", _done(digest)),
        _section("Files touched", digest.edited, code=True),
        _section("Commands run", digest.commands, code=True),
        _section("Decisions", digest.decisions),
        _section("Lessons", digest.lessons),
        _section("Open", digest.open),
        _section("How it ended", _ended(digest)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def compaction(siblings: str, title: str, text: str) -> str:
    """The compaction: the harness's summary of what it dropped from its context, defused."""
    return f"{siblings}\n\n# {escaped(title)}\n\n{defused(text.strip(chr(10)))}\n"


def _section(heading: str, items: Sequence[str], *, quote: bool = False, code: bool = False) -> str:
    if not items:
        return ""
    shown = [_item(line, quote=quote, code=code) for line in items[:_MOST]]
    if len(items) > _MOST:
        shown.append(f"- … and {len(items) - _MOST} more, in the transcript")
    return f"## {heading}\n\n" + "\n".join(shown)


def _item(text: str, *, quote: bool, code: bool) -> str:
    line = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if code:
        return f"- {_span(line.replace('`', chr(39)))}"
    return f"- “{_prose(line)}”" if quote else f"- {_prose(line)}"


def _prose(line: str) -> str:
    """A line of text in which code spans stay readable and everything else is escaped."""
    parts = _CODE.split(line)
    return "".join(_span(part) if index % 2 else escaped_line(part) for index, part in enumerate(parts))


def _span(code: str) -> str:
    """A code span that no inline query or template plug-in runs: those look at how it begins, or for `<%`."""
    marker = "› " if code.lstrip().startswith(("=", "$")) else ""
    return f"`{marker}{code.replace('<%', '< %')}`"


def _done(digest: Digest) -> Sequence[str]:
    done = [f"{counted(digest.turns, 'turn')}, of which the agent's replies: {digest.replies}"]
    if digest.tools:
        done.append("Tools: " + ", ".join(f"{name} ×{count}" for name, count in digest.tools[:_MOST]))
    if digest.errors:
        done.append(counted(digest.errors, "tool error"))
    return done


def _ended(digest: Digest) -> Sequence[str]:
    reply = [f"The agent's last words: {digest.last_reply}"] if digest.last_reply else []
    return reply if reply and digest.ending == "reply" else [_ENDINGS[digest.ending], *reply]
