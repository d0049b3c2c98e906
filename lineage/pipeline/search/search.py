"""Search by words, by meaning, or by both, with fused rankings (format: Commands).

Everything works without vectors: without them, or if the model fails, the hits of the words are the result, and a note
says so. What has no vector, or none yet, is ranked by its words alone, and loses nothing by that.
"""

import re
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

from lineage.core.base.times import to_date
from lineage.core.search.query import Query, parse_query, strip_operators
from lineage.errors import ExtraMissing, IndexUnavailable, InvalidInput, WorkspaceError, format_extra_hint
from lineage.extraction.amendments import says_little
from lineage.extraction.embedding.port import EmbeddingError
from lineage.index import Hit, vector_search
from lineage.index.vectors import Neighbor, Vectors, VectorsLost
from lineage.pipeline.search.embeddings import FAILED_QUERY, embed_texts, is_current_model
from lineage.pipeline.search.order_amended import MAX_COMPARED, order_amended
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.projects import locate, match_projects
from lineage.workspace.workspace import Workspace

LEXICAL, SEMANTIC, HYBRID = "lexical", "semantic", "hybrid"
MODES = (LEXICAL, SEMANTIC, HYBRID)

SMOOTHING = 60  # the larger, the more two middling ranks outweigh a single first one

_LOWEST_PLACE = 3  # of what the words find first, while vectors are missing
_IDENTIFIER = re.compile(r"\w[_./:\\-]+\w|[a-z][A-Z]|\d")
_EMBED = "run `lineage admin embed`"
_MIN_RANKED, _RANKED_PER_RESULT = 30, 2  # fusion needs rankings longer than its result
_FIRST_NEAREST = 400  # filters drop passages: if these leave too few results, all passages are looked at
_UNLIMITED = 1 << 40

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first. `mode` is the mode that found them, `notes` explain a difference from the requested one."""

    hits: Sequence[Hit]
    mode: str
    notes: tuple[str, ...] = ()


class _SemanticUnavailable(Exception):
    """Search by meaning is impossible at present, for the reason in the text."""


def search(
    ws: Workspace,
    text: str,
    agent_id: str | None,
    limit: int,
    *,
    by_passage: bool = False,
    mode: str | None = None,
    path: str | None = None,
) -> SearchResult:
    """Return the hits of a query: each session's best passage, or every passage, and entries of books.

    `agent_id` bounds the hits, regardless of the query; `path` stands for the filter of that name. The default mode is
    hybrid with an embedding model, else lexical. Of results that amend each other the newer comes first.

    Raises InvalidInput for an empty filter, and for a mode without its model; ExtraMissing for a mode without its
    packages.
    """
    depth = limit if by_passage else max(limit, MAX_COMPARED)
    found = _find(ws, text, agent_id, depth, by_passage=by_passage, mode=mode, path=path)
    return found if by_passage else replace(found, hits=order_amended(ws, found.hits, text)[:limit])


def _find(
    ws: Workspace, text: str, agent_id: str | None, limit: int, *, by_passage: bool, mode: str | None, path: str | None
) -> SearchResult:
    query = _find_project(ws, parse_query(text, ws.now), path)
    if mode not in (None, LEXICAL):
        require_semantic(ws)
    mode = mode or (HYBRID if ws.embedding else LEXICAL)
    if mode == LEXICAL or not (query.words or query.phrases):
        return SearchResult(ws.index.search(query, agent_id, limit=limit, by_passage=by_passage), LEXICAL)
    depth = limit if mode == SEMANTIC else max(_MIN_RANKED, _RANKED_PER_RESULT * limit)
    try:
        near = _search_by_meaning(ws, query, strip_operators(text), agent_id, depth, by_passage=by_passage)
    except _SemanticUnavailable as reason:
        hits = ws.index.search(query, agent_id, limit=limit, by_passage=by_passage)
        return SearchResult(hits, LEXICAL, (f"found by words alone: {reason}",))
    if mode == SEMANTIC:
        return SearchResult(near[:limit], SEMANTIC, _describe_coverage(ws))
    words = ws.index.search(query, agent_id, limit=depth, by_passage=by_passage)
    incomplete = _find_incomplete(ws, words, by_passage=by_passage)
    notes = _describe_coverage(ws, incomplete)
    if notes:
        alone = ws.index.search(query, agent_id, limit=limit, by_passage=by_passage)
        words = _put_first(words, alone[:1], by_passage=by_passage)
    hits = _fuse(words, near, incomplete, bool(notes), by_passage=by_passage, words_first=names_identifiers(text))
    return SearchResult(hits[:limit], HYBRID, notes)


def _find_project(ws: Workspace, query: Query, path: str | None) -> Query:
    """Return the query with the path, the keys and the books of the projects that its filters mean."""
    project, path = locate(ws, query.filters.project, path or query.filters.path)
    keys = (*match_projects(ws, project), f"project/{resolve_project_folder(ws, project)}") if project else ()
    return replace(query, filters=replace(query.filters, project=project, path=path or None, project_keys=keys))


def require_semantic(ws: Workspace) -> None:
    """Raise InvalidInput without an embedding model, ExtraMissing without the packages for it."""
    if ws.embedding is None:
        hint = "see `lineage help semantic search`, or search with `--mode lexical`"
        raise InvalidInput("no embedding model is configured on this machine", hint=hint)
    if missing := ws.vectors.find_missing_modules() if ws.vectors else []:
        raise ExtraMissing("semantic", missing)


def _search_by_meaning(
    ws: Workspace, query: Query, text: str, agent_id: str | None, limit: int, *, by_passage: bool
) -> list[Hit]:
    """Return the hits of the nearest passages. Raises _SemanticUnavailable."""

    def build_hits(neighbors: Sequence[Neighbor]) -> list[Hit]:
        return vector_search.build_hits(ws.index, query, agent_id, neighbors, limit, by_passage=by_passage)

    try:
        vectors, query_vector = _embed_query(ws, text)
        nearest = list(vectors.find_nearest(query_vector, _FIRST_NEAREST))
        hits = build_hits(nearest)
        is_complete = len(hits) == limit or len(nearest) < _FIRST_NEAREST
        return hits if is_complete else build_hits(list(vectors.find_nearest(query_vector, _UNLIMITED)))
    except EmbeddingError as error:
        ws.telemetry.count_embeddings(to_date(ws.now), {f"{FAILED_QUERY}: {error.reason}": 1})
        raise _SemanticUnavailable(f"the embedding model: {error.reason}") from error
    except (VectorsLost, IndexUnavailable, WorkspaceError) as error:
        raise _SemanticUnavailable(f"{error.message}; {error.hint}") from error


def _embed_query(ws: Workspace, text: str) -> tuple[Vectors, bytes]:
    """Return the workspace's vectors and the query's vector.

    Raises _SemanticUnavailable if the two can't be compared, EmbeddingError if the model fails.
    """
    embedding, vectors = ws.embedding, ws.vectors
    info = vectors.read_model_info() if vectors else None
    if embedding is None or vectors is None or info is None:
        raise _SemanticUnavailable(f"there are no vectors yet; {_EMBED}")
    if vectors.find_missing_modules():
        raise _SemanticUnavailable(format_extra_hint("semantic"))
    if not is_current_model(embedding, vectors):
        raise _SemanticUnavailable(f"the vectors are of another model; {_EMBED}")
    (query_vector,) = embed_texts(ws, embedding.embedder, [embedding.query_prefix + text])
    if len(query_vector) != info[1]:
        raise _SemanticUnavailable(f"the vectors are of another length; {_EMBED}")
    return vectors, query_vector


def _find_incomplete(ws: Workspace, hits: Sequence[Hit], *, by_passage: bool) -> set[str]:
    """Return the paths of the hits that have no vectors of their present text, or not all of them."""
    sources = vector_search.load_hit_sources(ws.index, hits, by_passage=by_passage)
    wanted = {source for of_hit in sources.values() for source in of_hit}
    without = ws.vectors.find_incomplete(wanted) if ws.vectors else wanted
    return {path for path, of_hit in sources.items() if without.intersection(of_hit)}


def _put_first(words: Sequence[Hit], first: Sequence[Hit], *, by_passage: bool) -> list[Hit]:
    """Return a longer ranking that begins as the shorter one: more rows of a session may change its place."""

    def identify(hit: Hit) -> object:
        return (hit.entry.path, hit.entry.place) if hit.entry else hit.rows[:1] if by_passage else hit.session_token

    of_first = set(map(identify, first))
    same = [hit for hit in words if identify(hit) in of_first] or first
    return [*same, *(hit for hit in words if identify(hit) not in of_first)]


def _describe_coverage(ws: Workspace, incomplete: Set[str] = frozenset()) -> tuple[str, ...]:
    """Return a note for how many passages there are vectors, none where all have them."""
    embedded = ws.vectors.count_passages() if ws.vectors else 0
    total = vector_search.count_embeddable(ws.index)
    if embedded < total:
        return (f"vectors for {embedded:,} of {total:,} passages; {_EMBED}",)
    return (f"not all of these have vectors of what they say today; {_EMBED}",) if incomplete else ()


def fuse_rankings(rankings: Sequence[Mapping[Key, int]], smoothing: int = SMOOTHING) -> list[tuple[Key, float]]:
    """Return every key with its score by reciprocal rank fusion, best first. A ranking gives each key a place from 1.

    The score is the sum of 1 / (smoothing + place) over the rankings with the key. Of equal scores the key of the
    earlier ranking comes first.

    >>> [key for key, _ in fuse_rankings([{"a": 1, "b": 2, "c": 3}, {"c": 1, "a": 2}])]
    ['a', 'c', 'b']
    """
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for key, place in ranking.items():
            scores[key] = scores.get(key, 0.0) + 1 / (smoothing + place)
    return sorted(scores.items(), key=lambda item: -item[1])


def fuse_with_missing(
    words: Sequence[Key], near: Sequence[Key], missing: Set[Key], *, is_young: bool = False
) -> list[tuple[Key, float]]:
    """Return the fusion of a ranking by words and one by meaning, in which `missing` keys have no vectors, or not all.

    Such a key counts its place among the words for both rankings, unless meaning places it better. While keys are
    missing, or vectors of others (`is_young`), the first of the words comes third at the lowest: neither those that
    count twice nor those that move up in place of what has no vector yet must crowd it out.

    >>> [key for key, _ in fuse_with_missing(["young", "b"], ["b", "c"], {"young"})]
    ['young', 'b', 'c']
    """
    by_words, by_meaning = number_places(words), number_places(near)
    missing = missing & by_words.keys()
    for key in missing:
        by_meaning[key] = min(by_words[key], by_meaning.get(key, by_words[key]))
    fused, is_held = fuse_rankings([by_words, by_meaning]), bool(words) and (is_young or bool(missing))
    first = next((place for place, (key, _) in enumerate(fused, 1) if is_held and key == words[0]), 0)
    if first > _LOWEST_PLACE:
        key, _ = fused.pop(first - 1)
        fused.insert(_LOWEST_PLACE - 1, (key, fused[_LOWEST_PLACE - 2][1]))
    return fused


def number_places(ranking: Sequence[Key]) -> dict[Key, int]:
    """Return the first place of each key in a ranking, from 1."""
    return {key: place for place, key in enumerate(dict.fromkeys(ranking), 1)}


def names_identifiers(text: str) -> bool:
    """Return whether a query names identifiers, files or numbers and says nothing else: nothing is like a name.

    >>> [names_identifiers(text) for text in ("where do we set IMPORT_BATCH", "useState", "lost rows of reader.py")]
    [True, True, False]
    """
    words = [word for word in strip_operators(text).split() if not says_little(word)]
    return bool(words) and all(map(_IDENTIFIER.search, words))


def _fuse(
    words: Sequence[Hit],
    near: Sequence[Hit],
    incomplete: Set[str],
    is_young: bool,
    *,
    by_passage: bool,
    words_first: bool,
) -> list[Hit]:
    word_keys, near_keys = (_list_keys(hits, by_passage=by_passage) for hits in (words, near))
    # The words come last: their hit of the same passage has the matches marked.
    by_key = dict(zip((*reversed(near_keys), *reversed(word_keys)), (*reversed(near), *reversed(words)), strict=True))
    by_words = zip(word_keys, words, strict=True)
    missing = {key for key, hit in by_words if hit.of_tools or hit.path in incomplete}
    rows: dict[object, list[tuple[int, ...]]] = {}
    for key, hit in (*zip(word_keys, words, strict=True), *zip(near_keys, near, strict=True)):
        rows.setdefault(key, []).append(hit.rows)
    fused = fuse_with_missing(word_keys, near_keys, missing, is_young=is_young)
    if words_first:
        of_words = number_places(word_keys)
        fused.sort(key=lambda item: of_words.get(item[0], len(of_words) + 1))
    return [replace(by_key[key], score=score, rows=_take_turns(rows[key])) for key, score in fused]


def _take_turns(rankings: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the first of each ranking, then the second, and so on, each once."""
    return tuple(dict.fromkeys(row for place in zip_longest(*rankings) for row in place if row is not None))


def _list_keys(hits: Sequence[Hit], *, by_passage: bool) -> list[object]:
    """Return the identity of each hit: its entry, session, or passage by turns or by the order among those without."""
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
