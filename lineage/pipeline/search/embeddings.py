"""Embedding: every passage and entry that search may show gets its vector, a bounded number at a time.

One diff says what is to be done: the files of the index against those that have vectors, each with its version. So
whatever changed the rows, a capture, a removal, a redaction, a hand or a rebuild, the vectors follow. What search shows
to nobody is never embedded, and what is sent to another machine is redacted once more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.base.naming import MEMORY
from lineage.core.base.times import to_date
from lineage.core.search.quantization import quantize
from lineage.errors import IndexUnavailable, InvalidInput
from lineage.extraction.embedding.port import Embedder, EmbeddingError, EmbeddingModel
from lineage.index import vector_search
from lineage.index.vector_search import EmbeddingText
from lineage.index.vectors import PassageVector, Vectors, VectorsLost, VectorSource
from lineage.store import BusyError
from lineage.workspace.vectors import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace

EMBEDDED, FAILED_QUERY = "embedded", "no vector for a query"
BUSY = "another process embeds"
INDEX_UNAVAILABLE = "the index is away"
UNUSABLE = "unusable vectors"
NOT_INSTALLED = "not installed"

_LOCK_NAME = "embedding"

Progress = Callable[[int, int], None]
"""Called with (files that are done, files that were due)."""


@dataclass(slots=True)
class EmbedResult:
    """What was done: passages embedded, those whose text had a vector already, vectors dropped; how many files are
    left; why it ended early, "" where it did not."""

    embedded: int = 0
    reused: int = 0
    dropped: int = 0
    left: int = 0
    failed: str = ""


def embed_pending(
    ws: Workspace,
    *,
    max_passages: int | None = None,
    should_continue: Callable[[], bool] = lambda: True,
    progress: Progress | None = None,
) -> EmbedResult:
    """Embeds what has no vector yet, the newest first: at most `most` passages, and as long as `should_continue` says
    so, which is asked before each call. What a provider fails at is left, counted, and due again."""
    done = EmbedResult()
    try:
        done.dropped = prune_vectors(ws)
        if done.dropped:
            scrub_vectors(ws)
        if ws.embedding is None or ws.vectors is None:
            return done
        run = _EmbeddingRun(ws, ws.embedding, ws.vectors, done)
        with ws.documents.spool.store.lock(_LOCK_NAME, wait=False), run.vectors.embedding_lock():
            run.run(max_passages=max_passages, should_continue=should_continue, progress=progress)
    except BusyError:
        done.failed = BUSY
    except IndexUnavailable:
        done.failed = INDEX_UNAVAILABLE
    except EmbeddingError as failure:
        done.failed = failure.reason
    _record_counts(ws, done)
    return done


def describe_coverage(ws: Workspace) -> dict[str, Any]:
    """What `lineage status` shows: the model, how many passages have vectors and where, how many files wait, what
    stands in the way, how calls ended."""
    found: dict[str, Any] = {"model": None, "endpoint": None, "passages": 0, "files_left": 0, "problem": None}
    found["vectors"] = ws.vectors.location if ws.vectors else None
    try:
        found["passages"] = ws.vectors.count_passages() if ws.vectors else 0
        if ws.embedding and ws.vectors:
            found["endpoint"] = ws.embedding.embedder.host or None
            found["model"] = ws.embedding.embedder.model
            found["files_left"] = len(_EmbeddingRun(ws, ws.embedding, ws.vectors, EmbedResult()).list_pending())
    except EmbeddingError as failure:
        found["problem"] = failure.reason
    except VectorsLost as failure:
        found["problem"] = failure.message
    return {**found, "outcomes": ws.telemetry.read_embedding_counts()}


def is_current_model(model: EmbeddingModel, vectors: Vectors) -> bool:
    """Whether the vectors that there are, are the model's. Raises NoVectors where there is no model."""
    found = vectors.read_model_info()
    return found is not None and found[0] == model.embedder.model


def embed_texts(ws: Workspace, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts, as they are kept. What leaves this process is redacted once more: what people write by hand
    nobody has redacted yet. Raises NoVectors."""
    clean = [ws.build_sanitizer().sanitize(text) for text in texts] if embedder.host else texts
    try:
        return [quantize(vector) for vector in embedder.embed(clean)]
    except InvalidInput:
        raise EmbeddingError(UNUSABLE) from None


@dataclass(frozen=True, slots=True)
class _EmbeddingRun:
    ws: Workspace
    embedding: EmbeddingModel
    vectors: Vectors
    result: EmbedResult

    def run(self, *, max_passages: int | None, should_continue: Callable[[], bool], progress: Progress | None) -> None:
        """Embeds file after file. What was made stays, wherever it ends. Raises NoVectors."""
        if self.vectors.find_missing_modules():
            raise EmbeddingError(NOT_INSTALLED)
        due, size = self.list_pending(), self.embedding.batch_size
        self.result.left = len(due)
        for group in self._batches(due):
            items = [(source, text) for source, texts in group for text in texts]
            for start in range(0, len(items), size):
                if not should_continue() or (max_passages is not None and self.result.embedded >= max_passages):
                    return
                self._store(items[start : start + size])
            self.vectors.store(self.embedding.embedder.model, (), [source for source, _ in group], self._is_current)
            self.result.left -= len(group)
            if progress:
                progress(len(due) - self.result.left, len(due))

    def list_pending(self) -> list[VectorSource]:
        """The files whose passages lack vectors of the model: artifacts, the newest first, then books."""
        known = self.vectors.load_source_versions() if self._is_ready() else {}
        wanted = vector_search.load_source_versions(self.ws.index)
        return sorted(
            (VectorSource(path, version) for path, version in wanted.items() if known.get(path) != version),
            key=lambda source: (source.path.startswith(MEMORY), source.path),
            reverse=True,
        )

    def _batches(self, pending: Sequence[VectorSource]) -> Iterator[list[tuple[VectorSource, list[EmbeddingText]]]]:
        """Files with what they lack, as many together as make about a batch."""
        group: list[tuple[VectorSource, list[EmbeddingText]]] = []
        for source in pending:
            group.append((source, self._missing_texts(source)))
            if max(len(group), sum(len(texts) for _, texts in group)) >= self.embedding.batch_size:
                yield group
                group = []
        if group:
            yield group

    def _missing_texts(self, source: VectorSource) -> list[EmbeddingText]:
        known = self.vectors.load_passage_hashes(source.path) if self._is_ready() else {}
        texts = vector_search.load_embedding_texts(self.ws.index, source.path)
        return [text for text in texts if known.get(text.place) != text.hash]

    def _store(self, items: Sequence[tuple[VectorSource, EmbeddingText]]) -> None:
        """Embeds texts, each once, and those alone that have no vector anywhere."""
        known = self.vectors.find_by_hash({text.hash for _, text in items}) if self._is_ready() else {}
        new = {text.hash: text.text for _, text in items if text.hash not in known}
        made = (
            dict(zip(new, embed_texts(self.ws, self.embedding.embedder, list(new.values())), strict=True))
            if new
            else {}
        )
        found = known | made
        placed = [PassageVector(source, text.place, text.hash, found[text.hash]) for source, text in items]
        self.vectors.store(self.embedding.embedder.model, placed, (), self._is_current)
        self.result.embedded += len(made)
        self.result.reused += len(items) - len(made)

    def _is_ready(self) -> bool:
        return is_current_model(self.embedding, self.vectors)

    def _is_current(self, source: VectorSource) -> bool:
        return vector_search.is_current(self.ws.index, source)


def _record_counts(ws: Workspace, result: EmbedResult) -> None:
    counts = {EMBEDDED: result.embedded, result.failed: 1 if result.failed and result.failed != BUSY else 0}
    ws.telemetry.count_embeddings(to_date(ws.now), {name: count for name, count in counts.items() if count})
