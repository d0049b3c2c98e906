"""A model of a disk that loses power: it replays a recorded run call by call and tells what would be left of it.

POSIX's promise and no more: what a file holds is durable once *it* was synced, a name once its *folder* was. (ext4
keeps more; not every file system does.) Databases are left as the run found them: SQLite proves its own files, and what
it had not synced yet may be gone.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.strace import MUTATING, REPORT_PATH

STRACE = ("-xx", "-s", "4000000", "-e", f"trace={','.join(f'?{name}' for name in (*MUTATING, 'access', 'faccessat'))}")
"""The options under which strace records what `replayed` understands."""

_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DATABASE = re.compile(r"\.db(-wal|-shm|-journal)?$")
_HARMLESS = {"chmod", "fchmod", "fchmodat", "access", "faccessat"}


@dataclass(eq=False)
class DiskNode:
    """A file or a folder: what a process sees of it, and what the medium holds."""

    data: bytearray = field(default_factory=bytearray)
    names: dict[str, "DiskNode"] | None = None
    durable_data: bytes = b""
    durable_names: dict[str, "DiskNode"] = field(default_factory=dict)

    def sync(self) -> None:
        self.durable_data, self.durable_names = bytes(self.data), dict(self.names or {})


@dataclass(frozen=True)
class DurabilityReport:
    """The store had returned from a `create`, `replace` or `delete` of the key at `path`."""

    call: str
    path: str


class SimulatedDisk:
    """A folder's tree. Everything outside of `root`, and every database, is passed over."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._open: dict[str, tuple[DiskNode | None, list[int]]] = {}
        self.top = _load_node(root)

    def read_durable(self) -> dict[str, bytes]:
        """What a power cut leaves at worst: synced data under synced names. Folders end in a slash."""
        return dict(_tree(self.top, lambda node: node.durable_names))

    def read_durable_names(self) -> dict[str, bytes]:
        """What another one leaves: every name had reached the medium, of the data only what was synced."""
        return dict(_tree(self.top, lambda node: node.names or {}))

    def read_visible(self, path: str) -> bytes | None:
        """What a file holds for a running process, None where there is none."""
        node = self._node(f"{self._root}/{path}")
        return None if node is None else bytes(node.data)

    def apply(self, name: str, arguments: str, result: int) -> DurabilityReport | None:
        """Carries out one recorded call. Raises AssertionError for one that the model does not know."""
        paths = [bytes.fromhex(text.replace(r"\x", "")).decode(errors="replace") for text in _QUOTED.findall(arguments)]
        if name in ("access", "faccessat") and paths[0].startswith(REPORT_PATH):
            call, _, path = paths[0].removeprefix(f"{REPORT_PATH}/").partition("/")
            return DurabilityReport(call, os.path.relpath(f"/{path}", self._root))
        if result < 0:
            return None
        if name == "openat":
            self._track_open(paths[0], arguments, str(result))
        elif name in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync"):
            self._on_descriptor(name, arguments, result)
        elif name not in _HARMLESS and any(map(self._is_tracked, paths)):
            exchanges = "RENAME_EXCHANGE" in arguments
            self._on_names("exchange" if exchanges else name.removesuffix("2").removesuffix("at"), paths)
        return None

    def _track_open(self, path: str, arguments: str, descriptor: str) -> None:
        node = self._node(path)
        if node is None and "O_CREAT" in arguments and self._is_tracked(path):
            node = self._put(path, DiskNode())
        if node is not None and "O_TRUNC" in arguments:
            node.data.clear()
        self._open[descriptor] = (node, [0])

    def _on_descriptor(self, name: str, arguments: str, result: int) -> None:
        node, position = self._open.get(arguments.partition(",")[0], (None, [0]))
        if node is None:
            return
        if name in ("fsync", "fdatasync"):
            node.sync()
        elif name == "write":
            found = _QUOTED.search(arguments)
            assert found, arguments[:200]
            node.data[position[0] : position[0] + result] = bytes.fromhex(found[1].replace(r"\x", ""))[:result]
            position[0] += result
        else:
            raise AssertionError(f"the model does not know {name} on a file of the store")

    def _on_names(self, name: str, paths: Sequence[str]) -> None:
        if name == "mkdir":
            self._put(paths[0], DiskNode(names={}))
        elif name == "exchange":
            one, other = map(self._node, paths)
            assert one, paths
            assert other, paths
            self._put(paths[0], other)
            self._put(paths[1], one)
        elif name in ("link", "rename"):
            node = self._node(paths[0])
            assert node is not None, paths
            self._put(paths[1], node)
        elif name not in ("unlink", "rmdir"):
            raise AssertionError(f"the model does not know {name}")
        if name in ("rename", "unlink", "rmdir"):
            folder, last = self._resolve(paths[0])
            del folder[last]

    def _is_tracked(self, path: str) -> bool:
        return path.startswith(f"{self._root}/") and not _DATABASE.search(path)

    def _node(self, path: str) -> DiskNode | None:
        if path != self._root and not self._is_tracked(path):
            return None
        node: DiskNode | None = self.top
        for part in path.removeprefix(self._root).split("/")[1:]:
            node = node.names.get(part) if node and node.names is not None else None
        return node

    def _put(self, path: str, node: DiskNode) -> DiskNode:
        folder, last = self._resolve(path)
        folder[last] = node
        return node

    def _resolve(self, path: str) -> tuple[dict[str, DiskNode], str]:
        folder, _, last = path.rpartition("/")
        node = self._node(folder)
        assert node, path
        assert node.names is not None, path
        return node.names, last


def replay_trace(disk: SimulatedDisk, trace: Sequence[str]) -> Iterator[tuple[str, DurabilityReport | None]]:
    """Replays a trace: after every call its line, readable, and what the process reported by it, mostly nothing."""
    for line in trace:
        found = _LINE.match(line)
        if found:
            yield _decode_line(line[:1000]), disk.apply(found[1], found[2], int(found[3]))


def _decode_line(line: str) -> str:
    return re.sub(r"\\x([2-7][0-9a-f])", lambda found: chr(int(found[1], 16)), line)


def write_tree(tree: dict[str, bytes], template: Path, root: Path) -> None:
    """Makes a workspace of what a power cut left; the databases are those of `template`."""
    for path, data in tree.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.endswith("/"):
            target.mkdir(exist_ok=True, mode=0o700)
        else:
            target.write_bytes(data)
            target.chmod(0o600)
    for database in template.glob(".lineage/*.db*"):
        (root / ".lineage").mkdir(exist_ok=True, mode=0o700)
        (root / ".lineage" / database.name).write_bytes(database.read_bytes())


def _load_node(path: Path) -> DiskNode:
    if path.is_dir():
        node = DiskNode(names={p.name: _load_node(p) for p in path.iterdir() if not _DATABASE.search(p.name)})
    else:
        node = DiskNode(bytearray(path.read_bytes()))
    node.sync()
    return node


def _tree(
    node: DiskNode, names: Callable[[DiskNode], dict[str, DiskNode]], at: str = ""
) -> Iterator[tuple[str, bytes]]:
    for name, child in names(node).items():
        if child.names is None:
            yield at + name, child.durable_data
        else:
            yield f"{at}{name}/", b""
            yield from _tree(child, names, f"{at}{name}/")
