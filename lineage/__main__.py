"""The command `lineage`."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs


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
    sys.unraisablehook = _interrupt_again
    code = run(arguments)
    # The command is done and has said so. An interpreter takes a while to end: Ctrl-C must not make a failure of it.
    for name in ("SIGINT", "SIGALRM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.exit(code)


def _interrupt_again(unraisable: "UnraisableHookArgs") -> None:
    """Raise an interrupt a moment later that Python ignores, as in a callback of an import's lock."""
    import signal

    if issubclass(unraisable.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
