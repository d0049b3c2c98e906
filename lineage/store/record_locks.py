"""Locks between machines, for stores that have none: a record that is changed by compare-and-swap.

Clocks of two machines are never compared. A waiter watches the record and takes it over if it has not changed for its
whole time to live by the waiter's own monotonic clock. A live holder renews it with a growing number. A holder that
stalls for longer may lose the lock without noticing: single keys are safe only because they are replaced by version.
(spec: concurrency contract)
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

from lineage.errors import LineageError
from lineage.store.base import Blob, BusyError, ConflictError, ExistsError, Store
from lineage.store.helpers import read_or_none

TTL_SECONDS = 30.0

_PREFIX = ".lineage/locks/"
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.5
_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class _Record:
    """The content of a lock's key. `fence` grows by one with every holder, `beat` with every renewal."""

    fence: int = 0
    beat: int = 0
    holder: str = ""


@dataclass
class RecordLocks:
    """The locks of one user of a store.

    Users under the same `holder` name exclude each other by other means: a record with that name is a leftover of one
    that died, and free. Any record counts as abandoned after `ttl` seconds without a renewal.
    """

    store: Store
    holder: str
    ttl: float = TTL_SECONDS
    _watched: dict[str, tuple[str, float]] = field(default_factory=dict, repr=False)

    @contextmanager
    def lock(self, name: str, *, wait: bool) -> Iterator[None]:
        """Hold the lock. Raises BusyError if another user does and `wait` is False."""
        held = _HeldLock(self, f"{_PREFIX}{name}.mutex")
        held.acquire(wait=wait)
        try:
            with _renew_in_background(held):
                yield
        finally:
            held.release()

    def is_abandoned(self, key: str, version: str) -> bool:
        """Tell whether this process has seen no renewal of a record for its whole time to live."""
        watched, since = self._watched.get(key, ("", 0.0))
        if watched != version:
            self._watched[key] = (version, time.monotonic())
            return False
        return time.monotonic() - since >= self.ttl


@dataclass
class _HeldLock:
    """A lock that is held: its record as this holder wrote it last."""

    records: RecordLocks
    key: str
    record: _Record = field(default_factory=_Record)
    version: str = ""
    writing: threading.Lock = field(default_factory=threading.Lock)

    def acquire(self, *, wait: bool) -> None:
        pause = _MIN_PAUSE
        while True:
            blob = read_or_none(self.records.store, self.key)
            record = _parse_record(blob)
            is_free = record.holder in ("", self.records.holder)
            if is_free or (blob is not None and self.records.is_abandoned(self.key, blob.version)):
                with contextlib.suppress(ConflictError, ExistsError):  # another waiter was faster
                    self._write(_Record(record.fence + 1, 0, self.records.holder), blob.version if blob else None)
                    return
            elif not wait:
                raise BusyError(f"{self.key} is held by somebody else")
            time.sleep(pause)
            pause = min(pause * _GROWTH, _MAX_PAUSE)

    def renew(self) -> bool:
        """Renew the record; return False if it passed on, or if the store does not answer."""
        with self.writing, contextlib.suppress(LineageError):
            self._write(replace(self.record, beat=self.record.beat + 1), self.version)
            return True
        return False

    def release(self) -> None:
        """Give the lock back, if it has not passed on."""
        # Without an answer the record expires; the work under the lock is done either way.
        with self.writing, contextlib.suppress(LineageError):
            self._write(replace(self.record, holder=""), self.version)

    def _write(self, record: _Record, version: str | None) -> None:
        data = json.dumps(asdict(record), sort_keys=True).encode()
        store = self.records.store
        self.version = store.create(self.key, data) if version is None else store.replace(self.key, data, version)
        self.record = record


@contextmanager
def _renew_in_background(held: _HeldLock) -> Iterator[None]:
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(held.records.ttl / 3):
            held.renew()

    thread = threading.Thread(target=renew, name="lineage-mutex", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _parse_record(blob: Blob | None) -> _Record:
    """Return the record; a missing or damaged one is free."""
    if blob is None:
        return _Record()
    try:
        fields = json.loads(blob.data)
        return _Record(int(fields["fence"]), int(fields["beat"]), str(fields["holder"]))
    except (ValueError, TypeError, KeyError):
        return _Record()
