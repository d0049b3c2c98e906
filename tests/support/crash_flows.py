"""The flows that are made to die, on real workspaces, and what has to be true afterwards."""

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lineage.app import locations
from lineage.app.workspace import run_in_workspace
from lineage.core.base import naming
from lineage.core.base.hook_protocol import CONTEXT_CACHE
from lineage.core.base.links import wikilink
from lineage.core.base.times import format_time
from lineage.core.books.entry import compute_entry_id
from lineage.core.format.documents import parse_document
from lineage.harness.detect_caller import Caller
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.remember import Memo, remember
from lineage.store import LocalStore
from lineage.store.temporaries import TEMP_PREFIX
from tests.support.commands import SAMPLE, SAMPLE_ID
from tests.support.dead_processes import copy_workspace
from tests.support.strace import KILLED, SystemCall, TracedProcesses

_TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
EARLIER, LATER = (format_time(_TODAY - timedelta(hours=hours)) for hours in (9, 5))
OTHER = "another-session"
_TIME_LINES = re.compile(rb"^(updated_at|write_id|removed_at): .*\n", re.MULTILINE)
_NAMES_OF_BYTES = re.compile(r"\b(?:\d+-\d+-\d+|[0-9a-f]{64})\b")

Preparation = Callable[[Path, TracedProcesses], object]


def write_first_half(root: Path) -> Path:
    """The sample as it was before its session was resumed; it lies outside of the workspace."""
    half = root.with_name("half.jsonl")
    half.write_text("".join(SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)[:9]), encoding="utf-8")
    return half


def session_end_arguments(path: Path = SAMPLE, at: str = LATER) -> tuple[str, ...]:
    session = ("--harness", "claude-code", "--session-id", SAMPLE_ID, "--transcript-path", str(path))
    return ("session-end", *session, "--ended-at", at, "--captured-at", at)


COMPACTION = ("compaction", *session_end_arguments()[1:], "--summary", "Goal: mend the reader. Done: the split.")
REMOVAL = ("remove", SAMPLE_ID, "--reason", "asked for", "--yes")


def _empty(root: Path, processes: TracedProcesses) -> None:
    assert processes.run(root, "init").code == 0


def _half(root: Path, processes: TracedProcesses) -> None:
    _empty(root, processes)
    assert processes.run(root, *session_end_arguments(write_first_half(root), EARLIER)).code == 0


def _full(root: Path, processes: TracedProcesses) -> None:
    _empty(root, processes)
    other = ("--harness", "generic", "--session-id", OTHER, "--transcript", "User: hello\nAssistant: good day")
    assert processes.run(root, "session-end", *other, "--captured-at", EARLIER).code == 0
    assert processes.run(root, *session_end_arguments()).code == 0


def _forgotten(root: Path, processes: TracedProcesses) -> None:
    """Everything that can be made again is gone: databases, claims, MEMORY.md."""
    _full(root, processes)
    shutil.rmtree(root / ".lineage")
    shutil.rmtree(root / "memory" / "claims")
    (root / "MEMORY.md").unlink()


def _out_of_date(root: Path, processes: TracedProcesses) -> None:
    _full(root, processes)
    (root / "MEMORY.md").write_text("# Memory\n\nFrom another day.\n")


def _unfinished(root: Path, processes: TracedProcesses) -> None:
    """An end that died when its transcript was there, a removal that died behind its tombstone, and no index."""
    _full(root, processes)
    assert processes.run(root, "remove", OTHER, "--yes", inject="?unlink,unlinkat:signal=KILL:when=5").code == KILLED
    assert list((root / "memory" / "tombstones").iterdir())
    more = ("--harness", "claude-code", "--session-id", "third", "--transcript-path", str(write_first_half(root)))
    # the removal above would be finished by the next command: only its own process must not see it
    spool = root / ".lineage" / "spool"
    shutil.move(spool, root.with_name("spool"))
    killed = processes.run(root, "session-end", *more, "--captured-at", LATER, inject="?link,linkat:signal=KILL:when=4")
    assert killed.code == KILLED
    shutil.copytree(root.with_name("spool"), spool, dirs_exist_ok=True)
    for path in (root / ".lineage").glob("index.db*"):
        path.unlink()


@dataclass(frozen=True)
class CrashFlow:
    """A command, and the workspace that it finds."""

    prepare: Preparation
    arguments: tuple[str, ...]


NOTE = "The staging server is rebuilt every night at four."
TASK = "Write the release notes of spring."
WAITING = "Releases are cut on every second Tuesday."


def _noted(root: Path, processes: TracedProcesses) -> None:
    _empty(root, processes)
    assert processes.run(root, "remember", NOTE).code == 0


def _with_all_kinds(root: Path, processes: TracedProcesses) -> None:
    """A note, a task, and an entry that waits."""
    _noted(root, processes)
    assert processes.run(root, "remember", TASK, "--kind", "task", "--scope", "project/demo").code == 0
    run_in_workspace(root, lambda ws: remember(ws, Memo(text=WAITING), Caller("claude-code")))


def _of_an_older_format(root: Path, processes: TracedProcesses) -> None:
    shutil.copytree(Path(__file__).parents[1] / "golden" / "format_1", root)
    assert processes.run(root, "reindex").code == 0


_UNKNOWN_SESSION = wikilink(naming.claim_path(naming.derive_unknown_session_token("default")))


def _book(
    verb: str, text: str, *more: str, scope: str = "global", kind: str = "note", origin: str | None = None
) -> CrashFlow:
    return CrashFlow(_with_all_kinds, ("book", verb, compute_entry_id(scope, kind, text, origin), *more))


FLOWS = {
    "remember": CrashFlow(_noted, ("remember", "Backups are taken on every Sunday evening.")),
    "forget": CrashFlow(_noted, ("book", "forget", compute_entry_id("global", "note", NOTE, None))),
    "recover": CrashFlow(_unfinished, ("recover",)),
    "first-end": CrashFlow(_empty, session_end_arguments()),
    "resumed-end": CrashFlow(_half, session_end_arguments()),
    "compaction": CrashFlow(_half, COMPACTION),
    "remove": CrashFlow(_full, REMOVAL),
    "reindex": CrashFlow(_forgotten, ("reindex",)),
    "render": CrashFlow(_out_of_date, ("render",)),
}

"""Flows that recovery finishes."""

VERBS = {
    "add": CrashFlow(_with_all_kinds, ("book", "add", "project/demo", "lesson", "Mend the cause, not the symptom.")),
    "edit": _book("edit", NOTE, "It is rebuilt every morning at six."),
    "done": _book("done", TASK, scope="project/demo", kind="task"),
    "pin": _book("pin", NOTE),
    "demote": _book("demote", NOTE, "project/demo"),
    "confirm": _book("confirm", WAITING, "--yes", origin=_UNKNOWN_SESSION),
    "migrate": CrashFlow(_with_all_kinds, ("book", "migrate", str(SAMPLE.parents[2] / "CHANGELOG.md"))),
}
"""The other commands on books. They share the calls of `remember` and `forget`, so only some are taken of each."""

REPEATED = {
    "upgrade": CrashFlow(_of_an_older_format, ("upgrade",)),
    "context": CrashFlow(_full, ("work",)),
}
"""Flows that the same command finishes: what they have not come to is as valid as before."""


OF_TODAY = datetime.now(UTC).toordinal()


def thin_out(points: list[SystemCall], flow: str, *, step: int = 4) -> list[SystemCall]:
    """Of the flows beside FLOWS every `step`th point, from one that moves on from day to day and flow to flow."""
    others = [*VERBS, *REPEATED]
    return points[(OF_TODAY + others.index(flow)) % step :: step] if flow in others else points


class CrashScene:
    """A flow's workspace, ready to be copied, and the states that its canonical files may be in.

    `start` is what the run finds, `done` what an uninterrupted run leaves. `untouched` and `finished` are the same two
    after a recovery.
    """

    def __init__(self, folder: Path, processes: TracedProcesses, flow: CrashFlow) -> None:
        self.flow, self._folder, self.template = flow, folder, folder / "start" / "w"
        self._judged: set[tuple[str, tuple[object, ...]]] = set()
        self.template.parent.mkdir(parents=True)
        flow.prepare(self.template, processes)
        self.start = read_state(self.template)
        root = self.copy("done")
        self.calls = processes.list_calls(root, *flow.arguments)
        self.done = read_state(root)
        self.finished = recover_and_read(root)
        self.untouched = recover_and_read(self.copy("untouched"))

    def copy(self, name: str) -> Path:
        root = self._folder / name / "w"
        copy_workspace(self.template, root)
        return root

    def delete(self, root: Path) -> None:
        shutil.rmtree(root.parent)

    def is_new(self, root: Path, judgement: str) -> bool:
        """Whether no workspace with the same bytes was asked about for this judgement yet."""
        key = judgement, tuple(read_everything(root))
        is_known = key in self._judged
        self._judged.add(key)
        return not is_known


def read_state(root: Path) -> dict[str, bytes]:
    """Every canonical file and prepared context without what differs from write to write: when and by whom."""
    return {key: _TIME_LINES.sub(b"", data) for key, data in read_documents(root).items()}


def read_documents(root: Path) -> dict[str, bytes]:
    """The bytes of every canonical file, what a sync would see and lineage wrote, and of prepared contexts."""
    found = [path for folder in ("memory", "books") for path in (root / folder).rglob("*")]
    files = [path for path in found if path.is_file() and not path.name.startswith(TEMP_PREFIX)]
    files += root.glob("MEMORY.md")
    files += (root / ".lineage" / CONTEXT_CACHE).glob("[!.]*")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(files)}


def read_everything(root: Path) -> Iterator[object]:
    """All that a later process of the same program can tell from a folder, databases included, but for write ids.

    A file's hash or stamp is told as the name of the file that has it; one that no file has stays, and so differs from
    run to run. Rows that are in a server are told by its id of the workspace alone, which no two have in common; nor is
    anything in a bucket the same as another.
    """
    if not isinstance(locations.open_store(root), LocalStore):
        yield object()
    files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if not path.is_dir()}
    names = {stamp: key for key, stamp in LocalStore(root, locks=root / ".lineage" / "locks").stat_all("").items()}
    for key, path in files.items():
        data = path.read_bytes()
        names[hashlib.sha256(data).hexdigest()] = key
        if path.suffix != ".db":
            name = path.with_name(TEMP_PREFIX) if path.name.startswith(TEMP_PREFIX) else path
            yield name.relative_to(root), path.stat().st_mode, _TIME_LINES.sub(b"", data)
    for key, path in files.items():
        if path.suffix == ".db":
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as opened:
                lines = "\n".join(opened.iterdump())
            yield key, _NAMES_OF_BYTES.sub(lambda found: names.get(found[0], found[0]), lines)


def recover_and_read(root: Path) -> dict[str, bytes]:
    """The state after a recovery, which leaves nothing to find, and nothing to do for a second one."""
    run_in_workspace(root, recover, needs_index=False)
    assert run_in_workspace(root, verify) == []
    assert not list(root.rglob(f"{TEMP_PREFIX}*")), "a dead writer's file was not collected"
    before = read_documents(root)
    again = run_in_workspace(root, recover, needs_index=False)
    assert read_documents(root) == before, "a second recovery changed a byte"
    assert not (again.finished or again.removals or again.merged or again.collected or again.waiting)
    return read_state(root)


def assert_consistent(root: Path, scene: CrashScene) -> None:
    """Each canonical file is one whole write of the run or of what it found, and the format's checks hold."""
    for key, data in read_state(root).items():
        assert data in (scene.start.get(key), scene.done.get(key)), f"{key} is neither as before nor as afterwards"
    for key, data in read_documents(root).items():
        if key.startswith("memory/"):
            parse_document(data, key)


def is_started(root: Path, scene: CrashScene) -> bool:
    """Whether the run had left a promise: a job, or a canonical file. Such a run is finished by whoever comes next."""
    return any((root / ".lineage" / "spool").glob("[!.]*.json")) or read_state(root) != scene.start


def assert_recoverable(root: Path, scene: CrashScene, processes: TracedProcesses) -> None:
    """Recovery makes it what an uninterrupted run makes; a run that had promised nothing is as if it had not been, and
    the next one succeeds."""
    begun = is_started(root, scene)
    found = recover_and_read(root)
    if begun or scene.untouched == scene.finished:
        assert found == scene.finished
        return
    assert found == scene.untouched
    assert processes.run(root, *scene.flow.arguments).code == 0
    assert read_state(root) == scene.finished
