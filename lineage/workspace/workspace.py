"""One opened workspace: the object that every use case works with, and its stale index.

Files are written without the index's server, too: marks on this machine then ask for a reindex.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.config import Settings
from lineage.core.sanitizer import BUILTIN, Ruleset, Sanitizer
from lineage.documents import Documents
from lineage.errors import IndexUnavailable
from lineage.extraction.embedding.port import EmbeddingModel
from lineage.index import Index
from lineage.index.vectors import Vectors
from lineage.telemetry import Telemetry

if TYPE_CHECKING:  # a command that only reads must not pay for the rules of extraction
    from lineage.extraction.model.port import Model
    from lineage.index.printed_runs import PrintedRuns

_MARKS = "behind/"


@dataclass(frozen=True, slots=True)
class Workspace:
    """An opened workspace.

    `now` is the canonical UTC time of this run, read once at the top. `custom_rules` replace the built-in redaction
    rules. `vector_file` is the file for vectors, None if there can't be any; `scratch` is a local folder for data that
    does not fit into memory, None for the system's own. `printed` are the tools' runs of an import that is under way.
    """

    documents: Documents
    index: Index
    telemetry: Telemetry
    settings: Settings
    now: str
    new_id: Callable[[], str]
    custom_rules: Ruleset | None = None
    model: "Model | None" = None
    vector_file: Path | None = None
    embedding: EmbeddingModel | None = None
    scratch: Path | None = None
    printed: "PrintedRuns | None" = None

    @property
    def rules(self) -> Ruleset:
        """Return the workspace's redaction rules."""
        return BUILTIN if self.custom_rules is None else self.custom_rules

    @property
    def vectors(self) -> Vectors | None:
        """Return the vectors of passages, None if there are none to make or to drop."""
        if self.vector_file is None:
            return None
        return self.index.open_vectors(self.vector_file, may_create=self.embedding is not None)

    def build_sanitizer(self) -> Sanitizer:
        """Return a sanitizer under the workspace's rules. Raise EngineMissing without google-re2."""
        return Sanitizer(self.rules)

    def close(self) -> None:
        """Close the databases."""
        self.index.close()
        self.telemetry.close()


@dataclass(slots=True)
class IndexOutage:
    """The outcome of `tolerate_outage`. `reason` is the error's message, None if the index was available."""

    reason: str | None = None


@contextmanager
def tolerate_outage(ws: Workspace, *, mark_stale: bool = False) -> Iterator[IndexOutage]:
    """End the block early if the index is unavailable; `mark_stale` leaves a mark for the owed rows."""
    outage = IndexOutage()
    try:
        yield outage
    except IndexUnavailable as error:
        outage.reason = error.message
        if mark_stale:
            mark = f"{ws.now} {error.message}\n"
            ws.documents.spool.store.create(f"{_MARKS}{ws.new_id()}", mark.encode())


def find_outage(ws: Workspace) -> str | None:
    """Return why the index is unavailable now, None if it is available."""
    with tolerate_outage(ws) as outage:
        _ = ws.index.needs_reindex
    return outage.reason


def describe_stale(documents: Documents) -> list[str]:
    """Return the time and reason of each mark, oldest first."""
    store = documents.spool.store
    return sorted(store.read(key).data.decode("utf-8", "replace").strip() for key in list_stale_marks(documents))


def list_stale_marks(documents: Documents) -> list[str]:
    """Return the marks, for `clear_stale` after a look at all files."""
    return [entry.key for entry in documents.spool.store.list(_MARKS)]


def clear_stale(documents: Documents, marks: Sequence[str]) -> None:
    """Delete marks listed before a look at all files; younger ones stay."""
    # By name: a mark made since then stands for rows that the look may have missed.
    for key in marks:
        documents.spool.store.delete(key)
