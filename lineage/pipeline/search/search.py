"""Search by words, by meaning, or by both, with fused rankings (format: Commands).

Everything works without vectors: without them, or if the model fails, the hits of the words are the result, and a note
says so.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lineage.core.base.times import to_date
from lineage.core.search.query import Query, parse_query, strip_operators
from lineage.errors import ExtraMissing, IndexUnavailable, InvalidInput, WorkspaceError
from lineage.extraction.embedding.port import EmbeddingError
from lineage.index import Hit, vector_search
from lineage.index.vectors import Neighbor, Vectors, VectorsLost
from lineage.pipeline.search.embeddings import FAILED_QUERY, embed_texts, is_current_model
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.projects import match_projects
from lineage.workspace.workspace import Workspace

LEXICAL, SEMANTIC, HYBRID = "lexical", "semantic", "hybrid"
MODES = (LEXICAL, SEMANTIC, HYBRID)

SMOOTHING = 60  # the larger, the more two middling ranks outweigh a single first one

_EMBED = "run `lineage reindex --embed`"
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
    ws: Workspace, text: str, agent_id: str | None, limit: int, *, by_passage: bool = False, mode: str | None = None
) -> SearchResult:
    """Return the hits of a query: each session's best passage, or every passage, and entries of books.

    `agent_id` bounds the hits, regardless of the query. The default mode is hybrid with an embedding model, else
    lexical.

    Raises InvalidInput for an empty filter, and for a mode without its model; ExtraMissing for a mode without its
    packages.
    """
    query = _find_project(ws, parse_query(text, ws.now))
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
        return SearchResult(near[:limit], SEMANTIC)
    words = ws.index.search(query, agent_id, limit=depth, by_passage=by_passage)
    return SearchResult(_fuse(words, near, by_passage=by_passage)[:limit], HYBRID)


def _find_project(ws: Workspace, query: Query) -> Query:
    """Return the query with the keys and the books of the projects that its filter means."""
    project = query.filters.project
    if not project:
        return query
    keys, folder = match_projects(ws, project), resolve_project_folder(ws, project)
    return replace(query, filters=replace(query.filters, project_keys=(*keys, f"project/{folder}")))


def require_semantic(ws: Workspace) -> None:
    """Raise InvalidInput without an embedding model, ExtraMissing without the packages for it."""
    if ws.embedding is None:
        hint = "see [embedding] in handbook/Semantic search.md, or search with `--mode lexical`"
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
        raise _SemanticUnavailable("run `pip install 'lineage-memory[semantic]'`")
    if not is_current_model(embedding, vectors):
        raise _SemanticUnavailable(f"the vectors are of another model; {_EMBED}")
    (query_vector,) = embed_texts(ws, embedding.embedder, [text])
    if len(query_vector) != info[1]:
        raise _SemanticUnavailable(f"the vectors are of another length; {_EMBED}")
    return vectors, query_vector


def fuse_rankings(rankings: Sequence[Sequence[Key]], smoothing: int = SMOOTHING) -> list[tuple[Key, float]]:
    """Return every key with its score by reciprocal rank fusion, best first.

    The score is the sum of 1 / (smoothing + rank) over the rankings with the key; within a ranking only its first place
    counts. Of equal scores the key of the earlier ranking comes first.

    >>> [key for key, _ in fuse_rankings([["a", "b", "c"], ["c", "a"]])]
    ['a', 'c', 'b']
    """
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] = scores.get(key, 0.0) + 1 / (smoothing + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


def _fuse(words: Sequence[Hit], near: Sequence[Hit], *, by_passage: bool) -> list[Hit]:
    by_key: dict[object, Hit] = {}
    rankings = []
    for hits in (words, near):
        keys = _list_keys(hits, by_passage=by_passage)
        for key, hit in zip(keys, hits, strict=True):
            # The words come first: their hit of the same passage has the matches marked.
            by_key.setdefault(key, hit)
        rankings.append(keys)
    return [replace(by_key[key], score=score) for key, score in fuse_rankings(rankings)]


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
