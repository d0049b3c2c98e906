"""Which open tasks a session has done: its outcome names them (usefulness: What is learned).

The words of the agent's last message decide, and the files that the session edited: a sentence that says that something
was done, and nothing of what is left, planned, taken out again or failed. Silence, and whatever is in doubt, leaves a
task open.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from lineage.core.base.about import FILE, split_subject
from lineage.core.base.normalize import fold_text
from lineage.core.format.synopsis_forms import BEGINS_WITH_RESULT, PASSIVE, RESULT
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.extraction.amendments import measure_overlap
from lineage.extraction.calls import EDITS, get_tool_name, list_call_files
from lineage.extraction.sentences import split_sentences

_MAX_LENGTH = 400
_READ_LAST = 50_000  # characters of the last message
_READ_CHARS, _MAX_ASKED = 2000, 200  # of a prompt, and sentences of all: what is longer was pasted
_MIN_SHARE, _MIN_SHARE_IN_FILES, _MIN_WEIGHT = 0.7, 0.5, 2
_LEFT = re.compile(
    r"\b(?:todo|to do|next|later|still|remain\w*|left|open|not yet|pending|follow[- ]?up|will|would|should|could"
    r"|need\w*|must|plan\w*|if|unless|want|shall|let me|going to|fail\w*|\w+n['’]t|cannot|(?:i|we|it) can|might|please"
    r"|yourself|not|never|without|unable|whether|decide|tried|abort\w*|crash\w*|broke|broken|gave up|roll\w* back"
    r"|revert\w*|skip\w*|postpon\w*|defer\w*|stub\w*|(?:i|we|have|just) start\w*|started on|starting|began|begun"
    r"|block\w*|on hold|waiting|waits for you\w*|half|partly|partial\w*|part of|some of|almost|nearly|draft\w*"
    r"|(?:you|was) asked about|found(?! and)|except|instead of|rather than|all but|everything but|backlog|ticket"
    r"|missing is|is missing|disabled|commented out|scheduled|considered|investigated|reviewed|discussed"
    r"|looked (?:at|into)|proposed|suggested|outlined|ready to|ran out|run out|moved to|abgebrochen|annule"
    r"|noch|offen|spater|muss|sollte|fehlt|nicht|halb|teilweise|bitte|angefangen|begonnen|reste|encore|ne \S+ pas"
    r"|plus tard|devra|falta|pendiente|todavia|queda|ainda|pendente|depois|nao)\b|[?？]$|(?<!\d)\d{1,2} ?%"
    r"|まだ|残|未|還|还没|尚未|待|需要|一部|部分"
)
# What is taken out again: what the verb governs, or "it".
_OUT = re.compile(r"\b(?:remov|delet|dropp|undo|undid|took|entfern|geloscht|supprim|elimin)\w*|削除|删除")
_OUT_AGAIN = re.compile(rf"(?:{_OUT.pattern})(?: \w+)? (?:it|them|this|again|out|sie|es|wieder)\b")
_CLAUSE = re.compile(r"[,;:]| (?:and|but|then|und|aber|et|mais|y|e) ")
_RESULT = re.compile(
    rf"{RESULT.pattern}|{PASSIVE.pattern}|\bnow\b|\w{{3,}}(?:ée?s?|[ai]d[oa]s?)\b|\bge\w{{3,}}(?:t|en)\b|[✅✔☑]|\[x\]|"
    r"\b(?:exists?|in place|landed|went in|is in|fertig|drin|läuft|ergänzt|fait|en place|écrite?s?|pronto|pronta|feito|"
    r"feita|listo|lista|hecho|hecha|adicionei|escrevi|implementei|añadí|escribí|implementé)\b|ました|添加|写了|修复|完了",
    re.IGNORECASE,
)
"""That something was done: of synopsis_forms.py, and participles that stand alone."""
_DOING = re.compile(
    r"\b(?:todo|task|add|write|implement|create|noch|offen|schreiben|ajouter|ecrire|anadir|escribir|adicionar|escrever)\b",
    re.IGNORECASE,
)
"""Words of a task that its outcome says in another form."""


class SessionOutcome(NamedTuple):
    """What a session says it has done, sentence by sentence, and the files that it edited, as its calls name them.

    `mentions` are the sentences in which a person, or its last message, may speak of what is still open.
    """

    sentences: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


def read_outcome(turns: Iterable[Turn]) -> SessionOutcome:
    """Return the outcome of a session's turns: the sentences of its last message, and the edited files."""
    last, files, asked = "", dict[str, None](), list[str]()
    for turn in turns:
        if turn.role == USER and turn.said:
            sentences = split_sentences(turn.said[:_READ_CHARS], _MAX_LENGTH)
            asked += [one.text for one in sentences if _LEFT.search(one.folded) or not _says_done(one.text)]
        elif turn.role == ASSISTANT and turn.text and not turn.name and not turn.thinking:
            last = turn.text
        elif turn.role == ASSISTANT and turn.name and get_tool_name(turn) in EDITS:
            files |= dict.fromkeys(list_call_files(turn))
    closing = [one for one in split_sentences(last[:_READ_LAST], _MAX_LENGTH) if not one.is_open_task]
    done = (one.text for one in closing if _says_done(one.text) and not _LEFT.search(one.folded))
    left = (one.text for one in closing if _LEFT.search(one.folded))
    return SessionOutcome(tuple(done), tuple(files), (*asked[:_MAX_ASKED], *islice(left, _MAX_ASKED)))


def is_mentioned(task: str, outcome: SessionOutcome) -> bool:
    """Return whether a session speaks of a task, and doesn't say that it is done."""
    subject = _DOING.sub(" ", fold_text(task))
    overlaps = (measure_overlap(sentence, subject) for sentence in outcome.mentions)
    return any(weight >= _MIN_WEIGHT and share >= _MIN_SHARE for weight, share in overlaps)


def find_sentence_that_closes(task: str, about: Sequence[str], outcome: SessionOutcome) -> str:
    """Return the sentence of an outcome that says that a task is done, "" for none."""
    names = [name for sort, name in map(split_subject, about) if sort == FILE]
    touched = any(
        path == name or path.replace("\\", "/").endswith(f"/{name}") for name in names for path in outcome.files
    )
    if names and not touched:
        return ""
    subject = _DOING.sub(" ", fold_text(task))
    least = _MIN_SHARE_IN_FILES if touched else _MIN_SHARE
    is_removal = _OUT.search(fold_text(task)) is not None
    for sentence in outcome.sentences:
        if not is_removal and _takes_out(sentence, subject):
            continue
        weight, share = measure_overlap(sentence, subject)
        if weight >= _MIN_WEIGHT and share >= least:
            return sentence
    return ""


def _says_done(text: str) -> bool:
    return bool(_RESULT.search(text) or BEGINS_WITH_RESULT.match(text))


def _takes_out(sentence: str, subject: str) -> bool:
    """Return whether a sentence says that its subject was taken out again, and not something beside it."""
    folded = fold_text(sentence)
    clauses = (clause for clause in _CLAUSE.split(folded) if _OUT.search(clause))
    return bool(_OUT_AGAIN.search(folded)) or any(measure_overlap(one, subject)[0] >= _MIN_WEIGHT for one in clauses)
