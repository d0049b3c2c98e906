"""The services of the template run a command that there is, and their note says what to replace."""

import plistlib
import shlex

from lineage.app.locations import find_template
from tests.support.commands import LineageCommand

SERVICES = find_template() / "services"


def commands_of_services() -> list[list[str]]:
    """The command line of each service."""
    unit = (SERVICES / "lineage-watch.service").read_text(encoding="utf-8")
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    agent = plistlib.loads((SERVICES / "lineage.watch.plist").read_bytes())
    return [shlex.split(line.removeprefix("ExecStart=")), agent["ProgramArguments"]]


def test_the_services_run_a_command_that_there_is(lineage: LineageCommand) -> None:
    lineage("init")
    for program, *words in commands_of_services():
        assert program == "/PATH/TO/lineage"
        there = [str(lineage.root) if word == "/PATH/TO/WORKSPACE" else word for word in words]
        assert lineage(*there, "--once").code == 0
    assert (SERVICES / "README.md").is_file()


def test_the_note_names_what_is_to_be_replaced() -> None:
    note = (SERVICES / "README.md").read_text(encoding="utf-8")
    for path in SERVICES.glob("lineage*"):
        assert path.name in note
    assert all(f"`{place}`" in note for place in ("/PATH/TO/lineage", "/PATH/TO/WORKSPACE"))
