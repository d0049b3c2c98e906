"""A claim that another machine makes between a capture's plan and its first write.

Fails without the comparison of the claimed stem with the intended one: two manifests of one session would be written.
"""

from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.format.job import Job
from lineage.documents.spool import Spool
from lineage.pipeline.maintenance.verify import verify
from lineage.store import ConflictError, LocalStore
from tests.support.workspace import at_time, build_end_request, end_session, open_test_workspace

EARLIER = "2026-11-21T11:59:00.000Z"


@pytest.mark.in_folder
def test_a_session_that_another_machine_claims_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machines share a synced folder; neither knows the other's locks."""
    one_store, two_store = (
        LocalStore(tmp_path / "shared", locks=tmp_path / f"locks-{name}") for name in ("one", "two")
    )
    with (
        open_test_workspace(tmp_path / "one", store=one_store) as one,
        open_test_workspace(tmp_path / "two", store=two_store) as two,
    ):
        spool, put = one.documents.spool, Spool.put

        def put_while_another_claims(own: Spool, job: Job) -> None:
            monkeypatch.undo()
            put(own, job)
            end_session(at_time(two, EARLIER), "s-1")

        monkeypatch.setattr(Spool, "put", put_while_another_claims)
        with pytest.raises(ConflictError, match="claimed"):
            end_session(one, "s-1")
        names = [naming.parse_path(entry.key) for entry in one_store.list(naming.MEMORY)]
        stems = {name.stem for name in names if name}
        assert len(stems) == 1, "nothing was written under the stem that lost"
        token = build_end_request(one, "s-1").token
        assert [job.captured_at for job in spool.list_pending(token)] == [one.now]
        assert end_session(one, "s-1").status == "unchanged"
        assert (spool.list_pending(token), verify(one)) == ([], [])
