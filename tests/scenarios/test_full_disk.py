"""A full disk, a real one: a tmpfs of a few megabytes, filled to the last block but some.

Whatever space is left: what only reads answers as ever; what writes succeeds or says that the disk is full, and the
same command finishes once there is space; `remove` removes with none, and its receipt says what is so.

Fails without `frees_space` or `delete_database` in `run_in_workspace`, without DiskFull in `translate_errors`, without
`_find_job` in `resolve_removal` and `_build_job`, without `in_place` in `recover`, and without TELEMETRY_FILE in
`_copy_databases`.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.cli.hook_entry import enqueue
from lineage.errors import DiskFull
from tests.support.commands import LineageCommand
from tests.support.dead_processes import find_holders
from tests.support.faults import run_as_other_process
from tests.support.small_disk import fill, mount_small_disk

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]

LEFT = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
"""Free blocks: with the first ones no database opens, with the last ones the work stops somewhere in the middle."""
READS = (("search", "importer"), ("show", "s-1"), ("sessions",), ("context",), ("status",), ("verify",))
OF_SESSION = "a sentence of the first session alone"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mount_small_disk(tmp_path / "disk") as folder:
        yield folder


@pytest.fixture
def lineage(disk: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    run = LineageCommand(disk / "w", capsys)
    assert run("init").code == 0
    said = ("session-end", "--harness", "generic", "--transcript", f"User: {OF_SESSION}\nAssistant: I see.")
    assert run(*said, "--session-id", "s-1").code == 0
    assert run.end_sample(session="s-2").code == 0
    assert run("remember", "The staging server is rebuilt every night.").code == 0
    return run


def put_back(template: Path, disk: Path, left: int) -> None:
    (disk / "ballast").unlink(missing_ok=True)
    shutil.rmtree(disk / "w")
    shutil.copytree(template, disk / "w")
    fill(disk, left)


def test_what_only_reads_answers_as_ever(lineage: LineageCommand, disk: Path) -> None:
    before = [lineage(*words) for words in READS]
    fill(disk, 0)
    assert [lineage(*words) for words in READS] == before


@pytest.mark.leaves_findings
@pytest.mark.parametrize(
    "words",
    [
        ("remember", "Backups are taken on every Sunday evening."),
        (
            "session-end",
            "--harness",
            "generic",
            "--session-id",
            "s-3",
            "--transcript",
            "User: hello\nAssistant: good day",
        ),
        ("reindex",),
        ("recover",),
        ("render",),
        ("work",),
        ("upgrade",),
    ],
    ids=lambda words: words[0],
)
def test_what_writes_says_so_and_finishes_later(
    lineage: LineageCommand, disk: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    shutil.copytree(disk / "w", tmp_path / "template")
    for left in LEFT:
        put_back(tmp_path / "template", disk, left)
        with run_as_other_process():  # which keeps no lease that it couldn't give back
            ran = lineage(*words)
        if ran.code or not left:
            assert ran.code == 1, left
            assert "the disk is full" in ran.err
            assert DiskFull.default_hint in ran.err
        (disk / "ballast").unlink()
        assert lineage(*words).code == 0
        assert lineage("verify").out == "no problems found\n", left
        if words[0] == "remember":
            assert lineage("book", "show", "global", "note").out.count("Backups") == 1
        if words[0] == "session-end":
            assert "s-3" in lineage("sessions").out


def test_a_removal_needs_no_space_and_its_receipt_is_true(lineage: LineageCommand, disk: Path, tmp_path: Path) -> None:
    shutil.copytree(disk / "w", tmp_path / "template")
    for left in LEFT:
        put_back(tmp_path / "template", disk, left)
        ran = lineage("remove", "s-1", "--yes")
        assert ran.code == 0, (left, ran)
        assert find_holders(disk / "w", OF_SESSION) == []
        assert "s-1" not in lineage("sessions").out
        assert "s-2" in lineage("sessions").out
        assert lineage("verify").out == "no problems found\n", left
        (disk / "ballast").unlink()
        assert lineage("search", "importer").out.count("s-2") >= 1
        assert "1 capture" in lineage("status").out


def test_a_harness_s_settings_stay_as_they_are(
    lineage: LineageCommand, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(disk / "home"))
    settings = disk / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"mine": 1}\n')
    fill(disk, 0)
    ran = lineage("hooks", "install", "claude-code")
    assert (ran.code, "the disk is full" in ran.err, "rights" in ran.err) == (1, True, False), ran
    assert settings.read_text() == '{"mine": 1}\n'
    assert list(settings.parent.iterdir()) == [settings]
    (disk / "ballast").unlink()
    assert lineage("hooks", "install", "claude-code").code == 0
    assert "lineage" in settings.read_text()


def test_a_hook_without_space_leaves_its_harness_alone(
    lineage: LineageCommand, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    fill(disk, 0)
    with pytest.raises(OSError, match="No space left"):
        enqueue(str(disk / "w"), "claude-code", "default", {"session_id": "s-9", "hook_event_name": "SessionEnd"})
    (disk / "ballast").unlink()
    assert lineage("verify").out == "no problems found\n"
