"""`lineage admin`: repair, move, mirror and measure. Its commands are imported when they are called."""

import click

from lineage.cli.lazy import LazyGroup

_SECTIONS = {
    "Repair": {
        "reindex": "Bring index and MEMORY.md up to date with the files.",
        "render": "Write MEMORY.md and the notes of projects and days again.",
        "verify": "Check checksums, links, rows and MEMORY.md.",
        "recover": "Finish what a crash left unfinished.",
        "upgrade": "Bring files to today's format and modes.",
    },
    "Redact": {
        "sanitize": "Print a text without its secrets.",
        "resanitize": "Redact what is captured already, by today's rules.",
    },
    "Capture": {
        "sweep": "Capture sessions that no hook signalled.",
        "watch": "Keep index and MEMORY.md up to date until you stop it.",
        "embed": "Make vectors for search by meaning.",
    },
    "Move": {
        "bundle": "Take a session, or the global books, to another workspace.",
        "mirror": "Keep a folder and the workspace the same, both ways.",
        "move": "Copy a workspace to another folder or bucket.",
        "store-check": "Test whether a folder or bucket can hold a workspace.",
    },
    "Run agents": {
        "send": "Send a session a message, and capture the answer.",
        "spawn": "Start a session with a message, and capture it.",
    },
    "Measure": {
        "telemetry": "Set the counters of `lineage status` to zero.",
    },
}
COMMANDS = {name: text for section in _SECTIONS.values() for name, text in section.items()}
_MODULES = {
    **{name: f"maintenance:{name}_command" for name in ("reindex", "render", "verify", "recover", "upgrade")},
    "sanitize": "sanitize", "resanitize": "maintenance:resanitize_command", "sweep": "work:sweep", "watch": "watch",
    "embed": "embed", "bundle": "bundle", "mirror": "watch:mirror", "move": "store:migrate",
    "store-check": "store:check", "send": "agent_program:send", "spawn": "agent_program:spawn",
    "telemetry": "telemetry",
}  # fmt: skip


@click.group(
    "admin",
    cls=LazyGroup,
    modules=_MODULES,
    short_helps=COMMANDS,
    sections={title: list(section) for title, section in _SECTIONS.items()},
)
def command() -> None:
    """Repair, move, mirror and measure a workspace.

    \b
    Example:
      lineage admin recover
    """
