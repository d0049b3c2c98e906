"""Spool jobs: all that another process needs to finish a flow after a crash (format: Sentence; law 1)."""

import json
from dataclasses import asdict, dataclass
from typing import Any, get_origin, get_type_hints

from lineage.errors import FormatError

VERSION = 1
REMOVAL = "remove"
RESANITIZE = "resanitize"
IMPORT = "bundle-import"
ARCHIVAL = "archive"
BOOKS = "books"
"""The flows besides the spec's two (see `request`)."""


@dataclass(frozen=True, slots=True, repr=False)
class Job:
    """An unfinished flow of one session. `quality` is that of the sentence: `ok` or `fallback`."""

    flow: str
    token: str
    captured_at: str
    sentence: str
    quality: str
    payload: dict[str, Any]
    version: int = VERSION

    def __repr__(self) -> str:
        # Without the payload: it may be raw text, and this ends up in error reports.
        return f"Job({self.name})"

    @property
    def name(self) -> str:
        """The file name: it sorts by time and contains the token."""
        return f"{self.captured_at.replace(':', '-')}--{self.token}--{self.flow}.json"


def serialize_job(job: Job) -> bytes:
    """Return the spool file of a job."""
    return json.dumps(asdict(job), indent=1, sort_keys=True).encode() + b"\n"


def parse_job(data: bytes) -> Job:
    """Return the job in a spool file. Raises FormatError for anything else, other versions included."""
    try:
        value: dict[str, Any] = json.loads(data)
        job = Job(**value)
        for name, hint in get_type_hints(Job).items():
            if type(getattr(job, name)) is not (get_origin(hint) or hint):
                raise TypeError(f"{name} is of another type")
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError("not a spool job", hint="run `lineage status`; the file stays in the spool") from error
    if job.version != VERSION:
        raise FormatError(f"a spool job of version {job.version}", hint="upgrade lineage")
    return job
