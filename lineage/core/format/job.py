"""A spool job: what a flow needs to be finished by somebody else, after a crash. (format: Sentence; law 1)

It carries the payload, the moment of the signal and the sentence, so that a retry adopts both and never makes a second
sentence. The payload may hold raw text: jobs lie in the spool and nowhere else.
"""

import json
from typing import Any, NamedTuple, get_origin

from lineage.errors import FormatError

VERSION = 1
REMOVAL = "remove"
RESANITIZE = "resanitize"
IMPORT = "bundle-import"
ARCHIVAL = "archive"
"""The flows besides the spec's two (see `request`)."""


class Job(NamedTuple):
    """One unfinished flow of one session. `quality` is the sentence's: `ok` or `fallback`."""

    flow: str
    token: str
    captured_at: str
    sentence: str
    quality: str
    payload: dict[str, Any]
    version: int = VERSION

    def __repr__(self) -> str:
        """Nothing of what is in the payload: that may be raw text."""
        return f"Job({self.name})"

    @property
    def name(self) -> str:
        """A file name that sorts by time and is found by token."""
        return f"{self.captured_at.replace(':', '-')}--{self.token}--{self.flow}.json"


def serialize_job(job: Job) -> bytes:
    return json.dumps(job._asdict(), indent=1, sort_keys=True).encode() + b"\n"


def parse_job(data: bytes) -> Job:
    """The job that a spool file holds. Raises FormatError for anything else, newer versions included."""
    try:
        value: dict[str, Any] = json.loads(data)
        job = _check_types(Job(**value))
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError("not a spool job", hint="run `lineage status`; the file stays in the spool") from error
    if job.version != VERSION:
        raise FormatError(f"a spool job of version {job.version}", hint="upgrade lineage")
    return job


def _check_types(job: Job) -> Job:
    """The job itself. Raises TypeError where a value is of another type than its field."""
    for name, value in job._asdict().items():
        known: Any = Job.__annotations__[name]
        if type(value) is not (get_origin(known) or known):
            raise TypeError(f"{name} is of another type")
    return job
