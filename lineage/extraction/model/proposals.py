"""A model's proposals for memory. Each rests on a quote, and the quote has to be in a turn (lessons: 18)."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lineage.core.base.normalize import normalize_text
from lineage.core.format.sentence import strip_markup
from lineage.core.format.tool_overlap import ToolEvidence
from lineage.core.format.turns import Turn
from lineage.extraction.candidates import Candidate, attribute_quote
from lineage.extraction.model import prompts
from lineage.extraction.model.parse_answer import Clean, clean_answer
from lineage.extraction.model.port import MemoryProposals, Model, ParsedAnswer
from lineage.extraction.sentence_kinds import KINDS

TASK = "memory"
UNPARSABLE = "unparsable"
UNKNOWN_KIND = "kind"
UNKNOWN_QUOTE = "nobody said the quote"
DUPLICATE = "repeated"
TOO_MANY = "too many"
REASONS = (UNPARSABLE, UNKNOWN_KIND, UNKNOWN_QUOTE, DUPLICATE, TOO_MANY)  # the reasons for dropping a line of an answer

_FENCE = re.compile(r"^\s*`{3,}\w*\s*$", re.MULTILINE)
_COLUMNS = ("kind", "quote", "text")

ProposalRow = tuple[str, str, str]


def request_proposals(
    turns: Sequence[Turn], model: Model, clean: Clean, evidence: ToolEvidence | None = None
) -> MemoryProposals:
    """Return the model's proposals for these turns, in its order; none without an answer."""
    prompt = prompts.build_proposals_prompt(turns, model.max_chars)
    return (
        model.ask(TASK, prompt, partial(parse_proposals, turns=turns, clean=clean, evidence=evidence))
        or MemoryProposals()
    )


def parse_proposals(
    answer: str, turns: Sequence[Turn], clean: Clean, evidence: ToolEvidence | None = None
) -> ParsedAnswer[MemoryProposals]:
    """Return the proposals in an answer: lines `kind | quote | text`, or JSON.

    An unknown kind is dropped, never turned into another.
    """
    candidates: dict[tuple[str, str], Candidate] = {}
    dropped: Counter[str] = Counter()
    for number, row in enumerate(_parse_rows(clean_answer(answer, clean))):
        result = _parse_row(row, turns, evidence) if number < prompts.MAX_PROPOSALS else TOO_MANY
        if isinstance(result, str):
            dropped[result] += 1
        elif (result.kind, normalize_text(result.text)) in candidates:
            dropped[DUPLICATE] += 1
        else:
            candidates[result.kind, normalize_text(result.text)] = result
    complaint = "nothing usable" if dropped and not candidates else ""
    return ParsedAnswer(MemoryProposals(tuple(candidates.values()), dropped), complaint)


def _parse_row(row: ProposalRow | None, turns: Sequence[Turn], evidence: ToolEvidence | None) -> Candidate | str:
    """Return a row's candidate, or the reason to drop the row."""
    if row is None:
        return UNPARSABLE
    kind, quote, text = row
    if kind not in KINDS:
        return UNKNOWN_KIND
    # The session's words stay as they are; the model's own lose their markup.
    is_verbatim = normalize_text(text) in normalize_text(quote)
    line = text if is_verbatim else strip_markup(text)
    return attribute_quote(kind, line, quote, turns, evidence) or UNKNOWN_QUOTE


def _parse_rows(text: str) -> Iterator[ProposalRow | None]:
    """Yield the rows of an answer in either form, None for an unreadable one."""
    text = _FENCE.sub("", text).strip()
    if text.strip(" .").upper() in ("", prompts.NOTHING):
        return
    rows = _parse_json(text)
    if isinstance(rows, list):
        yield from map(_row_from_object, rows)
        return
    for line in filter(str.strip, text.split("\n")):
        yield _row_from_object(_parse_json(line)) if line.lstrip().startswith("{") else _row_from_line(line)


def _row_from_object(value: Any) -> ProposalRow | None:
    if not isinstance(value, dict):
        return None
    kind, quote, text = (value.get(name) for name in _COLUMNS)
    if not (isinstance(kind, str) and isinstance(quote, str) and isinstance(text, str)):
        return None
    return kind.strip().lower(), quote, text


def _row_from_line(line: str) -> ProposalRow | None:
    parts = [part.strip() for part in line.strip().strip("|").split("|")]
    if len(parts) != len(_COLUMNS) or not all(parts):
        return None
    return parts[0].strip("-*•` ").lower(), parts[1], parts[2]


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
