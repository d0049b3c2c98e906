"""What a model proposes to remember. The quote decides who said it, and the quote has to be there. (lessons: 18)"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lineage.core.sentence import without_markup
from lineage.core.turns import Turn
from lineage.extract.candidates import KINDS, Candidate, attributed
from lineage.extract.folding import normalized
from lineage.extract.model import prompts
from lineage.extract.model.port import Model, Proposals, Reading
from lineage.extract.model.readings import Clean, said

TASK = "memory"
UNPARSABLE = "unparsable"
KIND = "kind"
QUOTE = "nobody said the quote"
REPEATED = "repeated"
TOO_MANY = "too many"
REASONS = (UNPARSABLE, KIND, QUOTE, REPEATED, TOO_MANY)
"""Why a line of an answer is dropped."""

_FENCE = re.compile(r"^\s*`{3,}\w*\s*$", re.MULTILINE)
_COLUMNS = ("kind", "quote", "text")

Row = tuple[str, str, str]


def proposed(turns: Sequence[Turn], model: Model, clean: Clean) -> Proposals:
    """What the model would remember of these turns, in its order. Empty where there is no answer. `clean` is the
    sanitizer's `text`: an answer is sanitized again."""
    prompt = prompts.proposals(turns, model.most_chars)
    return model.ask(TASK, prompt, partial(read, turns=turns, clean=clean)) or Proposals()


def read(answer: str, turns: Sequence[Turn], clean: Clean) -> Reading[Proposals]:
    """The proposals of an answer: lines `kind | quote | text`, or JSON. An unknown kind is dropped, never turned into
    another."""
    found: dict[tuple[str, str], Candidate] = {}
    dropped: Counter[str] = Counter()
    for number, row in enumerate(_rows(said(answer, clean))):
        result = _candidate(row, turns) if number < prompts.MOST_PROPOSALS else TOO_MANY
        if isinstance(result, str):
            dropped[result] += 1
        elif (result.kind, normalized(result.text)) in found:
            dropped[REPEATED] += 1
        else:
            found[result.kind, normalized(result.text)] = result
    complaint = "nothing usable" if dropped and not found else ""
    return Reading(Proposals(tuple(found.values()), dropped), complaint)


def _candidate(row: Row | None, turns: Sequence[Turn]) -> Candidate | str:
    """A row as a candidate, or why it is none. What was said stays as it is, the model's own words lose markup."""
    if row is None:
        return UNPARSABLE
    kind, quote, text = row
    if kind not in KINDS:
        return KIND
    is_verbatim = normalized(text) in normalized(quote)
    return attributed(kind, text if is_verbatim else without_markup(text), quote, turns) or QUOTE


def _rows(text: str) -> Iterator[Row | None]:
    """The rows of an answer in either form; None for a line that is none."""
    text = _FENCE.sub("", text).strip()
    if text.strip(" .").upper() in ("", prompts.NOTHING):
        return
    whole = _json(text)
    if isinstance(whole, list):
        yield from map(_of_object, whole)
        return
    for line in filter(str.strip, text.split("\n")):
        yield _of_object(_json(line)) if line.lstrip().startswith("{") else _of_line(line)


def _of_object(value: Any) -> Row | None:
    if not isinstance(value, dict):
        return None
    kind, quote, text = (value.get(name) for name in _COLUMNS)
    if not (isinstance(kind, str) and isinstance(quote, str) and isinstance(text, str)):
        return None
    return kind.strip().lower(), quote, text


def _of_line(line: str) -> Row | None:
    parts = [part.strip() for part in line.strip().strip("|").split("|")]
    if len(parts) != len(_COLUMNS) or not all(parts):
        return None
    return parts[0].strip("-*•` ").lower(), parts[1], parts[2]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
