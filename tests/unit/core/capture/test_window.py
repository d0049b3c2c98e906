"""The window of the ledger: thirty days, both ends included, by the time a session ended."""

from lineage.core.base.times import shift_time
from lineage.core.capture.window import Window, compute_membership

NOW = "2026-03-31T10:00:00.000Z"


def test_both_ends_belong_to_the_window_and_a_millisecond_beyond_does_not() -> None:
    window = Window.from_end(NOW)
    for end in (shift_time(NOW, days=-30), NOW):
        assert window.contains(end)
    assert not window.contains(shift_time(NOW, days=-30, milliseconds=-1))
    assert not window.contains(shift_time(NOW, milliseconds=1))


def test_a_session_belongs_to_its_end_and_to_its_capture_only_where_that_is_unknown() -> None:
    assert compute_membership("2026-03-01T00:00:00.000Z", NOW) == "2026-03-01T00:00:00.000Z"
    assert compute_membership(None, NOW) == NOW
