"""The bucket and the database of a fleet, and wires to them that can be cut and that can be long."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support.servers import Server, seaweedfs
from tests.support.servers_postgres import PostgresServer, postgres_server

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

_PIECE = 1 << 16


@dataclass
class Wire:
    """A port of this machine behind which a server lies, while the wire is whole. What goes to and fro takes `latency`
    seconds longer than without it."""

    latency: float = 0.0
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
            await asyncio.gather(self._piped(reader, far_writer), self._piped(far_reader, writer))
        finally:
            self._open -= {writer, far_writer}

    async def _piped(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(_PIECE):
                await asyncio.sleep(self.latency / 2)
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass  # the wire was cut, or an end died: the other one is told by what follows
        writer.transport.close()

    def _break(self) -> None:
        for writer in self._open:
            writer.transport.abort()


@contextmanager
def wired(connect: Connect, latency: float) -> Iterator[Wire]:
    """A wire to what `connect` reaches."""
    wire, ready = Wire(latency), threading.Event()

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


class Wires(NamedTuple):
    """What leads to the bucket, and to the database."""

    store: Wire
    database: Wire


@dataclass(frozen=True)
class Servers:
    """Both servers; the wires of the machine that can be cut off, and those of all others."""

    store: Server
    database: PostgresServer
    cuttable: Wires
    whole: Wires

    @contextmanager
    def partition(self) -> Iterator[None]:
        """The machine at the end of the wires that can be cut reaches neither."""
        for wire in self.cuttable:
            wire.cut()
        try:
            yield
        finally:
            for wire in self.cuttable:
                wire.mend()

    def near(self) -> str:
        """What stands in the configuration of a machine beside the servers."""
        return _configuration(self.database.url, self.store.settings())

    def far(self, *, cuttable: bool) -> str:
        """What stands in the configuration of a machine of the fleet."""
        wires = self.cuttable if cuttable else self.whole
        if not (cuttable or wires.store.latency):
            return self.near()
        index = f"postgresql://postgres@127.0.0.1:{wires.database.port}/postgres"
        return _configuration(index, self.store.settings(wires.store.port))


def _configuration(index: str, bucket: Mapping[str, str]) -> str:
    return "\n".join([f'index = "{index}"', "[bucket]", *(f'{name} = "{bucket[name]}"' for name in bucket), ""])


@contextmanager
def servers(folder: Path, latency: float = 0.0) -> Iterator[Servers]:
    """Both servers with nothing in them, `latency` seconds away from the fleet."""
    with ExitStack() as running:
        store = running.enter_context(seaweedfs(folder / "seaweedfs"))
        database = running.enter_context(postgres_server())
        socket = database.data.parent / ".s.PGSQL.5432"

        def wires() -> Wires:
            to_store = wired(lambda: asyncio.open_connection("127.0.0.1", store.port), latency)
            to_database = wired(lambda: asyncio.open_unix_connection(socket), latency)
            return Wires(running.enter_context(to_store), running.enter_context(to_database))

        yield Servers(store, database, wires(), wires())
