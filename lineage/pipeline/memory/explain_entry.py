"""Why an entry was learned (`lineage memory why`): the features of its sentence, read anew in its capture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import normalize_text
from lineage.core.books.entry import CONFIRMED, USER_STATED, Entry, compute_entry_id, parse_before
from lineage.extraction.candidates import HEURISTIC, read_statement
from lineage.extraction.features import ANSWER, Utterance, read_utterances
from lineage.extraction.scoring import load_weights
from lineage.extraction.sentence_kinds import is_explicit
from lineage.pipeline.memory.books import EntryLocation, find_entry, read_contents
from lineage.pipeline.memory.entry_writer import parse_quote
from lineage.pipeline.memory.merge_statements import is_reworded
from lineage.pipeline.memory.workspace_evidence import load_source_turns
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class WeighedFeature:
    """A feature of a sentence, its words there ("" for none of its own), and its weight."""

    name: str
    words: str
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of an entry's sentence by today's weights, and the features that it is made of, the heaviest first.

    It was kept if it `says_so` itself, or for a score from `kept_from` on. `problem` says why there is none. `quote`
    are the words that it came from, or those before its last edit if it was typed, "" if they are not known; with
    `is_edited` the entry says something else today. `turn` is the number of the turn that holds them, 0 if unknown.
    `answer` is what a person answered to an agent's `question`: such answers are kept without a score.
    """

    location: EntryLocation
    quote: str
    problem: str = ""
    role: str = ""
    says_so: bool = False
    score: float = 0.0
    kept_from: float = 0.0
    bias: float = 0.0
    features: tuple[WeighedFeature, ...] = ()
    is_edited: bool = False
    turn: int = 0
    question: str = ""
    answer: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as a JSON object, `score` None without one."""
        scored = {"says_so": self.says_so, "kept_from": self.kept_from, "bias": self.bias}
        features = [asdict(feature) for feature in self.features]
        why = {"score": self.score, **scored, "features": features} if not self.problem else {"score": None}
        asked = {"question": self.question, "answer": self.answer} if self.answer else {}
        return {"entry": self.location.as_json(), "quote": self.quote, "problem": self.problem or None, **why, **asked}


def explain_entry(ws: Workspace, prefix: str) -> Explanation:
    """Return why the entry with this id, or beginning of an id, was learned.

    Raises NotFoundError for an unknown entry.
    """
    location = find_entry(ws, prefix)
    entry, quote = location.entry, parse_quote(location.entry)
    if HEURISTIC not in entry.tags:
        words_before = parse_before(entry)
        return Explanation(location, words_before or quote, _describe_typed(entry), is_edited=bool(words_before))
    turns, turn_id = load_source_turns(ws, entry)
    turn = next((one.number for one in turns if one.id == turn_id), 0)
    utterances = [one for one in read_utterances(turns) if one.turn_id == turn_id]
    is_edited = is_reworded(location.ref, entry)
    before = _find_words_before(utterances, location) if is_edited else None
    found = before or _find_utterance(utterances, quote)
    if is_edited and quote == entry.body:  # no words of then are kept beside it
        quote = to_one_line(read_statement(found)) if found else ""
        is_edited = quote != entry.body
    if not found:
        return Explanation(location, quote, "its sentence isn't in a capture any more", is_edited=is_edited, turn=turn)
    weights = load_weights()[found.role]
    seen = ((name, words, weights.features.get(name, 0.0)) for name, words in found.seen.items())
    features = sorted((WeighedFeature(*one) for one in seen), key=lambda one: (-abs(one.weight), one.name))
    score = weights.compute_score(found.seen)
    kept = is_explicit(found), score, weights.in_force, weights.bias, tuple(features)
    question, _, answer = found.sentence.text.partition("\n\n") if ANSWER in found.seen else ("", "", "")
    return Explanation(location, quote, "", found.role, *kept, is_edited, turn, question, answer)


def _describe_typed(entry: Entry) -> str:
    users = {CONFIRMED: "you confirmed or edited it"}.get(entry.source, "you typed it")
    who = users if entry.trust == USER_STATED else "an agent remembered it, or a model proposed it"
    return f"{who}: it was not learned by rule from a session"


def _find_words_before(utterances: Sequence[Utterance], location: EntryLocation) -> Utterance | None:
    """Return the sentence of an entry's turn whose words give its id: what it said before it was edited."""
    ref, name = location.ref, location.entry.id
    texts = ((one, to_one_line(read_statement(one))) for one in utterances)
    return next((one for one, text in texts if compute_entry_id(ref.scope, ref.kind, text, one.turn_id) == name), None)


def _find_utterance(utterances: Sequence[Utterance], quote: str) -> Utterance | None:
    """Return the longest of a turn's sentences that a quotation holds."""
    wanted = normalize_text(quote)
    inside = (one for one in utterances if normalize_text(one.sentence.text) in wanted)
    return max(inside, key=lambda one: (is_explicit(one), len(one.sentence.text)), default=None)


def trace_entry(ws: Workspace, location: EntryLocation) -> tuple[list[EntryLocation], list[EntryLocation]]:
    """Return the entries of the same book that this one took the place of, and those that took its own, newest last."""
    refs = ws.documents.books.list_shelves(location.ref.scope, location.ref.kind)
    return trace_among(location, [place for ref in refs for place in read_contents(ws, ref).entries])


def trace_among(
    location: EntryLocation, places: Sequence[EntryLocation]
) -> tuple[list[EntryLocation], list[EntryLocation]]:
    """Return what `trace_entry` does, of these entries of its book."""
    by_id = {place.entry.id: place for place in places}
    replaced = [(place, by_id[new.id]) for place in places if (new := place.successor) and new.id in by_id]
    chains = []
    for links in ({new.entry.id: old for old, new in replaced}, {old.entry.id: new for old, new in replaced}):
        chain, name = [], location.entry.id
        while (place := links.pop(name, None)) is not None:
            chain.append(place)
            name = place.entry.id
        chains.append(chain)
    older, newer = chains
    return older[::-1], newer
