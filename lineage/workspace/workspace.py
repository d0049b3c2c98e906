"""One opened workspace: the object that every use case works with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.config import Settings
from lineage.core.sanitizer import BUILTIN, Ruleset, Sanitizer
from lineage.documents import Documents
from lineage.extraction.embedding.port import EmbeddingModel
from lineage.index import Index
from lineage.index.vectors import Vectors
from lineage.telemetry import Telemetry

if TYPE_CHECKING:  # a command that only reads must not pay for the rules of extraction
    from lineage.extraction.model.port import Model


@dataclass(frozen=True, slots=True)
class Workspace:
    """An opened workspace.

    `now` is the canonical UTC time of this run, read once at the top. `custom_rules` replace the built-in redaction
    rules. `vector_file` is the file for vectors, None if there can't be any; `scratch` is a local folder for data that
    does not fit into memory, None for the system's own.
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
