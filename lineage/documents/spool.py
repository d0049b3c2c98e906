"""The spool: unfinished flows of this machine, the only place for raw text (law 1; law 2)."""

from dataclasses import dataclass

from lineage.core.format.job import REMOVAL, Job, parse_job, serialize_job
from lineage.errors import FormatError
from lineage.store import Store, read_or_none, update

_PREFIX = "spool/"


@dataclass(frozen=True, slots=True)
class Spool:
    """Jobs in a private store: files 0600 in folders 0700."""

    store: Store

    def put(self, job: Job) -> None:
        """Write a job, over an older one of the same flow."""
        update(self.store, _PREFIX + job.name, lambda _: serialize_job(job))

    def clear(self, job: Job) -> None:
        """Delete the job of a finished flow."""
        self.store.delete(_PREFIX + job.name)

    def list_pending(self, token: str | None = None) -> list[Job]:
        """Return the unfinished jobs of a session, or all, oldest first. Damaged files stay, see `list_damaged`."""
        return self._read_jobs(token)[0]

    def discard(self, token: str) -> list[str]:
        """Delete every spool file of a session, readable or not, but the job of its removal. Return the files."""
        keys = [entry.key for entry in self.store.list(_PREFIX) if f"--{token}--" in entry.key]
        deleted = [key for key in keys if not key.endswith(f"--{REMOVAL}.json")]
        for key in deleted:
            self.store.delete(key)
        return deleted

    def list_damaged(self) -> list[str]:
        """Return the spool files without a job that this version can read."""
        return self._read_jobs(None)[1]

    def _read_jobs(self, token: str | None) -> tuple[list[Job], list[str]]:
        jobs, damaged = [], []
        for entry in self.store.list(_PREFIX):
            # Folders below the spool hold the events of hooks.
            if "/" in entry.key.removeprefix(_PREFIX) or (token and f"--{token}--" not in entry.key):
                continue
            blob = read_or_none(self.store, entry.key)
            try:
                if blob:
                    jobs.append(parse_job(blob.data))
            except FormatError:
                damaged.append(entry.key)
        return jobs, damaged
