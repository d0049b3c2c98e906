"""From nothing to a memory that works, with the real Claude Code: install, set up, and the next session is told.

Fails without the import in a set-up, without its hooks, and when `--undo` leaves a byte of a setting behind.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.harness.model_server import LINEAGE_BLOCK
from tests.harness.programs import PROGRAMS_BY_NAME, why_not
from tests.harness.sandbox import Sandbox, find_homes
from tests.support.commands import SAMPLE, SAMPLE_ID
from tests.support.installations import INSTALLERS, Installation

pytestmark = pytest.mark.slow

DECIDED = "use the csv module instead of splitting by hand"


def read_home(sandbox: Sandbox) -> dict[str, bytes]:
    """Return the bytes of every file of a home, the project's and those of packages' caches left out."""
    paths = (path for path in sandbox.home.rglob("*") if path.is_file() and not path.is_symlink())
    own = (path for path in paths if not path.is_relative_to(sandbox.project) and path != sandbox.requests)
    return {str(path.relative_to(sandbox.home)): path.read_bytes() for path in own}


def add_history(sandbox: Sandbox) -> None:
    """Yesterday's session of Claude Code in the sandbox's project, which settled on a way to read CSV."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    text = SAMPLE.read_text(encoding="utf-8").replace("/home/ada/reader", str(sandbox.project))
    path = sandbox.home / ".claude" / "projects" / "-before" / f"{SAMPLE_ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("2026-11-02T", f"{yesterday}T"), encoding="utf-8")


@pytest.fixture
def machine(built: dict[str, Path], outer_environment: dict[str, str], tmp_path: Path) -> Iterator[Sandbox]:
    """A home with Claude Code, a session of yesterday, and lineage as its wheel installs it."""
    program = PROGRAMS_BY_NAME["claude-code"]
    if reason := why_not(program):
        assert os.environ.get("LINEAGE_HARNESSES") != "required", reason
        pytest.skip(reason)
    made = Installation(tmp_path / "env", outer_environment)
    INSTALLERS["uv"](made, built["wheel"])
    sandbox = Sandbox(find_homes() / f"first-minute-{os.getpid()}", program.folder, dict(program.variables))
    try:
        program.configure(sandbox)
        add_history(sandbox)
        (sandbox.home / ".local" / "bin").mkdir(parents=True)
        (sandbox.home / ".local" / "bin" / "lineage").symlink_to(made.bin / "lineage")
        yield sandbox
    finally:
        sandbox.close()
        shutil.rmtree(sandbox.home, ignore_errors=True)


def expect(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.lineage(*words)
    assert done.status == 0, done.output
    return done.output


def test_undone_no_byte_differs(machine: Sandbox) -> None:
    before = read_home(machine)
    assert "1 session imported" in expect(machine, "setup", "--yes")
    assert read_home(machine) != before
    expect(machine, "setup", "--undo", "--with-memory", "--yes")
    assert read_home(machine) == before


def test_the_next_real_session_is_told_what_history_decided(machine: Sandbox) -> None:
    before = read_home(machine)
    began = time.monotonic()
    expect(machine, "setup", "--yes")
    program = PROGRAMS_BY_NAME["claude-code"]
    run = machine.run(*program.command(program.prompt, "SAY(Good morning.)"))
    assert run.status == 0, run.output
    print(f"  from set-up to the end of the next session: {time.monotonic() - began:.1f} s")
    texts = [message.text for asked in machine.asked() for message in asked.messages]
    told = "".join(block for text in texts for block in LINEAGE_BLOCK.findall(text))
    assert DECIDED in told, told

    expect(machine, "setup", "--undo", "--with-memory", "--yes")
    after = read_home(machine)  # with what Claude Code itself wrote meanwhile
    assert {name for name in before if after.get(name) != before[name]} <= {".claude.json"}
    assert "lineage" not in json.loads(after[".claude.json"]).get("mcpServers", {})
    added = {name for name in after.keys() - before.keys() if "lineage" in name}
    assert {name for name in added if not name.startswith((".claude/projects/", ".cache/claude-cli"))} == set()
