"""Why an entry was learned (`lineage memory why`): the features of its sentence, read anew in its capture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lineage.core.base.normalize import normalize_text
from lineage.core.books.entry import USER_STATED
from lineage.extraction.candidates import HEURISTIC, is_explicit
from lineage.extraction.features import Utterance, read_utterances
from lineage.extraction.scoring import load_weights
from lineage.pipeline.memory.books import EntryLocation, find_entry, read_contents
from lineage.pipeline.memory.entry_writer import parse_quote
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

    It was kept if it `says_so` itself, or for a score from `kept_from` on. `problem` says why there is none.
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

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as a JSON object, `score` None without one."""
        scored = {"says_so": self.says_so, "kept_from": self.kept_from, "bias": self.bias}
        features = [asdict(feature) for feature in self.features]
        why = {"score": self.score, **scored, "features": features} if not self.problem else {"score": None}
        return {"entry": self.location.as_json(), "quote": self.quote, "problem": self.problem or None, **why}


def explain_entry(ws: Workspace, prefix: str) -> Explanation:
    """Return why the entry with this id, or beginning of an id, was learned.

    Raises NotFoundError for an unknown entry.
    """
    location = find_entry(ws, prefix)
    quote = parse_quote(location.entry)
    if HEURISTIC not in location.entry.tags:
        return Explanation(location, quote, _list_typed(location.entry.trust))
    turns, turn_id = load_source_turns(ws, location.entry)
    found = _find_utterance(read_utterances(turns), turn_id, quote)
    if not found:
        return Explanation(location, quote, "its sentence isn't in a capture any more")
    weights = load_weights()[found.role]
    seen = ((name, words, weights.features.get(name, 0.0)) for name, words in found.seen.items())
    features = sorted((WeighedFeature(*one) for one in seen), key=lambda one: (-abs(one.weight), one.name))
    score = weights.compute_score(found.seen)
    return Explanation(
        location, quote, "", found.role, is_explicit(found), score, weights.in_force, weights.bias, tuple(features)
    )


def _list_typed(trust: str) -> str:
    who = "you typed it" if trust == USER_STATED else "an agent remembered it, or a model proposed it"
    return f"{who}: it was not learned by rule from a session"


def _find_utterance(utterances: Sequence[Utterance], turn_id: str | None, quote: str) -> Utterance | None:
    """Return the longest sentence of a turn that a quotation holds."""
    wanted = normalize_text(quote)
    inside = (one for one in utterances if one.turn_id == turn_id and normalize_text(one.sentence.text) in wanted)
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
