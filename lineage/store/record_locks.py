"""Mutual exclusion between machines: a record that is changed by compare-and-swap, for stores that know no locks.

Nobody's clock is compared with anybody else's: whoever waits watches the record, and takes it over when it has not
moved for its whole time to live by the waiter's own monotonic clock. A holder moves it, by a number that grows, for as
long as it lives. One that was stalled for longer may be overtaken and not know it: what keeps a single key safe is that
it is only ever replaced by version. (spec: concurrency contract)
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage.errors import LineageError
from lineage.store.base import Blob, BusyError, ConflictError, ExistsError, Store
from lineage.store.helpers import read_or_none

TTL_SECONDS = 30.0

_PREFIX = ".lineage/locks/"
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.5
_GROWTH = 1.5


class _Record(NamedTuple):
    """`fence` grows by one with every holder, `beat` while one holds it."""

    fence: int = 0
    beat: int = 0
    holder: str = ""


@dataclass
class RecordLocks:
    """The mutexes of one user of a store. `holder` names who excludes itself by other means already: a record that says
    the same name is one that it left behind when it died.

    A record counts as left behind by anybody after `ttl` seconds without a move.
    """

    store: Store
    holder: str
    ttl: float = TTL_SECONDS
    _watched: dict[str, tuple[str, float]] = field(default_factory=dict, repr=False)

    @contextmanager
    def lock(self, name: str, *, wait: bool) -> Iterator[None]:
        """Holds the mutex. Raises BusyError where somebody else does and `wait` is False."""
        held = _HeldLock(self, f"{_PREFIX}{name}.mutex")
        held.acquire(wait=wait)
        try:
            with _renew_in_background(held):
                yield
        finally:
            held.release()

    def is_abandoned(self, key: str, version: str) -> bool:
        """Whether a record has not moved for its whole time to live, as far as this process has watched it."""
        watched, since = self._watched.get(key, ("", 0.0))
        if watched != version:
            self._watched[key] = (version, time.monotonic())
            return False
        return time.monotonic() - since >= self.ttl


@dataclass
class _HeldLock:
    """One holding of a mutex: its record, as this holder wrote it last."""

    records: RecordLocks
    key: str
    record: _Record = field(default_factory=_Record)
    version: str = ""
    writing: threading.Lock = field(default_factory=threading.Lock)

    def acquire(self, *, wait: bool) -> None:
        pause = _MIN_PAUSE
        while True:
            blob = read_or_none(self.records.store, self.key)
            found = _parse_record(blob)
            is_free = found.holder in ("", self.records.holder)
            if is_free or (blob is not None and self.records.is_abandoned(self.key, blob.version)):
                with contextlib.suppress(ConflictError, ExistsError):
                    self._write(_Record(found.fence + 1, 0, self.records.holder), blob)
                    return
            elif not wait:
                raise BusyError(f"{self.key} is held by somebody else")
            time.sleep(pause)
            pause = min(pause * _GROWTH, _MAX_PAUSE)

    def renew(self) -> bool:
        """Moves the record on; False where it is somebody else's by now, or the store does not answer."""
        with self.writing, contextlib.suppress(LineageError):
            self._write(self.record._replace(beat=self.record.beat + 1), self.version)
            return True
        return False

    def release(self) -> None:
        """Gives the mutex back, where it is still this holder's. Where the store does not answer, the record is taken
        over later: what was done under it is done."""
        with self.writing, contextlib.suppress(LineageError):
            self._write(self.record._replace(holder=""), self.version)

    def _write(self, record: _Record, previous: Blob | str | None) -> None:
        data = json.dumps(record._asdict(), sort_keys=True).encode()
        if previous is None:
            self.version = self.records.store.create(self.key, data)
        else:
            version = previous if isinstance(previous, str) else previous.version
            self.version = self.records.store.replace(self.key, data, version)
        self.record = record


@contextmanager
def _renew_in_background(held: _HeldLock) -> Iterator[None]:
    """Moves the record in the background for as long as the block runs."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(held.records.ttl / 3):
            held.renew()

    thread = threading.Thread(target=beat, name="lineage-mutex", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _parse_record(blob: Blob | None) -> _Record:
    """A missing or damaged record is free."""
    if blob is None:
        return _Record()
    try:
        found = json.loads(blob.data)
        return _Record(int(found["fence"]), int(found["beat"]), str(found["holder"]))
    except (ValueError, TypeError, KeyError):
        return _Record()
