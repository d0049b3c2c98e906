"""Sentences of a turn's prose: without code, tables, headings, quotes, diffs and logs.

Every pattern is linear in the length of the line: no nested repetition, and each start is tried once.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lineage.core.base.normalize import fold_text

_FENCE = re.compile(r"(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}(?!.*`)|~{3,})")
_TAG = re.compile(r"<(?!(?:br|hr|img|input|link|meta)\b)([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_DIFF = re.compile(r"diff --git |@@ -\d|(?:---|\+\+\+) [ab/]|index [0-9a-f]{7,40}\.\.")
_IN_DIFF = re.compile(r"[-+@ \\]|(?:diff|index|new file|deleted file|old mode|new mode|rename|similarity) |$")
_OPENING = re.compile(r"[`~<*+@di\d-]")  # what a fence, a tag, a diff or an item of a list begins with
_INDENTED = re.compile(r"(?: {4}|\t)\s*(?![-*+•]\s|\d{1,9}[.)]\s|\s)")
_RULE = re.compile(r"(?:=+|-{2,})\s*$")
_LEAD = re.compile(r"#{1,6} |(?:\*\*|__)[^*_]*(?:\*\*|__):?\s*$")
_LISTED = re.compile(r"\s*(?:[-*+•‣–]|\d{1,9}[.)]|\[[ xX]\])\s")
_BOLD = re.compile(r"(\*\*|__)[^*_]*\1:?$")
_NO_PROSE = re.compile(
    r"""[>|#<{}@]|\[(?![ xX]\]|[^\]]*\]\()|//|/\*|\*/|--\s
      | (?:def|class|import|const|var|function|return|public|private|export)\s[^.!?]*[(){:;=]
      | from\s\S+\simport\s | let\s\w+\s?= | (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\s
      | [$%]\s | >>>\s | [\w.-]+@[\w.-]+[:~$#%\s] | In\s\[
      | \d{4}-\d\d-\d\d[T ]\d\d: | \d\d:\d\d:\d\d
      | (?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL|NOTICE|FAILED|PASSED|npm\ ERR!)\b
      | \w*(?:Error|Exception):\s | Traceback\s | at\s\S+\( | File\s"
    """,
    re.VERBOSE,
)
_ITEM = re.compile(r"\s*(?:(?:[-*+•‣–]|\d{1,9}[.)])\s+)?(?:\[([ xX])\]\s+)?")
_QUOTED = re.compile(  # each branch begins with a character: the engine jumps from one to the next
    r"""`[^`]*` | "[^"]*" | “[^“”]*” | „[^„“”]*[“”] | «[^«»]*» | »[^«»]*« | 「[^「」]*」 | 『[^『』]*』 | ‘[^‘’]*’(?!\w)
      | '(?<!\w')[^']*'(?!\w)""",
    re.VERBOSE,
)
_STOP = re.compile(  # begins with a set of characters, for the same reason
    r"[.!?…。！？](?:(?<=[.!?…])(?<![.!?…]{2})[.!?…]*+[\"'”’»)\]*_]*+(?:\s++|$)|(?<=[。！？])[。！？]*+[」』”）]*+\s*+)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|z\.b|d\.h|u\.a|bzw|vs|cf|p\.ex|p\. ex|ej|approx|nr|dr|mr|mrs|ms|sr|sra|fig|[a-z])\.$"
)
_GOES_ON = re.compile(  # behind "etc."
    r"(?:all|and|are|at|by|can|for|from|in|into|is|of|on|or|should|that|to|when|which|will|with|e|en|et|in|oder|ou|para|"
    r"pour|und|y)\b"
)
_MAX_LEAD = 80  # characters of what leads into a list
_EMPHASIS = re.compile(r"\*+|__+|~~")
_MASK = "\ue000"


class Sentence(NamedTuple):  # a tuple: thousands are made in the hot loop of every capture
    """A sentence, and its `folded` form with quotations blotted out.

    `before` is the sentence before it and `after` what follows in its paragraph, as they stand there. `is_item` tells
    the first sentence of a list's item, `is_open_task` that of one with an empty box. `lead` is the heading or the line
    that leads into that list, "" without one.
    """

    text: str
    folded: str
    is_open_task: bool = False
    is_item: bool = False
    before: str = ""
    after: str = ""
    lead: str = ""


def split_sentences(text: str, max_length: int) -> Iterator[Sentence]:
    """Yield the sentences of a turn, in order, without those over `max_length` characters."""
    for line, lead, masked, start, spans in _split_lines(text):
        item = _ITEM.match(line)
        box = item[1] if item else None
        is_item, previous = start > len(line) - len(line.lstrip()), start
        for begin, end in spans:
            if 0 < end - begin <= max_length:
                is_first = begin == start
                before = line[previous:begin] if begin - previous <= max_length else ""
                folded = fold_without_emphasis(masked[begin:end])
                after = line[end:].rstrip() if len(line) - end <= max_length else ""
                is_first_of_item = is_item and is_first
                shown = lead if is_first_of_item and box not in ("x", "X") else ""
                yield Sentence(line[begin:end], folded, box == " " and is_first, is_first_of_item, before, after, shown)
            previous = begin


def list_sentence_texts(text: str, max_length: int) -> list[str]:
    """Return the same sentences as `split_sentences`, as texts alone."""
    return [
        line[begin:end]
        for line, _, _, _, spans in _split_lines(text)
        for begin, end in spans
        if 0 < end - begin <= max_length
    ]


def _split_lines(text: str) -> Iterator[tuple[str, str, str, int, Iterator[tuple[int, int]]]]:
    """Yield the lines of prose with their leads, with quotations masked, where each begins and its sentences are."""
    for line, lead in _prose_lines(text):
        item = _ITEM.match(line)
        start = item.end() if item else 0
        # Quotations keep their length: the spans found in the masked line are those of the line itself.
        masked = _QUOTED.sub(lambda quote: _MASK * len(quote[0]), line)
        yield line, lead, masked, start, _find_spans(masked, start)


def fold_without_emphasis(text: str) -> str:
    """Return the folded text without signs of emphasis."""
    folded = fold_text(text)
    return _EMPHASIS.sub("", folded) if "*" in folded or "_" in folded or "~" in folded else folded


def _find_spans(line: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each sentence of a line. An abbreviation ends none."""
    for stop in _STOP.finditer(line, start):
        tail = line[max(start, stop.start() - 8) : stop.start() + 1].lower()
        goes_on = _ABBREVIATION.search(tail) or (tail.endswith("etc.") and _GOES_ON.match(line, stop.end()))
        if stop[0][0] == "." and goes_on and stop.end() < len(line):
            continue
        yield start, stop.start() + len(stop[0].rstrip())
        start = stop.end()
    yield start, start + len(line[start:].rstrip())


def _prose_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of prose, items of a list with the line that leads into it."""
    lines = text.splitlines()
    blocks, lead, inner = _BlockTracker(), "", ""
    for number, line in enumerate(lines):
        if blocks.is_inside(line) or not line.strip():
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        is_rule, is_underlined = _RULE.match(line), _RULE.match(following)
        is_prose = not is_underlined and _is_prose(line)
        is_indented, is_item, is_open = line[:1].isspace(), _LISTED.match(line), line.endswith((":", "："))
        if not is_indented:  # an item may lead into a list of its own
            inner = line[is_item.end() :] if is_item and is_open and len(line) <= _MAX_LEAD else ""
        if is_prose:
            yield line, (is_indented and inner) or lead
        is_listed = is_item or is_indented  # what is indented goes on with an item
        leads = is_open and not is_item and (not is_indented or not lead)
        if not is_rule and (is_underlined or _LEAD.match(line) or leads):
            lead = line if len(line) <= _MAX_LEAD else ""
        elif (is_rule and not lines[number - 1].strip()) or (is_prose and not is_listed):
            lead = ""


def _is_prose(line: str) -> bool:
    if _INDENTED.match(line):
        return False
    stripped = line.strip()
    if " | " in stripped or "\t" in stripped or stripped.endswith((";", "{", "}", "|")):
        return False
    if _BOLD.match(stripped) or _RULE.match(stripped):
        return False
    item = _ITEM.match(line)
    return not _NO_PROSE.match(stripped) and not (item and _NO_PROSE.match(line, item.end()))


class _BlockTracker:
    """The block of several lines around a line: a fence, a tag's content or a diff."""

    def __init__(self) -> None:
        self.fence = ""
        self.tag = ""
        self.diff = False

    def is_inside(self, line: str) -> bool:
        """Return whether the next line of the text is inside a block, or opens or closes one."""
        stripped = line.strip()
        if not (self.fence or self.tag or self.diff or _OPENING.match(stripped)):
            return False  # most lines
        if self.fence:
            if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
                self.fence = ""
            return True
        if self.tag:
            if f"</{self.tag}" in line:
                self.tag = ""
            return True
        self.diff = bool(_DIFF.match(line)) or (self.diff and bool(_IN_DIFF.match(line)))
        if self.diff:
            return True
        fence, tag = _FENCE.match(stripped), _TAG.fullmatch(stripped)
        if fence:
            self.fence = fence[1]
        elif tag and not stripped.endswith("/>"):
            self.tag = tag[1]
        return bool(fence or tag)
