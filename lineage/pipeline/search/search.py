"""Finding by words, by meaning, or by both: the results of each ranked, then fused. (format: Commands)

Everything works without vectors: where there are none, or whoever makes them fails, what the words find is the result,
and a note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.core.base.times import to_date
from lineage.core.search.query import Query, parse_query, strip_operators
from lineage.errors import ExtraMissing, IndexUnavailable, InvalidInput, WorkspaceError
from lineage.pipeline.search.rank_fusion import fuse_rankings
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lineage.index import Hit
    from lineage.index.vectors import Neighbor, Vectors

LEXICAL, SEMANTIC, HYBRID = "lexical", "semantic", "hybrid"
MODES = (LEXICAL, SEMANTIC, HYBRID)

_EMBED = "run `lineage reindex --embed`"
_MIN_RANKED, _RANKED_PER_RESULT = 30, 2
_FIRST_NEAREST = 400  # passages that are looked at first; all of them where those give too few results
_UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Results, best first. `mode` is how they were found in the end, `notes` say why not as it was asked."""

    hits: "Sequence[Hit]"
    mode: str
    notes: tuple[str, ...] = ()


class _SemanticUnavailable(Exception):
    """There is nothing to be found by meaning at present; its text says why."""


def search(
    ws: Workspace, text: str, agent_id: str | None, limit: int, *, by_passage: bool = False, mode: str | None = None
) -> SearchResult:
    """What a query finds, best first: each session's best passage, or every passage, and entries of books. `agent_id`
    bounds what may be found, whatever the query says. Without a mode it is both where a model is configured, else the
    words.

    Raises InvalidInput for a filter that says nothing, and where a mode was asked for that no model is configured for;
    ExtraMissing where one needs what is not installed.
    """
    query = parse_query(text, ws.now)
    if mode not in (None, LEXICAL):
        require_semantic(ws)
    asked = mode or (HYBRID if ws.embedding else LEXICAL)
    if asked == LEXICAL or not (query.words or query.phrases):
        return SearchResult(ws.index.search(query, agent_id, limit=limit, by_passage=by_passage), LEXICAL)
    depth = limit if asked == SEMANTIC else max(_MIN_RANKED, _RANKED_PER_RESULT * limit)
    try:
        near = _search_by_meaning(ws, query, strip_operators(text), agent_id, depth, by_passage=by_passage)
    except _SemanticUnavailable as why:
        hits = ws.index.search(query, agent_id, limit=limit, by_passage=by_passage)
        return SearchResult(hits, LEXICAL, (f"found by words alone: {why}",))
    if asked == SEMANTIC:
        return SearchResult(near[:limit], SEMANTIC)
    words = ws.index.search(query, agent_id, limit=depth, by_passage=by_passage)
    return SearchResult(_fuse(words, near, by_passage=by_passage)[:limit], HYBRID)


def require_semantic(ws: Workspace) -> None:
    """Raises InvalidInput where no embedding model is configured, ExtraMissing where it needs what is not installed."""
    if ws.embedding is None:
        raise InvalidInput(
            "no embedding model is configured on this machine",
            hint="see [embedding] in handbook/Semantic search.md, or search with `--mode lexical`",
        )
    if lacking := ws.vectors.find_missing_modules() if ws.vectors else []:
        raise ExtraMissing("semantic", lacking)


def _search_by_meaning(
    ws: Workspace, query: Query, about: str, agent_id: str | None, limit: int, *, by_passage: bool
) -> "list[Hit]":
    """The results of the nearest passages. Raises _NotNow where there are none to be had."""
    from lineage.extraction.embedding.port import EmbeddingError  # noqa: PLC0415  (only where a model is configured)
    from lineage.index import vector_search  # noqa: PLC0415
    from lineage.index.vectors import VectorsLost  # noqa: PLC0415
    from lineage.pipeline.search.embeddings import FAILED_QUERY  # noqa: PLC0415

    def found(near: "Sequence[Neighbor]") -> "list[Hit]":
        return vector_search.build_hits(ws.index, query, agent_id, near, limit, by_passage=by_passage)

    try:
        vectors, asked = _embed_query(ws, about)
        near = list(vectors.find_nearest(asked, _FIRST_NEAREST))
        hits = found(near)
        is_all = len(hits) == limit or len(near) < _FIRST_NEAREST
        return hits if is_all else found(list(vectors.find_nearest(asked, _UNLIMITED)))
    except EmbeddingError as failure:
        ws.telemetry.count_embeddings(to_date(ws.now), {f"{FAILED_QUERY}: {failure.reason}": 1})
        raise _SemanticUnavailable(f"the embedding model: {failure.reason}") from failure
    except (VectorsLost, IndexUnavailable, WorkspaceError) as failure:
        raise _SemanticUnavailable(f"{failure.message}; {failure.hint}") from failure


def _embed_query(ws: Workspace, about: str) -> "tuple[Vectors, bytes]":
    """The vectors that there are, and that of what was asked. Raises _NotNow where the two can't be compared,
    NoVectors where the model gives none."""
    from lineage.pipeline.search.embeddings import embed_texts, is_current_model  # noqa: PLC0415

    embedding, vectors = ws.embedding, ws.vectors
    found = vectors.read_model_info() if vectors else None
    if embedding is None or vectors is None or found is None:
        raise _SemanticUnavailable(f"there are no vectors yet; {_EMBED}")
    if vectors.find_missing_modules():
        raise _SemanticUnavailable("run `pip install 'lineage-memory[semantic]'`")
    if not is_current_model(embedding, vectors):
        raise _SemanticUnavailable(f"the vectors are of another model; {_EMBED}")
    (asked,) = embed_texts(ws, embedding.embedder, [about])
    if len(asked) != found[1]:
        raise _SemanticUnavailable(f"the vectors are of another length; {_EMBED}")
    return vectors, asked


def _fuse(words: "Sequence[Hit]", near: "Sequence[Hit]", *, by_passage: bool) -> "list[Hit]":
    """One ranking of both; a result of both is shown as the words found it, with what matched."""
    by_key: dict[object, Hit] = {}
    rankings = []
    for hits in (words, near):
        keys = _list_keys(hits, by_passage=by_passage)
        for key, hit in zip(keys, hits, strict=True):
            by_key.setdefault(key, hit)
        rankings.append(keys)
    return [replace(by_key[key], score=score) for key, score in fuse_rankings(rankings)]


def _list_keys(hits: "Sequence[Hit]", *, by_passage: bool) -> list[object]:
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
