"""The built wheel and sdist, installed by uv, pipx and pip, and set up in a home with nothing else in it.

Fails without a file in the wheel that a command needs, without web or MCP among the dependencies, and with a hint that
names another way than the one by which lineage was installed.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import SAMPLE, SAMPLE_ID
from tests.support.installations import INSTALLERS, Installation

pytestmark = pytest.mark.slow

WAYS = [("uv", "wheel"), ("pipx", "wheel"), ("pip", "sdist")]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Machine:
    """An empty home, and the installed lineage in it."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.home, self.programs = home, programs
        home.mkdir()

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.programs), "/usr/bin", "/bin"])
        own = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "LINEAGE_NO_WORKER": "1"}
        return subprocess.run(
            ["lineage", *words], env=own, cwd=self.home, input=stdin, capture_output=True, text=True, check=False
        )

    def expect(self, *words: str, stdin: str = "") -> str:
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.parametrize(("installer", "kind"), WAYS, ids=["-".join(way) for way in WAYS])
def test_an_installed_lineage_sets_itself_up(
    built: dict[str, Path], outer_environment: dict[str, str], tmp_path: Path, installer: str, kind: str
) -> None:
    made = Installation(tmp_path / "env", outer_environment)
    INSTALLERS[installer](made, built[kind])
    machine = Machine(tmp_path / "home", made.bin)
    assert "none with hooks on this machine" in machine.expect("setup", "--yes")
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert list(machine.home.rglob("*.md")) == []

    history = machine.home / ".claude" / "projects" / "-home-ada-reader" / f"{SAMPLE_ID}.jsonl"
    history.parent.mkdir(parents=True)
    history.write_bytes(SAMPLE.read_bytes())
    assert "1 session imported" in machine.expect("setup", "--yes")
    assert "csv.reader" in machine.expect("context", "--project", "/home/ada/reader")
    assert "no problems found" in machine.expect("verify")
    machine.expect("serve", "--check")
    answer = json.loads(machine.expect("mcp", stdin=json.dumps(INITIALIZE) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "lineage"
    hook = json.loads((machine.home / ".claude" / "settings.json").read_text(encoding="utf-8"))["hooks"]["SessionEnd"]
    (program,) = {Path(one["hooks"][0]["command"].split()[0]) for one in hook}
    assert program.is_file() and program.is_relative_to(made.root)

    hint = follow_the_hint(machine, made)
    assert hint.split()[0] == {"uv": "uv", "pipx": "pipx", "pip": str(made.bin / "python")}[installer]


def follow_the_hint(machine: Machine, made: Installation) -> str:
    """What an extra's absence is answered with brings it. Return that command line."""
    bucket = ("-w", "s3://nobody/nothing", "status")
    done = machine.run(*bucket)
    assert "obstore is not installed" in done.stderr
    found = re.search(r"run `(.+)`$", done.stderr, re.MULTILINE)
    assert found, done.stderr
    made.run_line(found[1])
    assert len(list(made.root.glob("**/site-packages/obstore"))) == 1
    return found[1]
