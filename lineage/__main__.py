"""The command `lineage`."""

import gc
import sys

_OBJECTS = 50_000
"""So many more than before: then cycles among them are looked for. Importing alone makes enough for fifty such searches
at the interpreter's own threshold, which find next to nothing."""

PLAIN = {
    "session-end": "lineage.cli.flows",
    "compaction": "lineage.cli.flows",
    "context": "lineage.cli.telling",
}
"""The commands that run with every session, and the modules that declare them: their lines are read without click."""


def main() -> None:
    """Runs the command line and exits with its code. A hook is dispatched before anything heavy is imported, what runs
    with every session before click is."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from lineage.cli.doorbell import main as ring

        sys.exit(ring(arguments[1:]))
    gc.set_threshold(_OBJECTS)
    if PLAIN.keys() & set(arguments[:3]):
        from lineage.cli.ending import ended
        from lineage.cli.plain import started

        command = started(arguments, PLAIN)
        if command:
            sys.exit(ended(command))
    from lineage.cli.main import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
