"""`lineage search` by meaning, with the local embedding model, over the workspace that the words are asked of too."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from evaluation.material import Material
from evaluation.rankers import MOST, Ranker, captured
from lineage.extraction.embedding.local import LocalEmbedder, find_packaged_model
from lineage.extraction.embedding.port import EmbeddingModel
from lineage.pipeline.search.embeddings import embed_pending
from lineage.pipeline.search.search import search
from lineage.workspace.workspace import Workspace


class Meaning:
    """A mode of `lineage search`."""

    def __init__(self, ws: Workspace, mode: str) -> None:
        self.name = f"`lineage search --mode {mode}`"
        self._ws, self._mode = ws, mode

    def __call__(self, question: str, group: str) -> list[str]:
        found = search(self._ws, question, group, 2 * MOST, mode=self._mode)
        if found.notes:
            raise SystemExit(found.notes[0])
        sessions = (hit.session_id.removesuffix("-talk") for hit in found.hits if hit.session_id)
        return list(dict.fromkeys(sessions))[:MOST]


@contextmanager
def meaning(folder: Path, material: Material, modes: Sequence[str], model: Path | None) -> Iterator[Sequence[Ranker]]:
    """The modes that are asked for, each passage embedded by the model of a folder, else by the packaged one."""
    with captured(folder, material) as plain:
        vector_file = folder / ".lineage" / "vectors.db"
        ws = replace(
            plain, vector_file=vector_file, embedding=EmbeddingModel(LocalEmbedder(model or find_packaged_model()))
        )
        done = embed_pending(ws)
        if done.failed:
            raise SystemExit(f"nothing embedded: {done.failed}")
        yield [Meaning(ws, mode) for mode in modes]
