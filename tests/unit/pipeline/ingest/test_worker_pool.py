"""What the processes of an import begin with.

Fails without `setswitchinterval` in `_start_process`, and where a process that imports its modules gets a Ctrl-C.
"""

import signal
import sys
from collections.abc import Sequence

import pytest

from lineage.pipeline.ingest.worker_pool import open_worker_pool


def _intervals(items: Sequence[int]) -> list[float]:
    return [sys.getswitchinterval() for _ in items]


@pytest.mark.slow
def test_who_writes_rows_gets_the_interpreter_back_soon() -> None:
    own = sys.getswitchinterval()
    with open_worker_pool(2) as pool:
        theirs = pool.map_chunks(_intervals, [1, 2], lambda *_: None, chunk=1)
    assert max(theirs) <= own / 5
    assert sys.getswitchinterval() == own


def _ask_whether_interrupts_wait(items: Sequence[int]) -> list[bool]:
    return [signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []) for _ in items]


@pytest.mark.slow
def test_ctrl_c_is_the_business_of_who_started_them() -> None:
    with open_worker_pool(2) as pool:
        assert all(pool.map_chunks(_ask_whether_interrupts_wait, range(8), lambda *_: None, chunk=1))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
