"""How a command line ends: the one place that turns errors into messages and exit codes (format: Commands)."""

import errno
import os
import sys
from collections.abc import Callable

from lineage.cli.output import print_error
from lineage.errors import LineageError

UNEXPECTED = 3
INTERRUPTED = 130


def run_to_exit_code(command: Callable[[], object]) -> int:
    """Run a command and return its exit code.

    A number is returned as it is. Else: 0 done, 1 expected failure, 2 usage, 3 unexpected, 4 findings, 130 interrupted.
    """
    try:
        result = command()
        return result if isinstance(result, int) else 0
    except LineageError as error:
        print_error(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        print_error("interrupted", "run the command again: what was begun is finished by the next run")
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout at exit: into the closed pipe that would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001  (the last resort: a report instead of a traceback)
        return _report_unexpected(error)


def _report_unexpected(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        print_error("too many open files", "allow more with `ulimit -n 1024`, and run the command again")
        return 1
    print_error(f"unexpected: {type(error).__name__}", f"please send us the report {_write_report()}")
    return UNEXPECTED


def _write_report() -> str:
    """Write the traceback to a file and return its path.

    The values of messages stay out: they may hold text that nothing has sanitized.
    """
    import tempfile  # only a crash needs these two: `lineage --help` starts without them
    import traceback

    from lineage import __version__

    kind, _, trace = sys.exc_info()
    with tempfile.NamedTemporaryFile(
        "w", prefix="lineage-report-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"lineage {__version__}, Python {sys.version}\n{kind}\n\n")
        file.writelines(traceback.format_tb(trace))
    return file.name
