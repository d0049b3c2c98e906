"""The table in tests/README.md says of each harness what the suite holds, and no more."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.harness import test_harnesses
from tests.harness.programs import PROGRAMS_BY_NAME, Program, why_not

ROOT = Path(__file__).parents[2]

# What the table calls the cells of the suite; a column of several cells is held where all of them are.
COLUMNS = {
    "captured at the end": ("captured", "sweep", "verify and doctor"),
    "told at start": ("told at start",),
    "told at the prompt": ("told at the prompt",),
    "told at an action": ("told at an action",),
    "MCP": ("MCP", "remembered"),
    "skill": ("skill",),
    "import": ("import",),
    "resumed": ("resumed",),
    "killed": ("killed behind a turn", "killed in a turn"),
    "no model": ("model not reached",),
    "`/compact`": ("/compact",),
    "told after it": ("told after /compact",),
    "left without a word": ("left without a word",),
    "uninstalled": ("uninstalled",),
}


def describe(program: Program, cells: tuple[str, ...]) -> str:
    if any(cell in program.impossible for cell in cells):
        return "no"
    return "not seen yet" if any(cell in program.unseen for cell in cells) else "held"


def make_table() -> list[str]:
    lines = [["harness", *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    for name, program in PROGRAMS_BY_NAME.items():
        lines.append([f"`{name}`", *(describe(program, cells) for cells in COLUMNS.values())])
    return [f"| {' | '.join(line)} |" for line in lines]


def test_the_readme_of_the_tests_shows_the_suite_s_table() -> None:
    readme = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert "\n".join(make_table()) in readme, "\n".join(make_table())
    for program in PROGRAMS_BY_NAME.values():
        for reason in program.impossible.values():
            assert f"- {reason}\n" in readme, reason


def test_every_cell_stands_in_the_table() -> None:
    cells = [cell for column in COLUMNS.values() for cell in column]
    assert sorted(cells) == sorted(test_harnesses.CELLS)
    for program in PROGRAMS_BY_NAME.values():
        assert {*program.impossible, *program.unseen} <= set(cells)
        assert not set(program.impossible) & set(program.unseen)


def test_every_program_has_its_version() -> None:
    listed = (ROOT / "tests/harness/programs.txt").read_text(encoding="utf-8").splitlines()
    named = {line.split()[0] for line in listed if not line.startswith("#")}
    assert named == {*PROGRAMS_BY_NAME, "opencode-plugin", "node"}


def test_a_program_that_isn_t_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.harness.programs.PROGRAMS", tmp_path)
    for program in PROGRAMS_BY_NAME.values():
        assert program.name in why_not(program) or os.name == "nt"


def test_ci_runs_the_programs() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)
    assert "\nscripts/environment harnesses" in ci
    assert "export LINEAGE_HARNESSES=required" in ci
