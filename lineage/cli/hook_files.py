"""What hooks read and write: JSON, private folders, files, the log. The standard library only, and little of it."""

import os
import time

from lineage.core.base.hook_protocol import RECALL_MARK
from lineage.core.base.scan_json import quote_json, scan_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
"""A link planted in .lineage must not lead a write elsewhere; Windows has no such flag."""

_MAX_LOG_BYTES = 1 << 18  # a hook that fails at each turn must not fill the disk


def format_moment(seconds: float) -> str:
    """Return a time as canonical UTC, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03}Z"


def decode_object(data: bytearray) -> "dict[str, Any] | None":
    """Return the object at the start of the bytes, None for an incomplete one."""
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text[:1] != "{":
        return None
    try:
        return scan_object(text)
    except (StopIteration, ValueError, RecursionError, SystemError):  # the last where json.decoder is not loaded
        return None


def ensure_folder(root: str, key: str) -> str:
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


def write_atomically(folder: str, name: str, data: bytes) -> None:
    """Write a file atomically; it is durable on return.

    The temporary file is locked until then: garbage collection deletes unlocked ones.
    """
    temporary = os.path.join(folder, f".lineage-tmp-{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    try:
        try_lock(descriptor)
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


def try_lock(descriptor: int) -> bool:
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


def encode_json(value: "Any") -> str:
    """Encode a value of the scanner as ASCII JSON."""
    if isinstance(value, str):
        return quote_json(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote_json(key)}:{encode_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(encode_json, value)) + "]"
    if isinstance(value, float) and value - value != 0:  # NaN and infinity, unknown to JSON
        return "null"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value)


def log_failure(root: str, error: BaseException, *, recall: str = "") -> None:
    """Append the time and the kind of a failure for `lineage status`; no value of the payload.

    One of a `recall` is logged once a day, by its kind alone: SQLite's messages quote what was asked.
    """
    try:
        path = os.path.join(ensure_folder(root, "log"), "hook.log")
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_FOLLOW, 0o600)
        try:
            if os.fstat(descriptor).st_size > _MAX_LOG_BYTES:
                os.ftruncate(descriptor, 0)
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            what = f"{type(error).__name__}: {_format_error(error)}"
            if recall:
                what = f"{RECALL_MARK}{recall}: {getattr(error, 'sqlite_errorname', type(error).__name__)}"
            if not (recall and _is_logged(descriptor, moment[:10], what)):
                os.write(descriptor, f"{moment} {what}\n".encode("ascii", "replace"))
        finally:
            os.close(descriptor)
    except Exception:  # noqa: BLE001  (a log that can't be written must not fail the harness either)
        return


def _is_logged(descriptor: int, day: str, what: str) -> bool:
    os.lseek(descriptor, 0, os.SEEK_SET)
    lines = os.read(descriptor, _MAX_LOG_BYTES).decode("ascii", "replace").split("\n")
    return any(line.startswith(day) and line.endswith(what) for line in lines)


def _format_error(error: BaseException) -> str:
    """Return an error's text without a file name: the payload may have chosen it."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return str(text)[:200].replace("\n", " ")
