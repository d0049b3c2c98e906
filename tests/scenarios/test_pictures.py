"""`scripts/pictures`: it makes the pictures that the README shows, of the sizes that it has, and all of them are small.

Fails for a picture in the README that isn't there, for one that nothing shows, for one of another size than today's
script makes, and where a page or a note of the sample can't be shown.
"""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser import needs_browser
from tests.support.servers import skip_or_fail

pytestmark = [pytest.mark.slow, needs_browser]

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / ".github/pictures"
READER = ROOT / ".venv/readers/node_modules/rehype-stringify"


def measure(folder: Path) -> dict[str, tuple[int, int]]:
    """The width and height of each picture, by name."""
    return {path.name: struct.unpack(">II", path.read_bytes()[16:24]) for path in folder.glob("*.png")}


def test_the_readme_shows_what_the_script_makes(tmp_path: Path) -> None:
    if not READER.is_dir():
        skip_or_fail("the reader of Obsidian's markdown", ".ci/run")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "picturing", str(tmp_path / "pictures")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = measure(tmp_path / "pictures")
    shown = set(re.findall(r"\.github/pictures/([\w-]+\.png)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert made == measure(PICTURES)
    assert made.keys() == shown
    assert set(made.values()) == {(1100, 660)}
    assert max(path.stat().st_size for path in PICTURES.iterdir()) < 120_000
