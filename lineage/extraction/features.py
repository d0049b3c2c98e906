"""What can be seen of a sentence in its session: features that a person can check, each with the words it is seen in.

Pure functions of turns. What a feature weighs is fitted (`weights.json`), and `lineage memory why` prints both.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise

from lineage.core.base.normalize import is_unspaced, tokenize_folded
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.extraction.answers import STEERING, UNDECIDED, find_answers
from lineage.extraction.calls import EDITS, get_tool_name
from lineage.extraction.forms import ERRAND, find_forms, find_label, name_language, takes_back
from lineage.extraction.phrases import UNSPACED
from lineage.extraction.sentences import Sentence, fold_without_emphasis, split_sentences
from lineage.extraction.shapes import describe_message, describe_place, describe_sentence

MAX_SENTENCE_LENGTH = 400
ANSWER = "an answer"
CHECKED, CHECKER, REVIEW_FINDING, OFF_SUBJECT = "^checked", "checker", "a finding", "off the subject"
ASKED, DOUBTED, EVER = "^asked", "^doubted", "ever"
LASTING, HERE, HABIT, CUSTOM, DEFINITE = "lasting", "here", "^habit", "custom", "definite"
REMINDER, LIFTED = "reminder", "lifted"
PASSING, AT_HAND, TAKEN_BACK, LEFT = "passing", "at hand", "taken back", "left"
_RETRACTION = "^retraction"
_TASK = "task"
_CLAUSE = re.compile(r"[,;:(]| [-–—] |\.\.|\b(?:because|since|so|cause|weil|car|parce|porque)\b")
_MIN_CLAUSE = 3
_UNWEIGHED = frozenset(
    {"opener", "everywhere", STEERING, UNDECIDED, CHECKED, CHECKER, ASKED, DOUBTED, EVER, LASTING, HERE, HABIT}
    | {CUSTOM, DEFINITE, LEFT, LIFTED, PASSING, REMINDER, _RETRACTION}
)
_PERSONAL = frozenset({"we", "self", "addressee", "^verb", "^request", "a question"})
_NORMS = frozenset({"must", "wish", "^rule", "^standing"})
_FLAWS = frozenset({"negation", "trouble", "report"})
_MIN_REVIEW = 3  # sentences
_DONE_SIGNS = ("✅", "✔", "☑", "~~")
# An item that says that there is none.
_IS_NONE = re.compile(
    r"\W*(?:none\b(?! of\b)|n/a\b|(?:nothing|nada|rien|nichts|keine)\b(?=\s*[.,;:!—–]|$|"
    r" (?:else|left|more|further|remains?|needed|to|pending|blocking|outstanding|open|for now|at|mehr|offen|zu|a|"
    r"de plus|weiter\w*|mas|por|pend\w*|is (?:left|needed|missing|open|pending))\b)|"
    r"no (?:further|more|other|open|remaining)\b|kein\w* (?:weiter|offen|mehr)\w*|"
    r"aucune? \w+ (?:restant|en attente|ouvert)|ningun\w* \w+ (?:pendient|abiert|mas\b)|"
    r"nenhuma? \w+ (?:pendent|restant|abert)|なし|特にあり|"
    r"(?:無|无|没有)(?=[\s。．.,，、;；:：!！]|$|其他|其它|更多|剩余|待))"
)
_MIN_LISTED = 2  # words beside the code of an item
_RARE, _OFTEN, _VERY_OFTEN = 0.7, 1.6, 2.6  # of words in a session
_LONG_TALK = 40  # sentences: in fewer no word comes often
_MANY_LABELS = 2  # of a kind in one message: an agent's form
_LAST_MESSAGES = 4  # a task named earlier is likely done by the end
_MAX_READ = 100_000  # characters of a turn: what is longer was pasted, or printed

_PATH_BEFORE = re.compile(r"^\W*(?=\S*/\S*/)[\w.~:@/-]+\s+(?=\S)")
_NAME = re.compile(  # possessive, so that the many words that are no names fail without backtracking
    r"`[^`\n]*`|--[a-z][\w-]*+|\b(?:[\w-]++/)+[\w.-]*\w|\b\w[^\W_]*+_\w+|\b[a-z]++[A-Z]\w*|\b[A-Z][a-z]++[A-Z]\w*"
    r"|\b[\w-]{1,64}+\.[a-z]\w{0,3}\b|#\d+"
)
_SPEAKER = re.compile(
    r"(?mi)^[ \t>*#_-]{0,8}"
    r"(?:user|human|you|me|(?P<agent>(?:ai )?assistant|agent|ai|bot|claude|chatgpt|codex|copilot|gemini))[ \t*_]{0,4}:"
)
_PART = re.compile(r"\w+")


@dataclass(slots=True)
class Utterance:
    """A sentence that a person or an agent wrote.

    `place` is the position of its turn, `seen` maps its features to the words that they are seen in, `marks` are forms
    that weigh nothing: one that is meant everywhere, one that tells of a check or a checker, a finding of a review,
    what a long session is hardly about. `content` are the words that it is about, `names` the files, commands and
    identifiers among them.
    """

    sentence: Sentence
    role: str
    turn_id: str
    place: int
    label: str
    seen: dict[str, str]
    marks: frozenset[str]
    content: frozenset[str]
    names: frozenset[str]


@dataclass(slots=True)
class _Marks:
    """One letter for each turn (u: a person, a: an agent's text, e: an edit, c: another call), and what was edited."""

    letters: list[str] = field(default_factory=list)
    edited: set[str] = field(default_factory=set)


def read_utterances(turns: Iterable[Turn]) -> list[Utterance]:
    """Return the sentences of user and agent with all their features, in order."""
    found: list[Utterance] = []
    marks = _Marks()
    for place, turn in enumerate(turns):
        marks.letters.append(_mark(turn))
        if marks.letters[-1] == "e":
            marks.edited |= _words_of_call(turn)
        if turn.role in (USER, ASSISTANT) and turn.text and not turn.thinking:
            found += _read_turn(turn, place)
    _add_context(found, marks)
    return found


def _mark(turn: Turn) -> str:
    if turn.thinking:
        return " "
    if turn.role == USER:
        return "u" if turn.said.strip() else " "
    if turn.role == ASSISTANT and turn.name:
        return "e" if get_tool_name(turn) in EDITS else "c"
    return "a" if turn.role == ASSISTANT and turn.text.strip() else " "


def _words_of_call(turn: Turn) -> set[str]:
    texts = (turn.input, *(text for part in turn.parts for text in (part.text, part.old or "")))
    return {word for text in texts for word in _PART.findall(text[:_MAX_READ].lower())}


def _read_turn(turn: Turn, place: int) -> Iterator[Utterance]:
    text = turn.said[:_MAX_READ]
    if turn.role == USER:
        text = cut_conversation(text)
        yield from _read_answers(turn, place, text)
    language = name_language(text[:400].lower())
    sentences = list(split_sentences(text, MAX_SENTENCE_LENGTH))
    message = list(describe_message(text, len(sentences)))
    for number, sentence in enumerate(sentences):
        own = language if is_unspaced(sentence.folded) or language not in UNSPACED else "en"
        forms = _find_request_of_path(sentence.folded, own) or find_forms(sentence.folded, own)
        is_listed = turn.role == ASSISTANT and sentence.lead and "^change" not in forms and _is_listed(sentence)
        label = find_label(sentence.folded) or _TASK * bool(is_listed)
        names = find_names(sentence.text)
        if label:  # what follows it may be an errand, or say that something is left
            rest = find_forms(sentence.folded.partition(":")[2], own)
            forms |= {ERRAND: rest[ERRAND]} if ERRAND in rest else {}
            forms |= {LEFT: rest[_TASK]} if _TASK in rest else {}
        seen = {form: phrase for form, phrase in forms.items() if form not in _UNWEIGHED}
        words = tokenize_folded(sentence.folded)
        seen |= dict.fromkeys(describe_sentence(sentence, words, names), "")
        seen |= dict.fromkeys((*describe_place(number, len(sentences)), *message), "")
        seen |= {"label": label} if label else {}
        seen |= _combine(seen, turn.role)
        marks = _UNWEIGHED & forms.keys()
        if _RETRACTION in marks and not takes_back(sentence.folded, forms[_RETRACTION]):
            marks -= {_RETRACTION}
        if turn.role == USER and DEFINITE in marks and _names_at_hand(sentence.folded, own):
            marks |= {AT_HAND}
        yield Utterance(sentence, turn.role, turn.id, place, label, seen, marks, find_content(words), names)


def _is_listed(sentence: Sentence) -> bool:
    """Return whether an item stands in a list that an agent leads into by the name of what is left to do."""
    is_done = sentence.text.lstrip("*_( ").startswith(_DONE_SIGNS)
    if is_done or len(tokenize_folded(sentence.folded)) < _MIN_LISTED or _IS_NONE.match(sentence.folded):
        return False
    lead = fold_without_emphasis(sentence.lead).rstrip(" :：")
    # What is remaining may be anything: a disk has 3 GB.
    return find_label(f"{lead}:") == _TASK and tokenize_folded(lead) != ["remaining"]


def _find_request_of_path(folded: str, language: str) -> dict[str, str]:
    """Return the forms of what asks for something behind a path: "/srv/docs can you review all of it"; else none."""
    path = _PATH_BEFORE.match(folded)
    forms = find_forms(folded[path.end() :], language) if path else {}
    return forms if "^request" in forms else {}


def _names_at_hand(folded: str, language: str) -> bool:
    """Return whether a sentence's first clause names something at hand, or is too short to say anything general."""
    clause = _CLAUSE.split(folded, maxsplit=1)[0]
    return len(clause.split()) < _MIN_CLAUSE or DEFINITE in find_forms(clause, language)


def _read_answers(turn: Turn, place: int, text: str) -> Iterator[Utterance]:
    """Yield the answers to questions that settle a choice: a person's decisions, in so many words."""
    for answer in find_answers(text, MAX_SENTENCE_LENGTH):
        seen = dict.fromkeys((ANSWER, "explicit", "decision"), answer.text)
        content, names = find_content(tokenize_folded(answer.folded)), find_names(answer.text)
        yield Utterance(answer, turn.role, turn.id, place, "", seen, frozenset(), content, names)


def cut_conversation(text: str) -> str:
    r"""Return what stands before a conversation of a person with an agent that somebody pasted.

    >>> cut_conversation("What was decided?\n\nUser: Never use tabs.\n**Assistant:** I won't.")
    'What was decided?\n\n'
    """
    lines = list(_SPEAKER.finditer(text))
    return text[: lines[0].start()] if len({line["agent"] is None for line in lines}) > 1 else text


def find_names(text: str) -> frozenset[str]:
    """Return the files, commands and identifiers in a text.

    >>> sorted(find_names("Run `make lint` before src/app.py, see use_cache and --force"))
    ['--force', 'make lint', 'src/app.py', 'use_cache']
    """
    return frozenset(name.strip("`").lower() for name in _NAME.findall(text))


def find_content(words: Sequence[str]) -> frozenset[str]:
    """Return the words of a folded text that carry its content: of four letters or more, pairs of signs in CJK."""
    long = [word for word in words if len(word) > 3]
    if "".join(words).isascii():
        return frozenset(long)
    pairs = (a + b for a, b in pairwise(words) if len(a) == len(b) == 1 and not a.isascii())
    return frozenset([*long, *pairs])


def _combine(seen: dict[str, str], role: str) -> dict[str, str]:
    """Return the pairs of features that mean more together."""
    pairs = (
        (("^request", "verb"), ("negation", "must"), ("negation", "wish"), ("a full sentence", "rather long"))
        if role == USER
        else (("negation", "code"), ("negation", "a name"), ("cause", "negation"), ("trouble", "code"))
    )
    combined = {f"{a} and {b}": "" for a, b in pairs if a in seen and b in seen}
    # What speaks of nobody and asks for nothing is often a pasted review.
    return combined if _PERSONAL & seen.keys() or role != USER else combined | {"impersonal": ""}


@dataclass(frozen=True, slots=True)
class _SessionStats:
    """What is counted over a whole session. `letters` has one for each turn, `followers` the next one's."""

    letters: str
    first_edit: int
    edited: Set[str]
    sentences: int
    counts: Counter[str]
    labels: Counter[tuple[int, str]]
    followers: Sequence[str]
    prompts: Sequence[int]
    answers: Set[int]
    reviews: Set[int]
    last_messages: Set[int]

    def measure_centrality(self, one: Utterance) -> float:
        """Return how often a sentence's words come in the session: 0 for words of it alone."""
        subject = one.content | one.names
        return sum(min(self.counts[word], 6) - 1 for word in subject) / max(4, len(subject))


def _add_context(found: Sequence[Utterance], marks: _Marks) -> None:
    """Add what is seen only from the whole session."""
    stats = _count_session(found, marks)
    user_words: set[str] = set()
    for one, after in pairwise(found):
        if one.place == after.place and _RETRACTION in after.marks:
            one.marks |= {TAKEN_BACK}
    for one in found:  # in order: what the user has said by then
        user_words |= one.content | one.names if one.role == USER else frozenset()
        centrality = stats.measure_centrality(one)
        checks = [*_check_place(one, stats, centrality)]
        checks += _check_prompt(one, stats) if one.role == USER else _check_message(one, stats, user_words)
        one.seen.update((name, "") for name, holds in checks if holds)
        one.marks |= {name for name, holds in _check_marks(one, stats, centrality) if holds}


def _count_session(found: Sequence[Utterance], marks: _Marks) -> _SessionStats:
    letters = "".join(marks.letters)
    return _SessionStats(
        letters=letters,
        first_edit=letters.find("e"),
        edited=marks.edited,
        sentences=len(found),
        counts=Counter(word for one in found for word in one.content | one.names),
        labels=Counter(
            (one.place, one.label)
            for one in found
            if one.label and "begins in bold" in one.seen and find_label(one.sentence.folded)
        ),
        followers=_find_followers(letters),
        prompts=[place for place, letter in enumerate(letters) if letter == "u"],
        answers=_places_after_questions(found, letters),
        reviews=_find_reviews(found),
        last_messages={*[place for place, letter in enumerate(letters) if letter in "ua"][-_LAST_MESSAGES:]},
    )


def _check_place(one: Utterance, stats: _SessionStats, centrality: float) -> Iterator[tuple[str, bool]]:
    letters, place = stats.letters, one.place
    parts = [_PART.findall(name) for name in one.names]
    edited = sum(bool(part) and stats.edited >= {*part} for part in parts)
    yield "its words are rare here", centrality < _RARE
    yield "its words come often", centrality >= _OFTEN
    yield "its words come very often", centrality >= _VERY_OFTEN
    yield "four content words", len(one.content) > 3
    yield "names what was edited", bool(parts) and edited * 2 >= len(parts)
    yield "late", place / max(1, len(letters)) > 0.66
    yield "early", place / max(1, len(letters)) < 0.25
    yield "after an edit", 0 <= stats.first_edit < place
    yield "an edit follows", "e" in letters[place + 1 : place + 4]
    yield "an edit before", "e" in letters[max(0, place - 8) : place]


def _check_prompt(one: Utterance, stats: _SessionStats) -> Iterator[tuple[str, bool]]:
    yield "first prompt", one.place == stats.prompts[0]
    yield "after a question", one.place in stats.answers
    yield "unanswered", not stats.followers[one.place]


def _check_message(one: Utterance, stats: _SessionStats, user_words: Set[str]) -> Iterator[tuple[str, bool]]:
    after = stats.followers[one.place]
    is_closing = after in ("", "u")
    rest = sum(place > one.place for place in stats.prompts[-2:])
    yield "closing message", is_closing
    yield "closing and a change", is_closing and "^change" in one.seen
    yield "closing and code", is_closing and "code" in one.seen
    yield "a call follows", after in ("e", "c")
    yield "last answer", rest == 0
    yield "last answer but one", rest == 1
    yield "names what the user named", not one.names.isdisjoint(user_words)
    yield "in the user's words", len(one.content) > 3 and len(one.content & user_words) * 2 >= len(one.content)


def _check_marks(one: Utterance, stats: _SessionStats, centrality: float) -> Iterator[tuple[str, bool]]:
    is_long = stats.sentences >= _LONG_TALK
    yield "at the end", one.place in stats.last_messages
    yield REVIEW_FINDING, one.place in stats.reviews and _is_flaw(one)
    yield OFF_SUBJECT, is_long and centrality < (_OFTEN if "an item" in one.seen else _RARE)
    yield "one of many labels", stats.labels[one.place, one.label] > _MANY_LABELS


def _find_reviews(found: Sequence[Utterance]) -> frozenset[int]:
    """Return the places of prompts that read like a review's comment: it names code, and speaks of nobody."""
    typed = [one for one in found if one.role == USER]
    counts = Counter(one.place for one in typed)
    personal = {one.place for one in typed if "impersonal" not in one.seen}
    named = {one.place for one in typed if one.names or "code" in one.seen}
    return frozenset(place for place in named - personal if counts[place] >= _MIN_REVIEW)


def _is_flaw(one: Utterance) -> bool:
    """Return whether a sentence says what is wrong, and not how it shall be."""
    return not _FLAWS.isdisjoint(one.seen) and _NORMS.isdisjoint(one.seen)


def _find_followers(letters: str) -> list[str]:
    """Return for each turn the letter of the next one that has one, "" for none."""
    followers, after = [""] * len(letters), ""
    for place in range(len(letters) - 1, -1, -1):
        followers[place] = after
        after = letters[place].strip() or after
    return followers


def _places_after_questions(found: Sequence[Utterance], letters: str) -> frozenset[int]:
    """Return the places of prompts that answer an agent's question: its last sentence before them is one."""
    answers, last = set[int](), {one.place: "a question" in one.seen for one in found if one.role == ASSISTANT}
    is_question = False
    for place, letter in enumerate(letters):
        is_question = last.get(place, is_question)
        if letter == "u" and is_question:
            answers.add(place)
            is_question = False
    return frozenset(answers)
