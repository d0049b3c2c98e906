"""What lies in the bucket and the index after a fleet, compared with what should: read from the objects alone."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loads.sessions import NOON, texts_of, token_of

from fleets.agent import view_of
from fleets.conducting import Run
from fleets.plan import Fleet
from lineage.app.databases import INDEX_VARIABLE
from lineage.app.locations import resolve_workspace_root
from lineage.app.workspace import open_workspace
from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, parse_document
from lineage.errors import FormatError
from lineage.pipeline.capture.session import CAPTURED
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.store import LocalStore, Store
from lineage.workspace.workspace import Workspace

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts that have to be 0. `doubled` counts objects, answers and turns that exist once too often, `back` what is
    there of removed sessions, `views` how many machines see something else than an index made anew from the objects."""

    lost: int
    torn: int
    doubled: int
    back: int
    errors: int
    findings: int
    views: int

    @property
    def is_clean(self) -> bool:
        return not any(astuple(self))


def judged(url: str, fleet: Fleet, run: Run) -> Verdict:
    """The verdict. This process has a home whose configuration reaches the servers."""
    with closing(_opened(resolve_workspace_root(url))) as ws:
        objects = _objects(ws.documents.store)
        artifacts, torn = _artifacts(objects)
        texts = _texts(artifacts)
        removed = {token_of(session) for session in fleet.removed}
        kept = {token_of(session): texts_of(session) for session in fleet.ids if token_of(session) not in removed}
        files = Counter((artifact.identity.token, artifact.kind) for artifact in artifacts)
        return Verdict(
            lost=sum(not set(lines) <= set(texts[token]) for token, lines in kept.items())
            + len(removed - ws.documents.tombstones.list_tokens()),
            torn=torn,
            doubled=_surplus(files.values())
            + sum(_surplus(Counter(lines).values()) for lines in texts.values())
            + max(_captured(run) - len(fleet.ids), 0),
            back=_back(objects, removed) + sum(len(ws.index.list_session_files(token)) for token in removed),
            errors=sum(count for outcome, count in run.outcomes.items() if outcome.startswith("error")),
            findings=len(verify(ws)),
            views=_other_views(objects, run),
        )


def _opened(root: Path) -> Workspace:
    return replace(open_workspace(root, create=True), now=NOON)


def _objects(store: Store) -> dict[str, bytes]:
    """Everything that people can see, by key."""
    keys = [entry.key for entry in store.list("")]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(keys, pool.map(lambda key: store.read(key).data, keys), strict=True))


def _artifacts(objects: Mapping[str, bytes]) -> tuple[list[Artifact], int]:
    """Every artifact, and how many objects below `memory/` hold no whole document."""
    artifacts, torn = [], 0
    for key, data in objects.items():
        if not key.startswith(naming.MEMORY):
            continue
        try:
            document = parse_document(data, key)
        except FormatError:
            torn += 1
            continue
        if isinstance(document, Artifact):
            artifacts.append(document)
    return artifacts, torn


def _texts(artifacts: Iterable[Artifact]) -> dict[str, list[str]]:
    """The text of every captured turn, by session."""
    found: dict[str, list[str]] = defaultdict(list)
    for artifact in artifacts:
        if artifact.kind == naming.TRANSCRIPT:
            found[artifact.identity.token] += [turn.text for turn in transcript.parse_turns(artifact.body)]
    return found


def _captured(run: Run) -> int:
    return sum(count for outcome, count in run.outcomes.items() if outcome.startswith(CAPTURED))


def _surplus(counts: Iterable[int]) -> int:
    return sum(count - 1 for count in counts)


def _back(objects: Mapping[str, bytes], removed: set[str]) -> int:
    """How many objects belong to a removed session or name it, but for its tombstone."""
    buried = {naming.tombstone_path(token) for token in removed}
    texts = {key: f"{key}\n{data.decode('utf-8', 'replace')}" for key, data in objects.items() if key not in buried}
    return sum(not removed.isdisjoint(naming.find_tokens(text)) for text in texts.values())


def _other_views(objects: Mapping[str, bytes], run: Run) -> int:
    """How many machines see another memory than a folder with the same objects and a new index shows."""
    wanted = _from_scratch(objects)
    seen = [json.loads(place.view.read_text()) for place in run.places if place.agent == 0]
    return sum(view != wanted for view in seen)


def _from_scratch(objects: Mapping[str, bytes]) -> Any:
    with TemporaryDirectory(prefix="lineage-fleet-") as folder:
        store = LocalStore(Path(folder))
        for key, data in objects.items():
            if key.startswith(naming.MEMORY):
                store.create(key, data)
        os.environ[INDEX_VARIABLE] = ""
        try:
            with closing(_opened(Path(folder))) as ws:
                reindex(ws)
                return json.loads(json.dumps(view_of(ws)))
        finally:
            del os.environ[INDEX_VARIABLE]
