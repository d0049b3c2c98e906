"""Lessons, 33: "Daily and idle reset are settings that no code reads. The right rule: stale if the last real message is
earlier than the most recent reset instant, or idle too long, whichever comes first, judged on the next message; an
exact `/new` or `/reset`, the rest of the message passing through."

Fails where a setting is ignored, where the rule goes by anything but the last real message and the moment of the next
one, and where `/new` is found in other words or eats what follows it.
"""

from pathlib import Path

import pytest

from lineage.pipeline.conversations.lanes import DAILY, IDLE, parse_reset_command
from tests.scenarios.test_lanes import shown, talked

TALKED = "2026-11-20T09:01:00.000Z"
NOON = "2026-11-20T12:00:00.000Z"
NEXT_NOON = "2026-11-21T12:00:00.000Z"


@pytest.mark.parametrize(
    ("settings", "at_noon", "the_next_day"),
    [
        ('daily_reset = ""', None, None),
        ('daily_reset = "11:30"', DAILY, DAILY),
        ('daily_reset = "11:30"\nreset_time_zone = "America/New_York"', None, DAILY),
        ('daily_reset = ""\nidle_minutes = 179', IDLE, IDLE),
        ('daily_reset = ""\nidle_minutes = 180', None, IDLE),
        ('daily_reset = "11:30"\nidle_minutes = 120', IDLE, IDLE),
        ('daily_reset = "10:30"\nidle_minutes = 120', DAILY, DAILY),
    ],
)
def test_every_setting_is_heeded(tmp_path: Path, settings: str, at_noon: str | None, the_next_day: str | None) -> None:
    (tmp_path / "lineage.toml").write_text(f"[sessions]\n{settings}\n")
    talked(tmp_path, "s-1")
    for moment, why in ((NOON, at_noon), (NEXT_NOON, the_next_day)):
        found = shown(tmp_path, moment)
        assert (found.last_message, found.current) == (TALKED, "s-1")
        assert (found.why if found.stale else None) == why


def test_a_new_session_is_asked_for_by_the_exact_word_alone() -> None:
    said = ["/new", "/reset Where were we?", "/renew", "/new-branch please", "Type /new", "/NEW"]
    assert [parse_reset_command(message) for message in said] == [
        (True, ""),
        (True, "Where were we?"),
        *((False, message) for message in said[2:]),
    ]
