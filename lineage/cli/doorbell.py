"""The doorbell: what a harness's hook runs. It leaves the payload in the spool, starts the worker, and is gone.

The standard library only, and of that next to nothing: every session of every harness pays for what is imported here.
The transcript is never read, nothing is waited for, nothing is said but a session start's block, and whatever goes
wrong, the harness sees exit 0; `lineage status` shows it. (law 5; harnesses.md 0.1)
"""

from __future__ import annotations

import os
import sys
import time
from zlib import crc32

from lineage.core import doorbell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

MOST_BYTES = 16 * 1024 * 1024
READ_SECONDS = 0.3

_CHUNK = 1 << 16
_MOST_FOLDERS = 40
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def main(arguments: Sequence[str]) -> int:
    """Rings for `HARNESS [--workspace DIR] [--agent NAME]` with the payload that is on stdin. Returns 0, always."""
    if os.environ.get("LINEAGE_SUPPRESS"):
        return 0
    root = None
    try:
        harness, workspace, agent = _parsed(arguments)
        root = _root(workspace)
        ring(root, harness, agent, _payload())
    except Exception as error:  # noqa: BLE001  (a hook that fails must not fail its harness)
        _log(root, error)
    return 0


def ring(root: str, harness: str, agent: str, payload: dict[str, Any]) -> None:
    """Leaves the payload in the workspace's spool, durably; answers a session start; starts a worker if one is due."""
    event = payload.get("hook_event_name") or payload.get("event") or payload.get("type")
    _leave(root, harness, agent, payload, event in doorbell.TURN_ENDS)
    if event in doorbell.STARTS:
        _answer(root, harness, agent, payload)
    if event not in doorbell.TURN_ENDS and not os.environ.get("LINEAGE_NO_WORKER"):
        start_worker(root)


def _parsed(arguments: Sequence[str]) -> tuple[str, str | None, str]:
    harness, values = "", {}
    words = iter(arguments)
    for word in words:
        name, is_joined, value = word.partition("=")
        if name in ("--workspace", "-w", "--agent"):
            values[name.replace("-w", "--workspace") if name == "-w" else name] = value if is_joined else next(words)
        else:
            harness = harness or word
    if not harness:
        raise ValueError("no harness is named")
    return harness, values.get("--workspace"), values.get("--agent") or "default"


def _root(workspace: str | None) -> str:
    named = workspace or os.environ.get("LINEAGE_WORKSPACE") or os.environ.get("SIGNET_WORKSPACE") or "~/.agents"
    return os.path.abspath(os.path.expanduser(named))


def _payload() -> dict[str, Any]:
    """The JSON object on stdin, as soon as it is complete: some harnesses close stdin late, some never."""
    data, deadline = b"", time.monotonic() + READ_SECONDS
    for part in _parts(deadline):
        data += part
        if len(data) > MOST_BYTES:
            raise ValueError("the payload is too large")
        if data.rstrip()[-1:] == b"}" and not _is_more():
            value = _decoded(data)
            if value is not None:
                return value
    value = _decoded(data)
    if value is None:
        raise ValueError(f"no JSON object on stdin, {len(data)} bytes")
    return value


def _parts(deadline: float) -> Iterator[bytes]:
    if os.name == "nt":  # pipes cannot be waited for there
        yield sys.stdin.buffer.read(MOST_BYTES + 1)
        return
    from select import select

    while select([0], [], [], max(deadline - time.monotonic(), 0))[0]:
        part = os.read(0, _CHUNK)
        if not part:
            return
        yield part


def _is_more() -> bool:
    if os.name == "nt":
        return False
    from select import select

    return bool(select([0], [], [], 0)[0])


def _decoded(data: bytes) -> dict[str, Any] | None:
    """The object that the bytes hold, None where they hold none yet."""
    text = data.decode("utf-8-sig", "replace").strip()
    try:
        value, end = _scanner()(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and end == len(text) else None


def _scanner() -> Any:
    """json's own scanner, without the package around it, which costs as much as the whole start of Python."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        return JSONDecoder().scan_once  # type: ignore[attr-defined]
    return make_scanner(_Context)  # type: ignore[arg-type]


class _Context:
    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: dict[str, str] = {}  # noqa: RUF012  (the scanner's own)


def _leave(root: str, harness: str, agent: str, payload: dict[str, Any], is_turn_end: bool) -> None:
    now = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    record = {
        "version": doorbell.VERSION,
        "harness": harness,
        "agent": agent,
        "at": moment,
        "payload": {key: value for key, value in payload.items() if key in doorbell.KEPT},
    }
    name = f"{moment.replace(':', '-')}--{os.urandom(6).hex()}.json"
    if is_turn_end:
        session = f"{harness} {agent} {[payload.get(key) for key in doorbell.IDS]}"
        name = f"turn--{crc32(session.encode('utf-8', 'replace')):08x}.json"
    folder = _folder(root, doorbell.SIGNALS)
    _write(folder, name, _encoded(record).encode("ascii"))


def _folder(root: str, key: str) -> str:
    """A folder of the machine's own below `.lineage`, made where it is missing, for its owner alone."""
    os.makedirs(root, exist_ok=True)
    folder = root
    for part in (".lineage", *key.rstrip("/").split("/")):
        folder = os.path.join(folder, part)
        if os.path.islink(folder):
            raise ValueError("a part of .lineage is a link")
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700, exist_ok=True)
            _sync(os.path.dirname(folder))
    return folder


def _write(folder: str, name: str, data: bytes) -> None:
    """A whole file or none, durable on return."""
    temporary = os.path.join(folder, f".lineage-tmp-{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, os.path.join(folder, name))
    _sync(folder)


def _sync(folder: str) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encoded(value: Any) -> str:
    """JSON in ASCII of what the scanner gave."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_encoded(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encoded, value)) + "]"
    if isinstance(value, float) and value - value != 0:  # no JSON has these
        return "null"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value)


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(text)


def _answer(root: str, harness: str, agent: str, payload: dict[str, Any]) -> None:
    """Prints the block that the last run prepared for the session's folder or one above it."""
    folder = payload.get("cwd") or payload.get("directory") or payload.get("worktree")
    if not isinstance(folder, str):
        return
    for _ in range(_MOST_FOLDERS):
        block = _block(root, agent, folder)
        if block:
            from lineage.core.injection import injection

            sys.stdout.write(injection(harness, block))
            sys.stdout.flush()
            return
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _block(root: str, agent: str, folder: str) -> str:
    checksum = crc32(f"{agent}\n{folder}".encode("utf-8", "replace"))
    path = os.path.join(root, ".lineage", doorbell.block_key(agent, folder, checksum))
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read() if file.readline() == doorbell.block_head(agent, folder) else ""
    except OSError:
        return ""


def start_worker(root: str) -> None:
    """Starts `lineage work` on its own, unless one runs: that one looks into the spool again before it ends."""
    if _is_at_work(root):
        return
    command = [sys.executable, "-P", "-m", "lineage", "work", "--workspace", root]
    if os.name == "nt":
        _start_on_windows(command)
    elif os.fork() == 0:
        _become(command, root)
    else:
        os.wait()


def _is_at_work(root: str) -> bool:
    try:
        import fcntl
    except ImportError:
        return False
    path = os.path.join(_folder(root, "locks"), f"{doorbell.WORKER}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _become(command: list[str], root: str) -> None:
    """In the child: a session of its own, a grandchild that nobody waits for, nothing of the harness's left open."""
    try:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.closerange(3, 1024)
            os.chdir(root)
            os.execve(command[0], command, {**os.environ, "LINEAGE_SUPPRESS": "1"})
    finally:
        os._exit(0)


def _start_on_windows(command: list[str]) -> None:
    import subprocess

    detached, new_group, breakaway = 0x8, 0x200, 0x1000000
    for flags in (detached | new_group | breakaway, detached | new_group):
        try:
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "LINEAGE_SUPPRESS": "1"},
                **{"creationflags": flags},  # type: ignore[call-overload]
            )
        except OSError:
            continue
        return


def _log(root: str | None, error: BaseException) -> None:
    """A line for `lineage status`: when, and what kind of failure; no value of the payload."""
    try:
        if root is None:
            return
        path = os.path.join(_folder(root, "log"), "hook.log")
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            file.write(f"{moment} {type(error).__name__}: {str(error)[:200]}\n")
    except OSError:
        return
