"""What every use case works with, and what the two flows give back."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # whoever opens a house imports what it is made of
    from pathlib import Path

    from lineage.config import Settings
    from lineage.core.sanitizer import Ruleset, Sanitizer
    from lineage.documents import Documents
    from lineage.extraction.embedding.port import EmbeddingModel
    from lineage.extraction.model.port import Model
    from lineage.index import Index
    from lineage.index.vectors import Vectors
    from lineage.telemetry import Telemetry

CAPTURED = "captured"
UNCHANGED = "unchanged"
REFUSED = "refused"


class Workspace(NamedTuple):
    """One workspace, opened. `now` is the canonical UTC time of this run, read once at the top. `custom_rules` are the
    redaction rules that the workspace chose, None where it has ours. `model` is the language model that this machine is
    configured for, `embedding` its embedding model, None without one; `vector_file` is where the index keeps vectors
    that it has no better place for, None where there can't be any. `scratch` is a folder of this machine for what does
    not fit into memory, None for the system's own."""

    documents: "Documents"
    index: "Index"  # type: ignore[assignment]  # hides what a tuple has under this name
    telemetry: "Telemetry"
    settings: "Settings"
    now: str
    new_id: Callable[[], str]
    custom_rules: "Ruleset | None" = None
    model: "Model | None" = None
    vector_file: "Path | None" = None
    embedding: "EmbeddingModel | None" = None
    scratch: "Path | None" = None

    @property
    def rules(self) -> "Ruleset":
        """The workspace's redaction rules; who asks for none imports none."""
        from lineage.core.sanitizer import BUILTIN  # noqa: PLC0415

        return BUILTIN if self.custom_rules is None else self.custom_rules

    @property
    def vectors(self) -> "Vectors | None":
        """The vectors of passages, None where there is nothing that could be made or dropped."""
        if self.vector_file is None:
            return None
        return self.index.open_vectors(self.vector_file, may_create=self.embedding is not None)

    def build_sanitizer(self) -> "Sanitizer":
        """A sanitizer under the workspace's rules. Raises EngineMissing."""
        from lineage.core.sanitizer import Sanitizer  # noqa: PLC0415

        return Sanitizer(self.rules)

    def close(self) -> None:
        """Closes the databases."""
        self.index.close()
        self.telemetry.close()


class CaptureResult(NamedTuple):
    """The result of `session-end` and `compaction`. Paths are relative to the workspace; `compactions` says how many
    the transcript records, `learned` what came into books. (format: Commands)"""

    status: str
    session_token: str
    reason: str | None = None
    manifest_path: str | None = None
    transcript_path: str | None = None
    summary_path: str | None = None
    compaction_path: str | None = None
    captured_at: str | None = None
    memory_sentence: str | None = None
    memory_sentence_quality: str | None = None
    turns: int = 0
    compactions: int = 0
    redactions: Mapping[str, int] = {}
    skipped: Mapping[str, int] = {}
    learned: Mapping[str, Any] = {"dropped": {}, "kept": 0, "pending": 0}

    def as_json(self) -> dict[str, Any]:
        return {name: _to_json_value(getattr(self, name)) for name in self._fields}


def _to_json_value(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value
