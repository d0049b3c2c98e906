"""`lineage hook`: put the payload of a harness's hook into the spool, start the worker, end.

The standard library only, and little of it: every session of every harness pays for each import. The hook never reads
the transcript, waits for nothing, prints nothing but the context block at a session's start, and always exits 0;
failures show in `lineage status`. (law 5; harnesses.md 0.1)
"""

import os
import sys
import time

from lineage.core.base import hook_protocol
from lineage.processes import find_harness

TYPE_CHECKING = False  # typing itself costs as much as this module
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

MAX_BYTES = 16 * 1024 * 1024
READ_SECONDS = 1.0  # some harnesses never close stdin, all wait for the hook, and a busy machine lets them write late

_CHUNK = 1 << 16
_MAX_LOG_BYTES = 1 << 18  # a hook that fails at each turn must not fill the disk
_DEFAULT_ROOT = "~/.agents"
_OPTIONS = {"--workspace": "--workspace", "-w": "--workspace", "--agent": "--agent"}
# a link planted in .lineage must not lead a write elsewhere; Windows has no such flag
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def run(arguments: "Sequence[str]") -> int:
    """Enqueue the payload on stdin for `HARNESS [--workspace DIR] [--agent NAME]`. Always return 0."""
    if os.environ.get("LINEAGE_SUPPRESS"):
        return 0
    words, options = _parse_arguments(arguments)
    root = os.path.expanduser(_DEFAULT_ROOT)
    try:
        root = _resolve_root(options.get("--workspace"))
        if len(words) != 1:
            raise ValueError(f"one harness is to be named, there are {len(words)} words")
        enqueue(root, words[0], options.get("--agent") or "default", _read_payload())
    except Exception as error:  # noqa: BLE001  (a failing hook must not fail its harness)
        _log_failure(root, error)
    return 0


def enqueue(root: str, harness: str, agent: str, payload: "dict[str, Any]") -> None:
    """Write the payload to the spool, durably; answer a session start; start a worker."""
    event = _find_event(payload)
    prefix = hook_protocol.TURN_PREFIX if event in hook_protocol.TURN_END_EVENTS else ""
    prefix = hook_protocol.COMPACTION_PREFIX if event in hook_protocol.BEFORE_COMPACTION_EVENTS else prefix
    _write_event(root, harness, agent, payload, prefix)
    if event in hook_protocol.START_EVENTS:
        from lineage.cli.hook_context import print_context

        before = _name_session_event(hook_protocol.COMPACTION_PREFIX, harness, agent, payload)
        print_context(root, harness, agent, payload, before)
    if not os.environ.get("LINEAGE_NO_WORKER"):
        start_worker(root)


def _find_event(payload: "dict[str, Any]") -> str:
    for field in hook_protocol.EVENT_FIELDS:
        if isinstance(name := payload.get(field), str) and name.strip():
            return name
    return next((name for mark, name in hook_protocol.EVENT_BY_FIELD if mark in payload), "")


def _parse_arguments(arguments: "Sequence[str]") -> "tuple[list[str], dict[str, str]]":
    """Return the words and the options of a command line; an unknown option counts as a word."""
    words, options = [], {}
    rest = list(arguments)
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name in _OPTIONS and (is_joined or rest):
            options[_OPTIONS[name]] = value if is_joined else rest.pop(0)
        else:
            words.append(name)
    return words, options


def _resolve_root(workspace: str | None) -> str:
    name = workspace or os.environ.get("LINEAGE_WORKSPACE") or os.environ.get("SIGNET_WORKSPACE") or _DEFAULT_ROOT
    return _resolve_bucket_folder(name) if "://" in name else os.path.abspath(os.path.expanduser(name))


def _resolve_bucket_folder(address: str) -> str:
    """Return the folder of this machine that stands for a bucket, the same as `app.locations` does."""
    from lineage.core.base.address import address_to_folder, normalize_address

    normal = normalize_address(address)
    name = address_to_folder(normal) if normal else None
    if name is None:
        raise ValueError("the workspace is no address that is known")
    state = os.environ.get("XDG_STATE_HOME") or ""
    return os.path.join(state if os.path.isabs(state) else os.path.expanduser("~/.local/state"), "lineage", name)


def _read_payload() -> "dict[str, Any]":
    """Return the JSON object on stdin as soon as it is complete: some harnesses close stdin late, some never."""
    data, value = bytearray(), None
    for part in _read_chunks(time.monotonic() + READ_SECONDS):
        data += part
        if len(data) > MAX_BYTES:
            raise ValueError("the payload is too large")
        if part.rstrip()[-1:] == b"}" and not _has_more_input():
            value = _decode_object(data)
            if value is not None:
                return value
    value = _decode_object(data)
    if value is None:
        raise ValueError(f"no JSON object on stdin, {len(data)} bytes")
    return value


def _read_chunks(deadline: float) -> "Iterator[bytes]":
    """Yield the input until it ends or the deadline passes."""
    if os.name == "nt":  # select takes no pipes there
        yield sys.stdin.buffer.read(MAX_BYTES + 1)
        return
    from select import select

    while (left := deadline - time.monotonic()) > 0 and select([0], [], [], left)[0]:
        part = os.read(0, _CHUNK)
        if not part:
            return
        yield part


def _has_more_input() -> bool:
    if os.name == "nt":
        return False
    from select import select

    return bool(select([0], [], [], 0)[0])


def _decode_object(data: bytearray) -> "dict[str, Any] | None":
    """Return the object at the start of the bytes, None for an incomplete one."""
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text[:1] != "{":
        return None
    try:
        value: dict[str, Any] = _build_scanner()(text, 0)[0]
    except (StopIteration, ValueError, RecursionError, SystemError):  # the last where json.decoder is not loaded
        return None
    return value


def _build_scanner() -> "Any":
    """Return json's own C scanner: the package around it costs as much as the start of Python."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        return JSONDecoder().scan_once  # type: ignore[attr-defined]
    return make_scanner(_ScannerContext)  # type: ignore[arg-type]


class _ScannerContext:
    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _write_event(root: str, harness: str, agent: str, payload: "dict[str, Any]", prefix: str) -> None:
    now = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    record = {
        "version": hook_protocol.VERSION,
        "harness": harness,
        "agent": agent,
        "at": moment,
        "payload": {key: value for key, value in payload.items() if key in hook_protocol.PAYLOAD_FIELDS},
        "process": find_harness(),
    }
    name = f"{moment.replace(':', '-')}--{os.urandom(6).hex()}.json"
    if prefix:  # one file a session, replaced at each turn: the queue does not grow with a session
        name = _name_session_event(prefix, harness, agent, payload)
    _write_atomically(_ensure_folder(root, hook_protocol.EVENT_QUEUE), name, _encode_json(record).encode("ascii"))


def _name_session_event(prefix: str, harness: str, agent: str, payload: "dict[str, Any]") -> str:
    session = f"{harness} {agent} {[payload.get(key) for key in hook_protocol.ID_FIELDS]}"
    return f"{prefix}{_checksum(session):08x}-{len(session):x}.json"


def _ensure_folder(root: str, key: str) -> str:
    """Return a private folder below `.lineage`, made if missing, readable by its owner only."""
    folder = root
    for part in (".lineage", *key.rstrip("/").split("/")):
        folder = os.path.join(folder, part)
        if os.path.islink(folder):
            raise ValueError("a part of .lineage is a link")
        _make_private_folders(folder)
    return folder


def _make_private_folders(folder: str) -> None:
    # makedirs gives missing parents the widest mode
    if not os.path.isdir(folder):
        _make_private_folders(os.path.dirname(folder))
        os.makedirs(folder, 0o700, exist_ok=True)
        _sync_folder(os.path.dirname(folder))


def _write_atomically(folder: str, name: str, data: bytes) -> None:
    """Write a file atomically; it is durable on return.

    The temporary file is locked until then: garbage collection deletes unlocked ones.
    """
    temporary = os.path.join(folder, f".lineage-tmp-{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    try:
        _try_lock(descriptor)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
        if os.name == "nt":
            os.close(descriptor)
            descriptor = -1
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    _sync_folder(folder)


def _try_lock(descriptor: int) -> bool:
    """Lock a file for as long as its descriptor is open. Return False if another process holds it."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return True
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync_folder(folder: str) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encode_json(value: "Any") -> str:
    """Encode a value of the scanner as ASCII JSON."""
    if isinstance(value, str):
        return _quote_json(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote_json(key)}:{_encode_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encode_json, value)) + "]"
    if isinstance(value, float) and value - value != 0:  # NaN and infinity, unknown to JSON
        return "null"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value)


def _quote_json(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(text)


def _checksum(text: str) -> int:
    from zlib import crc32

    return crc32(text.encode("utf-8", "replace"))


def start_worker(root: str) -> None:
    """Start a detached `lineage work`, unless one runs: that one looks into the spool again before it ends.

    The child inherits the lock: no second worker can start between this check and the worker's end.
    """
    command = [sys.executable, "-P", "-m", "lineage", "work", "--workspace", root]
    if os.name == "nt":
        _start_on_windows(command)
        return
    path = os.path.join(_ensure_folder(root, "locks"), f"{hook_protocol.WORKER_LOCK}.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
    try:
        if _try_lock(lock):
            # forked twice: the worker is nobody's child, and leaves no zombie to the harness
            child = os.fork()
            if child == 0:
                _exec_worker(command, root, lock)
            os.waitpid(child, 0)
    finally:
        os.close(lock)


def _exec_worker(command: "list[str]", root: str, lock: int) -> None:
    """Become the worker, in a grandchild with a session of its own and none of the harness's descriptors."""
    try:
        os.setsid()
        if os.fork() == 0:
            from fcntl import F_DUPFD, fcntl

            lock = fcntl(lock, F_DUPFD, hook_protocol.WORKER_LOCK_FD + 1)  # out of the way of the dup2s below
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.dup2(lock, hook_protocol.WORKER_LOCK_FD)
            os.closerange(hook_protocol.WORKER_LOCK_FD + 1, 1024)
            os.chdir(root)
            os.execve(command[0], command, {**os.environ, "LINEAGE_SUPPRESS": "1"})
    finally:
        os._exit(0)


def _start_on_windows(command: "list[str]") -> None:
    import subprocess

    detached, new_group, breakaway = 0x8, 0x200, 0x1000000
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    environment = {**os.environ, "LINEAGE_SUPPRESS": "1"}
    # a job object may forbid to break away: then without
    for flags in (detached | new_group | breakaway, detached | new_group):
        try:
            subprocess.Popen(command, env=environment, **streams, creationflags=flags)  # type: ignore[call-overload]
        except OSError:
            continue
        return


def _log_failure(root: str, error: BaseException) -> None:
    """Append the time and the kind of a failure for `lineage status`; no value of the payload."""
    try:
        path = os.path.join(_ensure_folder(root, "log"), "hook.log")
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW, 0o600)
        try:
            if os.fstat(descriptor).st_size > _MAX_LOG_BYTES:
                os.ftruncate(descriptor, 0)
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            line = f"{moment} {type(error).__name__}: {_format_error(error)}\n"
            os.write(descriptor, line.encode("ascii", "replace"))
        finally:
            os.close(descriptor)
    except Exception:  # noqa: BLE001  (a log that can't be written must not fail the harness either)
        return


def _format_error(error: BaseException) -> str:
    """Return an error's text without a file name: the payload may have chosen it."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return str(text)[:200].replace("\n", " ")
