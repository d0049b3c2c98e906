"""Change notifications of the operating system about a workspace's folders, by watchdog."""

import logging
import os
import queue
import stat
from contextlib import AbstractContextManager
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from lineage.errors import WorkspaceError
from lineage.pipeline.maintenance.watch import BOOKS, FOLDERS, is_hint

# It warns on stderr of each event that comes while an observer stops: a scan follows anyway.
logging.getLogger("watchdog").addHandler(logging.NullHandler())

_CHANGES: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent,
    events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent,
]  # fmt: skip
"""Opening and reading are left out: a scan must not trigger the next one."""

_MAX_WAIT_SECONDS = 1.0 if os.name == "nt" else 86400.0
"""On Windows a signal does not interrupt a wait: it is seen when the wait ends."""

_Identity = tuple[int, int] | None


class FileEvents(AbstractContextManager["FileEvents"], events.FileSystemEventHandler):
    """The notifications of one workspace. `listen` subscribes to the folders that exist at that time."""

    def __init__(self, root: Path) -> None:
        self.ended = False
        self._root = self._base = root
        self._hints: queue.SimpleQueue[None] = queue.SimpleQueue()  # put is safe in a signal handler
        self._observer: BaseObserver | None = None
        self._watches: dict[str, tuple[_Identity, ObservedWatch]] = {}
        self._stale: set[str] = set()

    def __exit__(self, *_: object) -> None:
        if self._observer:
            self._observer.stop()
            self._observer.join()

    def wait(self, seconds: float) -> bool:
        """Wait for a hint, at most so many seconds; return whether there was one."""
        try:
            self._hints.get(timeout=min(seconds, _MAX_WAIT_SECONDS))
        except queue.Empty:
            return False
        return True

    def stop(self) -> None:
        """End the watch. Safe in a signal handler."""
        self.ended = True
        self._hints.put(None)

    def listen(self) -> None:
        """Subscribe to new and replaced folders, unsubscribe from deleted ones. Called before each scan.

        Raises WorkspaceError if the system has no more watches: the timer still finds every change.
        """
        try:
            self._base = self._root.resolve()
            if self._observer is None:
                observer = Observer()
                observer.start()
                self._observer = observer
            for folder in FOLDERS:
                self._update_watch(self._observer, folder)
        except OSError as error:
            raise WorkspaceError(
                f"changes are not seen as they happen: {error.strerror or error}",
                hint="they are found on the timer; on Linux a higher `fs.inotify.max_user_watches` helps",
            ) from error

    def _update_watch(self, observer: BaseObserver, folder: str) -> None:
        # only books have subfolders of lineage's; deeper ones elsewhere are the user's
        is_stale = folder in self._stale
        self._stale.discard(folder)
        path = self._base / folder
        now = _read_identity(path)
        before, watch = self._watches.get(folder, (None, None))
        if now == before and not is_stale:
            return
        if watch:
            del self._watches[folder]
            observer.unschedule(watch)
        if now:
            recursive = folder == BOOKS.rstrip("/")
            watch = observer.schedule(self, str(path), recursive=recursive, event_filter=_CHANGES)
            self._watches[folder] = (now, watch)

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Record a hint for a path that matters; one pending hint stands for a whole burst."""
        if not event.is_directory and not self._hints.empty():
            return
        relative = (_relative_key(self._base, path) for path in (event.src_path, event.dest_path) if path)
        keys = {key for key in relative if key is not None}
        if event.is_directory:
            self._stale |= keys.intersection(FOLDERS)
        if any(map(is_hint, keys)) and self._hints.empty():
            self._hints.put(None)


def _read_identity(path: Path) -> _Identity:
    """Return device and inode of a folder, None for a missing one or a link: a replaced folder has others."""
    try:
        status = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _relative_key(root: Path, path: bytes | str) -> str | None:
    """Return the path relative to the workspace, None outside of it."""
    try:
        key = Path(os.fsdecode(path)).relative_to(root).as_posix()
    except ValueError:
        return None
    return "" if key == "." else key
