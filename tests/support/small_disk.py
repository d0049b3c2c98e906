"""A small disk of memory: one that fills up, or that can only be read."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BLOCK = 4096


@contextmanager
def mount_small_disk(folder: Path) -> Iterator[Path]:
    """Mount six megabytes at a folder until the block ends. Skips the test where the system doesn't let it."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"NO SMALL DISK: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, left: int) -> None:
    """Leave so many free blocks on the disk."""
    with (disk / "ballast").open("wb") as ballast:
        free = os.statvfs(disk).f_bavail
        ballast.write(bytes(BLOCK * (free - left)))
    assert os.statvfs(disk).f_bavail == left


def make_read_only(disk: Path) -> None:
    """Let nothing be written on the disk any more."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
