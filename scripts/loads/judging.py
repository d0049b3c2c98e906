"""What lies in a workspace after a load, compared with what should: read from the files alone."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from lineage.app.workspace import open_workspace
from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, parse_document
from lineage.errors import FormatError
from lineage.pipeline.capture.session import CAPTURED
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.store import read_or_none
from lineage.store.temporaries import TEMP_PREFIX, parse_displaced
from lineage.workspace.workspace import Workspace
from loads.sessions import NOON, Load, texts_of, token_of
from loads.working import Tally


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts that have to be 0. `doubled` counts files, answers and turns that exist once too often."""

    lost: int
    torn: int
    doubled: int
    errors: int
    findings: int
    stale: int

    @property
    def is_clean(self) -> bool:
        return not any((self.lost, self.torn, self.doubled, self.errors, self.findings, self.stale))


def judged(root: Path, load: Load, tally: Tally) -> Verdict:
    ws = open_workspace(root)
    try:
        artifacts, torn = _read(ws)
        texts = _texts(artifacts)
        wanted = {token_of(session): texts_of(session) for session in load.ids}
        kinds = Counter((artifact.identity.token, artifact.kind) for artifact in artifacts)
        return Verdict(
            lost=sum(not set(lines) <= set(texts[token]) for token, lines in wanted.items()),
            torn=torn + sum(map(_is_torn, root.rglob(f"{TEMP_PREFIX}*"))),
            doubled=_surplus(kinds.values())
            + sum(_surplus(Counter(lines).values()) for lines in texts.values())
            + max(tally.outcomes[CAPTURED] - len(load.ids), 0),
            errors=tally.errors.total(),
            findings=len(verify(replace(ws, now=NOON))),
            stale=_memory_md(ws) != _from_scratch(root),
        )
    finally:
        ws.close()


def _read(ws: Workspace) -> tuple[list[Artifact], int]:
    """Every artifact, and how many files hold no whole document."""
    artifacts, torn = [], 0
    for entry in ws.documents.store.list(naming.MEMORY):
        try:
            document = parse_document(ws.documents.store.read(entry.key).data, entry.key)
        except FormatError:
            torn += 1
            continue
        if isinstance(document, Artifact):
            artifacts.append(document)
    return artifacts, torn


def _is_torn(temporary: Path) -> bool:
    """Return whether a file was left by accident: one that was read while it was replaced waits, whole."""
    displaced = parse_displaced(temporary.name)
    return displaced is None or not displaced.is_finished or displaced.find_known(temporary.read_bytes()) is None


def _texts(artifacts: Iterable[Artifact]) -> dict[str, list[str]]:
    """The text of every captured turn, by session."""
    found: dict[str, list[str]] = defaultdict(list)
    for artifact in artifacts:
        if artifact.kind == naming.TRANSCRIPT:
            found[artifact.identity.token] += [turn.text for turn in transcript.parse_turns(artifact.body)]
    return found


def _surplus(counts: Iterable[int]) -> int:
    return sum(count - 1 for count in counts)


def _memory_md(ws: Workspace) -> bytes | None:
    blob = read_or_none(ws.documents.store, naming.memory_md_path("default"))
    return blob.data if blob else None


def _from_scratch(root: Path) -> bytes | None:
    """MEMORY.md as it comes out of the canonical files alone, in a workspace that has nothing else."""
    with TemporaryDirectory(prefix="lineage-load-") as folder:
        shutil.copytree(root / naming.MEMORY, Path(folder, naming.MEMORY))
        ws = replace(open_workspace(Path(folder), create=True), now=NOON)
        try:
            reindex(ws)
            return _memory_md(ws)
        finally:
            ws.close()
