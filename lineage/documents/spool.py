"""The spool: unfinished flows of this machine, the only place that may hold raw text. (law 1; law 2)"""

from typing import NamedTuple

from lineage.core.format.job import Job, parse_job, serialize_job
from lineage.errors import FormatError
from lineage.store import Store, read_or_none, update

_PREFIX = "spool/"


class Spool(NamedTuple):
    """Jobs in a private store: files 0600 in folders 0700."""

    store: Store

    def put(self, job: Job) -> None:
        update(self.store, _PREFIX + job.name, lambda _: serialize_job(job))

    def clear(self, job: Job) -> None:
        self.store.delete(_PREFIX + job.name)

    def list_pending(self, token: str | None = None) -> list[Job]:
        """Unfinished jobs, oldest first: all, or those of one session. Damaged files are left alone, see `damaged`."""
        return self._read_jobs(token)[0]

    def discard(self, token: str) -> list[str]:
        """Deletes every spool file of a session, readable or not; which ones. Its own removal's job stays."""
        keys = [entry.key for entry in self.store.list(_PREFIX) if f"--{token}--" in entry.key]
        gone = [key for key in keys if not key.endswith("--remove.json")]
        for key in gone:
            self.store.delete(key)
        return gone

    def list_damaged(self) -> list[str]:
        """Spool files that hold no job that this version can read."""
        return self._read_jobs(None)[1]

    def _read_jobs(self, token: str | None) -> tuple[list[Job], list[str]]:
        jobs, damaged = [], []
        for entry in self.store.list(_PREFIX):
            if "/" in entry.key.removeprefix(_PREFIX) or (token and f"--{token}--" not in entry.key):
                continue
            blob = read_or_none(self.store, entry.key)
            try:
                if blob:
                    jobs.append(parse_job(blob.data))
            except FormatError:
                damaged.append(entry.key)
        return jobs, damaged
