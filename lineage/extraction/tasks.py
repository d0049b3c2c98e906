"""Which open tasks a session has done: its outcome names them (usefulness: What is learned).

The words of the agent's last message decide, and the files that the session edited. Sentences about what is left,
planned or failed name no task that is done. Silence leaves a task open.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lineage.core.base.about import FILE, split_subject
from lineage.core.format.turns import ASSISTANT, Turn
from lineage.extraction.amendments import measure_overlap
from lineage.extraction.calls import EDITS, get_tool_name, list_call_files
from lineage.extraction.sentences import split_sentences

_MAX_LENGTH = 400
_MIN_SHARE, _MIN_SHARE_IN_FILES, _MIN_WEIGHT = 0.7, 0.5, 2
_LEFT = re.compile(
    r"\b(?:todo|to do|next|later|still|remain\w*|left|open|not yet|pending|follow[- ]?up|will|would|should|could"
    r"|need\w*|must|plan\w*|if|unless|want|shall|let me|going to|fail\w*|couldn't|can't|didn't|haven't|isn't|wasn't"
    r"|not|without|tried|abort\w*|crash\w*|broke|broken|gave up|roll\w* back|revert\w*|abgebrochen|annule"
    r"|noch|offen|spater|muss|sollte|fehlt|nicht|reste|encore|pas|plus tard|devra|falta|pendiente|todavia"
    r"|queda|ainda|pendente|depois|nao|no)\b|[?？]$|まだ|残|未|還|还没|尚未|待|需要"
)
_DOING = re.compile(
    r"\b(?:todo|task|add|write|implement|create|noch|offen|schreiben|ajouter|ecrire|anadir|escribir|adicionar|escrever)\b",
    re.IGNORECASE,
)
"""Words of a task that its outcome says in another form."""


class SessionOutcome(NamedTuple):
    """What a session says it has done, sentence by sentence, and the files that it edited, as its calls name them."""

    sentences: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def read_outcome(turns: Iterable[Turn]) -> SessionOutcome:
    """Return the outcome of a session's turns: the sentences of its last message, and the edited files."""
    last, files = "", dict[str, None]()
    for turn in turns:
        if turn.role == ASSISTANT and turn.text and not turn.name and not turn.thinking:
            last = turn.text
        elif turn.role == ASSISTANT and turn.name and get_tool_name(turn) in EDITS:
            files |= dict.fromkeys(list_call_files(turn))
    sentences = (one for one in split_sentences(last, _MAX_LENGTH) if not one.is_open_task)
    return SessionOutcome(tuple(one.text for one in sentences if not _LEFT.search(one.folded)), tuple(files))


def find_sentence_that_closes(task: str, about: Sequence[str], outcome: SessionOutcome) -> str:
    """Return the sentence of an outcome that says that a task is done, "" for none."""
    names = [name for sort, name in map(split_subject, about) if sort == FILE]
    touched = any(
        path == name or path.replace("\\", "/").endswith(f"/{name}") for name in names for path in outcome.files
    )
    if names and not touched:
        return ""
    subject = _DOING.sub(" ", task)
    least = _MIN_SHARE_IN_FILES if touched else _MIN_SHARE
    for sentence in outcome.sentences:
        weight, share = measure_overlap(sentence, subject)
        if weight >= _MIN_WEIGHT and share >= least:
            return sentence
    return ""
