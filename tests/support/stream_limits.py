"""Everything that is long enough to be streamed: with these bounds nothing is held that could be gone through."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lineage.core.format import transcript_v1
from lineage.core.sanitizer import split_secrets
from lineage.harness import adapter
from lineage.pipeline.capture import source
from lineage.store import local


@contextmanager
def limit_streams(limit: int) -> Iterator[None]:
    """At most so many characters of turns, or bytes of a file, are held; so many lines are looked at at once."""
    with pytest.MonkeyPatch.context() as patched:
        for module, bound in (
            (adapter, "MAX_BUFFERED_CHARS"),
            (source, "_MAX_HELD_CHARS"),
            (split_secrets, "BATCH_CHARS"),
            (transcript_v1, "_BUFFER_SIZE"),
            (local, "MAX_BYTES_IN_MEMORY"),
        ):
            patched.setattr(module, bound, limit)
        patched.setattr(local, "_CHUNK_BYTES", max(1 << 12, limit))
        yield
