"""Embedding: a vector for every passage and entry that search may show, a bounded number at a time.

A diff decides the work: the index's files against the files with vectors, each with its version. The vectors thus
follow any change of rows: a capture, a removal, a redaction, an edit, a rebuild. Text that search hides is never
embedded, and text that leaves this machine is redacted once more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.base.naming import MEMORY
from lineage.core.base.progress import Progress
from lineage.core.base.times import to_date
from lineage.core.search.quantization import quantize
from lineage.errors import InvalidInput
from lineage.extraction.embedding.port import Embedder, EmbeddingError, EmbeddingModel
from lineage.index import vector_search
from lineage.index.vector_search import EmbeddingText
from lineage.index.vectors import PassageVector, Vectors, VectorsLost, VectorSource
from lineage.store import BusyError
from lineage.workspace.removed_sessions import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace, tolerate_outage

EMBEDDED, FAILED_QUERY = "embedded", "no vector for a query"
BUSY = "another process embeds"
INDEX_UNAVAILABLE = "the index is away"
UNUSABLE = "unusable vectors"
NOT_INSTALLED = "not installed"

_LOCK_NAME = "embedding"
_PROBE = "length"


@dataclass(slots=True)
class EmbedResult:
    """Counts of a run: passages embedded, passages with a known text (`reused`), vectors dropped, files left.

    `failed` is the reason for an early end, "" for none.
    """

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
    checks_length: bool = False,
) -> EmbedResult:
    """Embed passages without a vector, the newest first.

    With `checks_length` the model is asked for a vector first. If those that there are have another length, all
    passages are embedded anew.

    The run ends after `max_passages`, or if `should_continue`, called before each call of the provider, returns False.
    Passages that the provider fails at are counted and stay pending.
    """
    result = EmbedResult()
    try:
        with tolerate_outage(ws) as outage:
            result.dropped = prune_vectors(ws)
            if result.dropped:
                scrub_vectors(ws)
            if ws.embedding is None or ws.vectors is None:
                return result
            run = _EmbeddingRun(ws, ws.embedding, ws.vectors, result)
            if checks_length and ws.vectors.read_model_info():
                result.left = len(run.list_pending())
                run = replace(run, length=len(embed_texts(ws, ws.embedding.embedder, [_PROBE])[0]))
            with ws.documents.spool.store.lock(_LOCK_NAME, wait=False), run.vectors.embedding_lock():
                run.run(max_passages=max_passages, should_continue=should_continue, progress=progress)
        if outage.reason:
            result.failed = INDEX_UNAVAILABLE
    except BusyError:
        result.failed = BUSY
    except EmbeddingError as error:
        result.failed = error.reason
    is_failure = result.failed not in ("", BUSY)
    counts = {EMBEDDED: result.embedded, result.failed: int(is_failure)}
    ws.telemetry.count_embeddings(to_date(ws.now), {name: count for name, count in counts.items() if count})
    return result


def count_pending(ws: Workspace) -> int:
    """Return about how many passages have no vector of the configured model. Raises EmbeddingError without one."""
    if ws.embedding is None or ws.vectors is None:
        return 0
    return _EmbeddingRun(ws, ws.embedding, ws.vectors, EmbedResult()).count_pending()


def describe_coverage(ws: Workspace) -> dict[str, Any]:
    """Return the report of `lineage status`: model, passages with vectors and all, files left, problem, calls."""
    vectors = ws.vectors
    coverage: dict[str, Any] = {"model": None, "endpoint": None, "passages": 0, "files_left": 0, "problem": None}
    coverage["passages_in_all"] = 0
    coverage["vectors"] = vectors.location if vectors else None
    try:
        coverage["passages"] = vectors.count_passages() if vectors else 0
        if ws.embedding and vectors:
            coverage["endpoint"] = ws.embedding.embedder.host or None
            coverage["model"] = ws.embedding.embedder.model
            coverage["passages_in_all"] = vector_search.count_embeddable(ws.index)
            coverage["files_left"] = len(_EmbeddingRun(ws, ws.embedding, vectors, EmbedResult()).list_pending())
    except EmbeddingError as error:
        coverage["problem"] = error.reason
    except VectorsLost as error:
        coverage["problem"] = error.message
    return {**coverage, "outcomes": ws.telemetry.read_embedding_counts()}


def is_current_model(model: EmbeddingModel, vectors: Vectors) -> bool:
    """Return whether the vectors are the model's. Raises EmbeddingError if the provider has no model."""
    info = vectors.read_model_info()
    return info is not None and info[0] == model.embedder.model


def embed_texts(ws: Workspace, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the quantized vectors of texts. Raises EmbeddingError."""
    # Handwritten text has not been redacted yet: it must not leave this machine as it is.
    clean = [ws.build_sanitizer().sanitize(text) for text in texts] if embedder.host else texts
    try:
        return [quantize(vector) for vector in embedder.embed(clean)]
    except InvalidInput:
        raise EmbeddingError(UNUSABLE) from None


@dataclass(frozen=True, slots=True)
class _EmbeddingRun:
    """One run of embedding, with the vectors' lock held. Vectors of another `length` than this, if any, are no use."""

    ws: Workspace
    embedding: EmbeddingModel
    vectors: Vectors
    result: EmbedResult
    length: int | None = None

    def run(self, *, max_passages: int | None, should_continue: Callable[[], bool], progress: Progress | None) -> None:
        """Embed file after file. Each stored batch stays, however the run ends. Raises EmbeddingError."""
        if self.vectors.find_missing_modules():
            raise EmbeddingError(NOT_INSTALLED)
        pending, size = self.list_pending(), self.embedding.batch_size
        self.result.left, total = len(pending), self.count_pending() if progress else 0
        if progress and total:
            progress(0, total)
        for group in self._batches(pending):
            items = [(source, text) for source, texts in group for text in texts]
            for start in range(0, len(items), size):
                if not should_continue() or (max_passages is not None and self.result.embedded >= max_passages):
                    return
                self._store(items[start : start + size])
                done = self.result.embedded + self.result.reused
                if progress:
                    progress(done, max(total, done))
            # A file counts as done only after the last of its passages: a run that is cut off finds it pending.
            self.vectors.store(self.embedding.embedder.model, (), [source for source, _ in group], self._is_current)
            self.result.left -= len(group)

    def count_pending(self) -> int:
        """Return the number of passages without a vector of the model, about: vectors of passages that went count."""
        known = self.vectors.count_passages() if self._is_ready() else 0
        return max(0, vector_search.count_embeddable(self.ws.index) - known)

    def list_pending(self) -> list[VectorSource]:
        """Return the files with passages without a vector of the model: artifacts, the newest first, then books."""
        known = self.vectors.load_source_versions() if self._is_ready() else {}
        current = vector_search.load_source_versions(self.ws.index)
        pending = [VectorSource(path, version) for path, version in current.items() if known.get(path) != version]
        return sorted(pending, key=lambda source: (source.path.startswith(MEMORY), source.path), reverse=True)

    def _batches(self, pending: Sequence[VectorSource]) -> Iterator[list[tuple[VectorSource, list[EmbeddingText]]]]:
        """Yield groups of files with their missing texts, each group about a batch."""
        group: list[tuple[VectorSource, list[EmbeddingText]]] = []
        for source in pending:
            group.append((source, self._missing_texts(source)))
            # Files without missing texts count, too: one write marks all files of a group.
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
        """Store the vectors of texts. Texts with a vector anywhere are not embedded again."""
        by_hash = self.vectors.find_by_hash({text.hash for _, text in items}) if self._is_ready() else {}
        new = {text.hash: text.text for _, text in items if text.hash not in by_hash}
        if new:
            vectors = embed_texts(self.ws, self.embedding.embedder, list(new.values()))
            by_hash = {**by_hash, **dict(zip(new, vectors, strict=True))}
        passages = [PassageVector(source, text.place, text.hash, by_hash[text.hash]) for source, text in items]
        self.vectors.store(self.embedding.embedder.model, passages, (), self._is_current)
        self.result.embedded += len(new)
        self.result.reused += len(items) - len(new)

    def _is_ready(self) -> bool:
        if self.length is not None and (info := self.vectors.read_model_info()) and info[1] != self.length:
            return False
        return is_current_model(self.embedding, self.vectors)

    def _is_current(self, source: VectorSource) -> bool:
        return vector_search.is_current(self.ws.index, source)
