"""Finding by words, by meaning, or by both: the results of each ranked, then fused. (format: Commands)

Everything works without vectors: where there are none, or whoever makes them fails, what the words find is the result,
and a note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.core.fusion import fused
from lineage.core.query import Query, parsed, prose
from lineage.core.times import day
from lineage.errors import ExtraMissing, IndexAway, InvalidInput, WorkspaceError
from lineage.pipeline.house import House

if TYPE_CHECKING:
    from lineage.index import Hit
    from lineage.index.vectors import Near, Vectors

LEXICAL, SEMANTIC, HYBRID = "lexical", "semantic", "hybrid"
MODES = (LEXICAL, SEMANTIC, HYBRID)

_EMBED = "run `lineage reindex --embed`"
_LEAST_RANKED, _RANKED_PER_RESULT = 30, 2
_NEAREST = 400  # passages that are looked at first; all of them where those give too few results
_EVERY = 1 << 40


@dataclass(frozen=True, slots=True)
class Found:
    """Results, best first. `mode` is how they were found in the end, `notes` say why not as it was asked."""

    hits: "Sequence[Hit]"
    mode: str
    notes: tuple[str, ...] = ()


class _NotNow(Exception):
    """There is nothing to be found by meaning at present; its text says why."""


def find(
    house: House, text: str, agent_id: str | None, limit: int, *, by_passage: bool = False, mode: str | None = None
) -> Found:
    """What a query finds, best first: each session's best passage, or every passage, and entries of books. `agent_id`
    bounds what may be found, whatever the query says. Without a mode it is both where a model is configured, else the
    words.

    Raises InvalidInput for a filter that says nothing, and where a mode was asked for that no model is configured for;
    ExtraMissing where one needs what is not installed.
    """
    query = parsed(text, house.now)
    if mode not in (None, LEXICAL):
        check(house)
    asked = mode or (HYBRID if house.embedding else LEXICAL)
    if asked == LEXICAL or not (query.words or query.phrases):
        return Found(house.index.search(query, agent_id, limit=limit, by_passage=by_passage), LEXICAL)
    depth = limit if asked == SEMANTIC else max(_LEAST_RANKED, _RANKED_PER_RESULT * limit)
    try:
        near = _by_meaning(house, query, prose(text), agent_id, depth, by_passage=by_passage)
    except _NotNow as why:
        hits = house.index.search(query, agent_id, limit=limit, by_passage=by_passage)
        return Found(hits, LEXICAL, (f"found by words alone: {why}",))
    if asked == SEMANTIC:
        return Found(near[:limit], SEMANTIC)
    words = house.index.search(query, agent_id, limit=depth, by_passage=by_passage)
    return Found(_fused(words, near, by_passage=by_passage)[:limit], HYBRID)


def check(house: House) -> None:
    """Raises InvalidInput where no embedding model is configured, ExtraMissing where it needs what is not installed."""
    if house.embedding is None:
        raise InvalidInput(
            "no embedding model is configured on this machine",
            hint="see [embedding] in handbook/Semantic search.md, or search with `--mode lexical`",
        )
    if lacking := house.vectors.missing() if house.vectors else []:
        raise ExtraMissing("semantic", lacking)


def _by_meaning(
    house: House, query: Query, about: str, agent_id: str | None, limit: int, *, by_passage: bool
) -> "list[Hit]":
    """The results of the nearest passages. Raises _NotNow where there are none to be had."""
    from lineage.extract.embedding.port import NoVectors  # noqa: PLC0415  (only where a model is configured)
    from lineage.index import likeness  # noqa: PLC0415
    from lineage.index.vectors import LostVectors  # noqa: PLC0415
    from lineage.pipeline.embedding import FAILED_QUERY  # noqa: PLC0415

    def found(near: "Sequence[Near]") -> "list[Hit]":
        return likeness.hits(house.index, query, agent_id, near, limit, by_passage=by_passage)

    try:
        vectors, asked = _asked(house, about)
        near = list(vectors.nearest(asked, _NEAREST))
        hits = found(near)
        is_all = len(hits) == limit or len(near) < _NEAREST
        return hits if is_all else found(list(vectors.nearest(asked, _EVERY)))
    except NoVectors as failure:
        house.telemetry.count_embeddings(day(house.now), {f"{FAILED_QUERY}: {failure.reason}": 1})
        raise _NotNow(f"the embedding model: {failure.reason}") from failure
    except (LostVectors, IndexAway, WorkspaceError) as failure:
        raise _NotNow(f"{failure.message}; {failure.hint}") from failure


def _asked(house: House, about: str) -> "tuple[Vectors, bytes]":
    """The vectors that there are, and that of what was asked. Raises _NotNow where the two can't be compared,
    NoVectors where the model gives none."""
    from lineage.pipeline.embedding import is_ready, sent  # noqa: PLC0415

    embedding, vectors = house.embedding, house.vectors
    found = vectors.model() if vectors else None
    if embedding is None or vectors is None or found is None:
        raise _NotNow(f"there are no vectors yet; {_EMBED}")
    if vectors.missing():
        raise _NotNow("run `pip install 'lineage-memory[semantic]'`")
    if not is_ready(embedding, vectors):
        raise _NotNow(f"the vectors are of another model; {_EMBED}")
    (asked,) = sent(house, embedding.embedder, [about])
    if len(asked) != found[1]:
        raise _NotNow(f"the vectors are of another length; {_EMBED}")
    return vectors, asked


def _fused(words: "Sequence[Hit]", near: "Sequence[Hit]", *, by_passage: bool) -> "list[Hit]":
    """One ranking of both; a result of both is shown as the words found it, with what matched."""
    by_key: dict[object, Hit] = {}
    rankings = []
    for hits in (words, near):
        keys = _keys(hits, by_passage=by_passage)
        for key, hit in zip(keys, hits, strict=True):
            by_key.setdefault(key, hit)
        rankings.append(keys)
    return [replace(by_key[key], score=score) for key, score in fused(rankings)]


def _keys(hits: "Sequence[Hit]", *, by_passage: bool) -> list[object]:
    """What tells results apart: an entry, a session; a passage by its turns, or by its place among those without."""
    keys: list[object] = []
    without_turns: dict[str, int] = {}
    for hit in hits:
        if hit.entry is not None:
            keys.append((hit.entry.path, hit.entry.place))
        elif not by_passage:
            keys.append(hit.session_token)
        else:
            without_turns[hit.path] = place = without_turns.get(hit.path, 0) + (hit.turns is None)
            keys.append((hit.path, hit.turns or place))
    return keys
