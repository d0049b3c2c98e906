"""The command `lineage`."""

import sys


def main() -> None:
    """Run the command line and exit with its code. A hook is dispatched before anything heavy is imported."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from lineage.cli.hook_entry import run as run_hook

        sys.exit(run_hook(arguments[1:]))
    from lineage.cli.main import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
