"""A line of every command, over the sample workspace, in a folder with the files that the lines name."""

from pathlib import Path

import click

from lineage.cli.main import run
from tests.support.command_tree import walk_commands
from tests.support.sample_workspace import write_sample_workspace

LINES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "setup": (("--yes", "--no-hooks", "--no-import"), ()),
    "init": ((), ()),
    "import": (("--dry-run",), ("claude-code",)),
    "hooks install": (("--dry-run",), ("claude-code",)),
    "hooks package": ((), ("packages",)),
    "hooks status": ((), ("claude-code",)),
    "hooks uninstall": (("--dry-run",), ("claude-code",)),
    "help": ((), ("find",)),
    "list": ((), ()),
    "search": ((), ("parser",)),
    "show": ((), ("long",)),
    "open": (("--print", "--editor"), ("long",)),
    "resume": ((), ("long",)),
    "remember": ((), ("The staging server is rebuilt every night.",)),
    "memory list": ((), ()),
    "memory show": ((), ("global", "preference")),
    "memory why": ((), ("zzzz",)),
    "memory add": ((), ("global", "note", "Backups are taken on every Sunday evening.")),
    "memory edit": ((), ("zzzz", "Other words.")),
    "memory done": ((), ("zzzz",)),
    "memory pin": ((), ("zzzz",)),
    "memory move": ((), ("zzzz", "global")),
    "memory forget": ((), ("zzzz",)),
    "memory restore": ((), ("zzzz",)),
    "memory review": (("--yes",), ("zzzz",)),
    "memory relearn": ((), ()),
    "memory migrate": (("--dry-run",), ("notes.md",)),
    "memory confirm": (("--yes",), ("zzzz",)),
    "context": ((), ()),
    "serve": (("--check", "--port", "0"), ()),
    "mcp": (("--tools",), ()),
    "status": ((), ()),
    "doctor": ((), ()),
    "config get": ((), ("context.budget",)),
    "config path": ((), ()),
    "config set": ((), ("context.budget", "1500")),
    "remove": (("--dry-run",), ("long",)),
    "export": (("--markdown", "-"), ("long",)),
    "archive": (("--before", "2026-01-01", "--dry-run"), ()),
    "admin reindex": ((), ()),
    "admin render": ((), ()),
    "admin verify": ((), ()),
    "admin recover": ((), ()),
    "admin upgrade": (("--dry-run",), ()),
    "admin sanitize": ((), ("-",)),
    "admin resanitize": (("--dry-run",), ()),
    "admin sweep": ((), ()),
    "admin watch": (("--once",), ()),
    "admin embed": (("--yes",), ()),
    "admin bundle export": (("-o", "new.zip"), ("long",)),
    "admin bundle import": (("--dry-run",), ("session.zip",)),
    "admin mirror": (("--once",), ("vault",)),
    "admin move": ((), ("nowhere", "moved")),
    "admin store-check": (("--processes", "2"), ("place",)),
    "admin send": ((), ("zzzz", "hello")),
    "admin spawn": ((), ("nothing", "hello")),
    "admin telemetry reset": (("--yes",), ()),
    "session-end": (("--harness", "generic", "--session-id", "s-9", "--transcript", "User: hello"), ()),
    "compaction": (("--harness", "generic", "--session-id", "long", "--summary", "Goal: mend the reader."), ()),
    "work": ((), ()),
}
"""By command its options and arguments, of a line that does no harm over the sample workspace."""
NOT_HERE = {"hook": "whatever goes wrong, a harness goes on: tests/scenarios/test_hook_entry_failures.py"}
NEEDS_NONE = frozenset(
    {
        "setup", "init", "help", "import", "hooks install", "hooks status", "hooks uninstall", "hooks package",
        "config path", "mcp", "admin move", "admin store-check", "admin sanitize",
    }
)  # fmt: skip
"""Commands that need no workspace, or make one; what `import --dry-run` would read can be seen without."""


def list_commands() -> dict[str, click.Command]:
    """Return each command once, under its name of today."""
    found: dict[str, click.Command] = {}
    for path, command in walk_commands():
        if all(command is not other for other in found.values()):
            found[path] = command
    return found


COMMANDS = list_commands()
LEAVES = [path for path, command in COMMANDS.items() if not isinstance(command, click.Group) and path not in NOT_HERE]


def write_place(folder: Path) -> Path:
    """Make a folder with a sample workspace `w` and the files that the lines name; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    root = write_sample_workspace(folder / "w")
    (folder / "notes.md").write_text("- a note\n")
    assert run(["-w", str(root), "admin", "bundle", "export", "long", "-o", str(folder / "session.zip")]) == 0
    return folder


def name_workspace(path: str, root: Path | str) -> list[str]:
    return ["-w", str(root)] if any(one.name == "root" for one in COMMANDS[path].params) else []


def line_of(path: str, root: Path | str) -> list[str]:
    options, arguments = LINES[path]
    return [*path.split(), *name_workspace(path, root), *options, *arguments]
