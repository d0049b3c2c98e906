"""The packages of `lineage hooks package`, installed into an empty home by each harness's own program.

Fails without the hooks, the server or the skill in a package, and where a package and `hooks install` tell twice.
"""

import json
import os

import pytest

from tests.harness.model_server import LINEAGE_BLOCK
from tests.harness.programs import PROGRAMS_BY_NAME, Program, merge, why_not, write
from tests.harness.test_harnesses import (
    SKILL,
    Life,
    captured,
    mcp,
    open_life,
    told_at_start,
    told_at_the_prompt,
)

pytestmark = pytest.mark.slow

INSTALL = {
    "claude-code": (
        ("claude", "plugin", "validate", "--strict", "{folder}/claude-code"),
        ("claude", "plugin", "validate", "--strict", "{folder}"),
        ("claude", "plugin", "marketplace", "add", "{folder}"),
        ("claude", "plugin", "install", "lineage@lineage"),
    ),
    "codex": (
        ("codex", "plugin", "marketplace", "add", "{folder}"),
        ("codex", "plugin", "add", "lineage@lineage"),
    ),
    "gemini": (
        ("gemini", "extensions", "validate", "{folder}/gemini"),
        ("gemini", "extensions", "install", "--consent", "{folder}/gemini"),
    ),
}


def install_package(life: Life) -> None:
    """Write the packages and have the program install its own; the workspace is the machine's, as set-up leaves it."""
    root = life.sandbox.variables.pop("LINEAGE_WORKSPACE")
    write(life.sandbox.home / ".config" / "lineage" / "config.toml", f'workspace = "{root}"\n')
    folder = life.sandbox.home / "packages"
    life.expect("hooks", "package", str(folder))
    for words in INSTALL[life.program.name]:
        run = life.sandbox.run(*(word.format(folder=folder) for word in words))
        assert run.status == 0, run.output
    if life.program.name == "claude-code":
        settings = life.sandbox.home / ".claude" / "settings.json"
        merge(settings, {"permissions": {"allow": ["Bash", "mcp__plugin_lineage_lineage"]}})


def told_once(life: Life) -> None:
    """With `hooks install` beside the package a session is told once, and `hooks status` names both."""
    life.expect("hooks", "install", life.program.name)
    (status,) = json.loads(life.expect("hooks", "status", life.program.name, "--json"))["harnesses"]
    assert "duplicate" in {finding["kind"] for finding in status["findings"]}
    before, files = len(life.sandbox.asked()), len(life.files("transcript"))
    life.say("SAY(Told but once.)", life.program.another)
    life.wait_for_captures(lambda: len(life.files("transcript")) == files + 1, "the capture beside a package")
    (first, *_) = (
        asked for asked in life.sandbox.asked()[before:] if any("Told but" in m.text for m in asked.messages)
    )
    blocks = [block for message in first.messages for block in LINEAGE_BLOCK.findall(message.text)]
    assert len([block for block in blocks if "What earlier sessions in this project hold" not in block]) == 1, blocks


@pytest.mark.parametrize("name", INSTALL)
def test_a_package_does_what_hooks_install_does(name: str) -> None:
    program: Program = PROGRAMS_BY_NAME[name]
    if reason := why_not(program):
        assert os.environ.get("LINEAGE_HARNESSES") != "required", reason
        pytest.skip(reason)
    with open_life(program, install_package) as life:
        for cell in (captured, told_at_start, told_at_the_prompt, mcp):
            cell(life)
        assert SKILL in life.sandbox.requests.read_text(encoding="utf-8")
        life.settle()
        if name != "codex":  # what is installed there waits for its approval
            told_once(life)
