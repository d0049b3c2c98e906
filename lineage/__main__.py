"""The command `lineage`."""

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    # Dispatched before click is imported: every session of a harness pays for the imports of a hook.
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from lineage.cli.hook_entry import run as run_hook

        # What it prints is out, its files are closed: the end of an interpreter takes a fifth of a hook's time.
        os._exit(run_hook(arguments[1:]))
    try:
        import signal

        from lineage.cli.main import run
    except KeyboardInterrupt:  # typed before there was anything to interrupt
        sys.exit(130)
    code = run(arguments)
    # The command is done and has said so. An interpreter takes a while to end: Ctrl-C must not make a failure of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


if __name__ == "__main__":
    main()
