"""`lineage hook`: put the payload of a harness's hook into the spool, start the worker, end.

The standard library only, and little of it: every session of every harness pays for each import. The hook never reads
the transcript, prints nothing but the context block at a session's start and what it recalls at a prompt, and always
exits 0; failures show in `lineage status`. (law 5; harnesses.md 0.1)
"""

import os
import sys
import time

from lineage.cli.hook_files import (
    NO_FOLLOW,
    decode_object,
    encode_json,
    ensure_folder,
    format_moment,
    log_failure,
    try_lock,
    write_atomically,
)
from lineage.core.base import hook_protocol
from lineage.harness import registry, spec
from lineage.processes import find_harness

TYPE_CHECKING = False  # typing itself costs as much as this module
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

MAX_BYTES = 16 * 1024 * 1024
READ_SECONDS = 1.0  # some harnesses never close stdin, all wait for the hook, and a busy machine lets them write late

_CHUNK = 1 << 16
_DEFAULT_ROOT = "~/.agents"
_OPTIONS = {"--workspace": "--workspace", "-w": "--workspace", "--agent": "--agent"}
_PLUGIN = "--plugin"


def run(arguments: "Sequence[str]") -> int:
    """Enqueue the payload on stdin for `HARNESS [--workspace DIR] [--agent NAME]`. Always return 0."""
    if os.environ.get("LINEAGE_SUPPRESS"):
        return 0
    words, options = _parse_arguments(arguments)
    root = os.path.expanduser(_DEFAULT_ROOT)
    try:
        if _PLUGIN in options and words and _is_installed(words[0]):
            return 0
        root = _resolve_root(options.get("--workspace"))
        if len(words) != 1:
            raise ValueError(f"one harness is to be named, there are {len(words)} words")
        is_asked = hook_protocol.NO_RECALL not in options
        enqueue(root, words[0], options.get("--agent") or "default", _read_payload(), is_asked=is_asked)
    except Exception as error:  # noqa: BLE001  (a failing hook must not fail its harness)
        log_failure(root, error)
    return 0


def enqueue(root: str, harness: str, agent: str, payload: "dict[str, Any]", *, is_asked: bool = True) -> None:
    """Write the payload to the spool, durably; answer a session start; start a worker.

    A prompt or an action is answered if the hook `is_asked` to, and nothing else: it leaves no event, and the next
    turn's end starts the worker.
    """
    event = registry.find_event(payload)
    kind = registry.classify_event(event)
    if kind in (spec.PROMPT, spec.ACTION):
        if not is_asked:
            return
        from lineage.cli.hook_recall import print_recall

        print_recall(root, harness, agent, event, kind, payload)
        return
    prefix = hook_protocol.TURN_PREFIX if kind == spec.TURN_END else ""
    prefix = hook_protocol.COMPACTION_PREFIX if kind == spec.BEFORE_COMPACTION else prefix
    try:
        _write_event(root, harness, agent, payload, prefix)
        if _is_context_gone(kind, payload) and os.path.isdir(os.path.join(root, ".lineage", hook_protocol.RECALL_LOG)):
            from lineage.cli.hook_recall import renew_recall

            renew_recall(root, agent, payload)
    finally:  # on a full disk, or where nothing may be written, a session is told what is known all the same
        if kind == spec.SESSION_START:
            _answer_start(root, harness, agent, payload)
    if not os.environ.get("LINEAGE_NO_WORKER"):
        start_worker(root)


def _answer_start(root: str, harness: str, agent: str, payload: "dict[str, Any]") -> None:
    """Print the context block, and note what of it is shown."""
    from lineage.cli.hook_context import print_context

    before = _name_session_event(hook_protocol.COMPACTION_PREFIX, harness, agent, payload)
    shown = print_context(root, harness, agent, payload, before)
    if shown:
        from lineage.cli.hook_recall import note_shown

        note_shown(root, agent, payload, shown)


def _is_context_gone(kind: str, payload: "dict[str, Any]") -> bool:
    """Return whether a session loses what was in its context until now."""
    if kind == spec.SESSION_START:
        return bool({payload.get("source"), payload.get("reason")} & {hook_protocol.COMPACTED, hook_protocol.CLEARED})
    return kind in (spec.BEFORE_COMPACTION, spec.COMPACTION)


def _parse_arguments(arguments: "Sequence[str]") -> "tuple[list[str], dict[str, str]]":
    """Return the words and the options of a command line; an unknown option counts as a word.

    `--no-…` names a part that `lineage hooks install` left out, `--plugin` says that a plug-in calls.
    """
    words, options = [], {}
    rest = list(arguments)
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name in _OPTIONS and (is_joined or rest):
            options[_OPTIONS[name]] = value if is_joined else rest.pop(0)
        elif name == _PLUGIN or name.startswith("--no-"):
            options[name] = value
        else:
            words.append(name)
    return words, options


def _resolve_root(workspace: str | None) -> str:
    name = workspace or os.environ.get("LINEAGE_WORKSPACE") or os.environ.get("SIGNET_WORKSPACE")
    name = name or _read_machine_root() or _DEFAULT_ROOT
    return _resolve_bucket_folder(name) if "://" in name else os.path.abspath(os.path.expanduser(name))


def _read_machine_root() -> str | None:
    """Return the workspace of this machine's settings, in the file that `app.locations` names.

    Only a hook that names none asks, a plug-in's: to read TOML takes a third of a hook's time.
    """
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    base = base if os.path.isabs(base) else os.path.expanduser("~/.config")
    try:
        with open(os.path.join(base, "lineage", "config.toml"), "rb") as file:
            from tomllib import load

            root = load(file).get("workspace")
    except FileNotFoundError:
        return None
    return root if isinstance(root, str) else None


def _is_installed(harness: str) -> bool:
    """Return whether `lineage hooks install` put hooks into the harness's settings: a plug-in's then stand back."""
    import re
    from pathlib import Path

    from lineage.harness.places import is_relative, resolve_place

    installation = registry.HARNESSES[harness].installation
    if installation is None:
        return False
    home = Path(os.path.expanduser("~"))
    folder = resolve_place(installation.folder, home, os.environ) or home
    # what is installed names its workspace; JSON or TOML may stand between the words
    installed = re.compile(rb"\bhook[\s\"',]+" + harness.encode() + rb"[\s\"',]+--workspace\b")
    for name in installation.files:
        path = folder / name if is_relative(name) else resolve_place(name, home, os.environ)
        if path and path.is_file() and installed.search(path.read_bytes()):
            return True
    return False


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
            value = decode_object(data)
            if value is not None:
                return value
    value = decode_object(data)
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


def _write_event(root: str, harness: str, agent: str, payload: "dict[str, Any]", prefix: str) -> None:
    moment, kept = format_moment(time.time()), registry.list_payload_fields()
    record = {
        "version": hook_protocol.VERSION,
        "harness": harness,
        "agent": agent,
        "at": moment,
        "payload": {key: value for key, value in payload.items() if key in kept},
        "process": find_harness(),
    }
    name = f"{moment.replace(':', '-')}--{os.urandom(6).hex()}.json"
    if prefix:  # one file a session, replaced at each turn: the queue does not grow with a session
        name = _name_session_event(prefix, harness, agent, payload)
    write_atomically(ensure_folder(root, hook_protocol.EVENT_QUEUE), name, encode_json(record).encode("ascii"))


def _name_session_event(prefix: str, harness: str, agent: str, payload: "dict[str, Any]") -> str:
    session = f"{harness} {agent} {[payload.get(key) for key in registry.list_id_fields()]}"
    return f"{prefix}{_checksum(session):08x}-{len(session):x}.json"


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
    path = os.path.join(ensure_folder(root, "locks"), f"{hook_protocol.WORKER_LOCK}.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
    try:
        if try_lock(lock):
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
