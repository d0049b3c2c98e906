"""Embedding: every passage and entry that search may show gets its vector, a bounded number at a time.

One diff says what is to be done: the files of the index against those that have vectors, each with its version. So
whatever changed the rows, a capture, a removal, a redaction, a hand or a rebuild, the vectors follow. What search shows
to nobody is never embedded, and what is sent to another machine is redacted once more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.core.naming import MEMORY
from lineage.core.quantizing import quantized
from lineage.core.times import day
from lineage.errors import IndexAway, InvalidInput
from lineage.extract.embedding.port import NoVectors
from lineage.index import likeness
from lineage.index.likeness import Text
from lineage.index.vectors import LostVectors, Placed, Source
from lineage.pipeline.house import House
from lineage.store import BusyError

if TYPE_CHECKING:
    from lineage.extract.embedding.port import Embedder
    from lineage.index.vectors import Vectors

EMBEDDED, FAILED_QUERY = "embedded", "no vector for a query"
BUSY = "another process embeds"
AWAY = "the index is away"
UNUSABLE = "unusable vectors"
NOT_INSTALLED = "not installed"

_MUTEX = "embedding"

Progress = Callable[[int, int], None]
"""Called with (files that are done, files that were due)."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The model that a house asks for vectors. `batch` is how many texts one call brings; `passages` and `seconds`
    bound what a worker does at a time."""

    embedder: "Embedder"
    batch: int = 32
    passages: int = 2_000
    seconds: float = 60.0


@dataclass(slots=True)
class Embedded:
    """What was done: passages embedded, those whose text had a vector already, vectors dropped; how many files are
    left; why it ended early, "" where it did not."""

    embedded: int = 0
    reused: int = 0
    dropped: int = 0
    left: int = 0
    failed: str = ""


def embed(
    house: House,
    *,
    most: int | None = None,
    may_go_on: Callable[[], bool] = lambda: True,
    progress: Progress | None = None,
) -> Embedded:
    """Embeds what has no vector yet, the newest first: at most `most` passages, and as long as `may_go_on` says so,
    which is asked before each call. What a provider fails at is left, counted, and due again."""
    done = Embedded()
    try:
        done.dropped = prune(house)
        if done.dropped:
            scrub(house)
        if house.embedding is None or house.vectors is None:
            return done
        run = _Run(house, house.embedding, house.vectors, done)
        with house.canon.spool.store.mutex(_MUTEX, wait=False), run.vectors.embedding():
            run.through(most=most, may_go_on=may_go_on, progress=progress)
    except BusyError:
        done.failed = BUSY
    except IndexAway:
        done.failed = AWAY
    except NoVectors as failure:
        done.failed = failure.reason
    _count(house, done)
    return done


def prune(house: House) -> int:
    """Drops the vectors of what is not in the index any more, or says something else now; how many. The bytes are gone
    after `scrub`."""
    if house.vectors is None or not house.vectors.is_there:
        return 0
    try:
        known, wanted = house.vectors.sources(), likeness.sources(house.index)
        stale = sorted(path for path, version in known.items() if wanted.get(path) != version)
        texts = {path: _hashes(house, path) if path in wanted else None for path in stale}
        return house.vectors.keep(texts)
    except LostVectors:
        return 0


def scrub(house: House) -> None:
    """Leaves no copy of the vectors that were dropped."""
    if house.vectors is not None:
        try:
            house.vectors.scrub()
        except LostVectors:
            return  # with all that it held


def coverage(house: House) -> dict[str, Any]:
    """What `lineage status` shows: the model, how many passages have vectors and where, how many files wait, what
    stands in the way, how calls ended."""
    found: dict[str, Any] = {"model": None, "endpoint": None, "passages": 0, "files_left": 0, "problem": None}
    found["vectors"] = house.vectors.where if house.vectors else None
    try:
        found["passages"] = house.vectors.count() if house.vectors else 0
        if house.embedding and house.vectors:
            found["endpoint"] = house.embedding.embedder.place or None
            found["model"] = house.embedding.embedder.model
            found["files_left"] = len(_Run(house, house.embedding, house.vectors, Embedded()).due())
    except NoVectors as failure:
        found["problem"] = failure.reason
    except LostVectors as failure:
        found["problem"] = failure.message
    return {**found, "outcomes": house.telemetry.embeddings()}


def is_ready(embedding: Embedding, vectors: "Vectors") -> bool:
    """Whether the vectors that there are, are the model's. Raises NoVectors where there is no model."""
    found = vectors.model()
    return found is not None and found[0] == embedding.embedder.model


def sent(house: House, embedder: "Embedder", texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts, as they are kept. What leaves this process is redacted once more: what people write by hand
    nobody has redacted yet. Raises NoVectors."""
    clean = [house.sanitizer().text(text) for text in texts] if embedder.place else texts
    try:
        return [quantized(vector) for vector in embedder.embed(clean)]
    except InvalidInput:
        raise NoVectors(UNUSABLE) from None


@dataclass(frozen=True, slots=True)
class _Run:
    house: House
    embedding: Embedding
    vectors: "Vectors"
    done: Embedded

    def through(self, *, most: int | None, may_go_on: Callable[[], bool], progress: Progress | None) -> None:
        """Embeds file after file. What was made stays, wherever it ends. Raises NoVectors."""
        if self.vectors.missing():
            raise NoVectors(NOT_INSTALLED)
        due, size = self.due(), self.embedding.batch
        self.done.left = len(due)
        for group in self._groups(due):
            items = [(source, text) for source, texts in group for text in texts]
            for start in range(0, len(items), size):
                if not may_go_on() or (most is not None and self.done.embedded >= most):
                    return
                self._store(items[start : start + size])
            self.vectors.store(self.embedding.embedder.model, (), [source for source, _ in group], self._is_current)
            self.done.left -= len(group)
            if progress:
                progress(len(due) - self.done.left, len(due))

    def due(self) -> list[Source]:
        """The files whose passages lack vectors of the model: artifacts, the newest first, then books."""
        known = self.vectors.sources() if self._is_ready() else {}
        wanted = likeness.sources(self.house.index)
        return sorted(
            (Source(path, version) for path, version in wanted.items() if known.get(path) != version),
            key=lambda source: (source.path.startswith(MEMORY), source.path),
            reverse=True,
        )

    def _groups(self, due: Sequence[Source]) -> Iterator[list[tuple[Source, list[Text]]]]:
        """Files with what they lack, as many together as make about a batch."""
        group: list[tuple[Source, list[Text]]] = []
        for source in due:
            group.append((source, self._lacking(source)))
            if max(len(group), sum(len(texts) for _, texts in group)) >= self.embedding.batch:
                yield group
                group = []
        if group:
            yield group

    def _lacking(self, source: Source) -> list[Text]:
        known = self.vectors.places(source.path) if self._is_ready() else {}
        texts = likeness.texts_of(self.house.index, source.path)
        return [text for text in texts if known.get(text.place) != text.hash]

    def _store(self, items: Sequence[tuple[Source, Text]]) -> None:
        """Embeds texts, each once, and those alone that have no vector anywhere."""
        known = self.vectors.same({text.hash for _, text in items}) if self._is_ready() else {}
        new = {text.hash: text.text for _, text in items if text.hash not in known}
        made = dict(zip(new, sent(self.house, self.embedding.embedder, list(new.values())), strict=True)) if new else {}
        found = known | made
        placed = [Placed(source, text.place, text.hash, found[text.hash]) for source, text in items]
        self.vectors.store(self.embedding.embedder.model, placed, (), self._is_current)
        self.done.embedded += len(made)
        self.done.reused += len(items) - len(made)

    def _is_ready(self) -> bool:
        return is_ready(self.embedding, self.vectors)

    def _is_current(self, source: Source) -> bool:
        return likeness.is_current(self.house.index, source)


def _hashes(house: House, path: str) -> frozenset[bytes]:
    return frozenset(text.hash for text in likeness.texts_of(house.index, path))


def _count(house: House, done: Embedded) -> None:
    counts = {EMBEDDED: done.embedded, done.failed: 1 if done.failed and done.failed != BUSY else 0}
    house.telemetry.count_embeddings(day(house.now), {name: count for name, count in counts.items() if count})
