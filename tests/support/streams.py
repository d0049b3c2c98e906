"""Everything that is long enough to be streamed: with these bounds nothing is held that could be gone through."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lineage.core import transcript
from lineage.core.sanitizer import seams
from lineage.harness import jsonl
from lineage.pipeline.capture import source
from lineage.store import local


@contextmanager
def held(most: int) -> Iterator[None]:
    """At most so many characters of turns, or bytes of a file, are held; so many lines are looked at at once."""
    with pytest.MonkeyPatch.context() as patched:
        for module, bound in (
            (jsonl, "MOST_CHARS"),
            (source, "_MOST_HELD"),
            (seams, "BATCH"),
            (transcript, "_AT_ONCE"),
            (local, "MOST_HELD"),
        ):
            patched.setattr(module, bound, most)
        patched.setattr(local, "_PIECE", max(1 << 12, most))
        yield
