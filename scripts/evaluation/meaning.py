"""`lineage search` by meaning, with the local embedding model, over the workspace that the words are asked of too."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.rankers import MOST, Ranker, first_sessions
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

    def __call__(self, question: str, group: str | None) -> list[str]:
        found = search(self._ws, question, group, 2 * MOST, mode=self._mode)
        if found.notes:
            raise SystemExit(found.notes[0])
        return first_sessions(hit.session_id for hit in found.hits)


def meanings(ws: Workspace, folder: Path, modes: Sequence[str], model: Path | None) -> Sequence[Ranker]:
    """The modes that are asked for; vectors by the model of a folder, else by the packaged one, lie in `folder`."""
    if not modes:
        return ()
    embedding = EmbeddingModel(LocalEmbedder(model or find_packaged_model()))
    ws = replace(ws, vector_file=folder / "vectors.db", embedding=embedding)
    done = embed_pending(ws)
    if done.failed:
        raise SystemExit(f"nothing embedded: {done.failed}")
    return [Meaning(ws, mode) for mode in modes]
