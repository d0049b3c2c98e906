"""The bucket and the database of a fleet, and wires to them that can be cut."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.servers import Server, seaweedfs
from tests.support.servers_postgres import PostgresServer, postgres_server

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

_PIECE = 1 << 16


@dataclass
class Wire:
    """A port of this machine behind which a server lies, while the wire is whole."""

    port: int = 0
    is_cut: bool = False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Breaks every connection; those that are begun until `mend` end at once."""
        self.is_cut = True
        self._loop.call_soon_threadsafe(self._break)

    def mend(self) -> None:
        self.is_cut = False

    async def carry(self, connect: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Both directions of one connection, until either ends."""
        if self.is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await connect()
        self._open |= {writer, far_writer}
        try:
            await asyncio.gather(_piped(reader, far_writer), _piped(far_reader, writer))
        finally:
            self._open -= {writer, far_writer}

    def _break(self) -> None:
        for writer in self._open:
            writer.transport.abort()


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass  # the wire was cut, or an end died: the other one is told by what follows
    writer.transport.close()


@contextmanager
def wired(connect: Connect) -> Iterator[Wire]:
    """A wire to what `connect` reaches."""
    wire, ready = Wire(), threading.Event()

    async def listen() -> None:
        server = await asyncio.start_server(lambda r, w: wire.carry(connect, r, w), "127.0.0.1", 0)
        wire.port = server.sockets[0].getsockname()[1]
        ready.set()

    def serve() -> None:
        wire._loop.run_until_complete(listen())
        wire._loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield wire
    finally:
        wire.cut()
        wire._loop.call_soon_threadsafe(wire._loop.stop)
        thread.join()


@dataclass(frozen=True)
class Servers:
    """Both servers, and the wires over which the machine that can be cut off reaches them."""

    store: Server
    database: PostgresServer
    to_store: Wire
    to_database: Wire

    @contextmanager
    def partition(self) -> Iterator[None]:
        """The machine at the end of the wires reaches neither."""
        wires = (self.to_store, self.to_database)
        for wire in wires:
            wire.cut()
        try:
            yield
        finally:
            for wire in wires:
                wire.mend()

    def configuration(self, *, wired: bool) -> str:
        """What stands in the machine's own configuration."""
        settings = self.store.settings(self.to_store.port if wired else None)
        far = f"postgresql://postgres@127.0.0.1:{self.to_database.port}/postgres"
        lines = [f'index = "{far if wired else self.database.url}"', "[bucket]"]
        return "\n".join([*lines, *(f'{name} = "{value}"' for name, value in settings.items()), ""])


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Both servers with nothing in them."""
    with ExitStack() as running:
        store = running.enter_context(seaweedfs(folder / "seaweedfs"))
        database = running.enter_context(postgres_server())
        socket = database.data.parent / ".s.PGSQL.5432"
        to_store = running.enter_context(wired(lambda: asyncio.open_connection("127.0.0.1", store.port)))
        to_database = running.enter_context(wired(lambda: asyncio.open_unix_connection(socket)))
        yield Servers(store, database, to_store, to_database)
