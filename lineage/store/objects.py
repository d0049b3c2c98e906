"""A store in a bucket: S3, Google Cloud Storage or Azure, by conditional writes. (scale.md: the store protocol).

A write creates a key if it is free (`If-None-Match: *`) or replaces it if its e-tag is unchanged (`If-Match`). Every
write carries an id of its own as metadata: a retry after a lost answer recognizes its own object. Transient errors are
retried here for `patience` seconds; callers never see them.
"""

import contextlib
import os
import random
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from filelock import FileLock, Timeout
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, PreconditionError
from obstore.store import from_url

from lineage.errors import InvalidInput, WorkspaceError
from lineage.store import base
from lineage.store.platform import get_machine_id, make_directories
from lineage.store.record_locks import RecordLocks

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutMode, UpdateVersion
    from obstore.store import ObjectStore

RETRY_SECONDS = 10.0

_WRITE_ID = "lineagewrite"
_CONNECT_SECONDS, _REQUEST_SECONDS = 5, 60
_MIN_PAUSE, _MAX_PAUSE = 0.05, 2.0
_MAX_KEY_BYTES = 900
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_TRANSIENT = frozenset({408, 425, 429})  # timeout, too early, too many requests
_COLLISION = "ConditionalRequestConflict"
_NOT_IMPLEMENTED = 501
_PAGE_SIZE = 1000
_NO_BUCKET_MARKS = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_CREDENTIALS_HINT = "give credentials in the environment or in [bucket] of ~/.config/lineage/config.toml"
_ENVIRONMENT_PREFIXES = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
_ENDPOINT = re.compile(r"((aws|google|azure|azure_storage)_)?(endpoint(_url)?|base_url)", re.IGNORECASE)
_ADDRESS = re.compile(r"(https?)://([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?(/[\w.~/-]*)?", re.IGNORECASE | re.ASCII)
_ENDPOINT_HINT = "an endpoint is https://HOST:PORT, or http://HOST:PORT without TLS"

Result = TypeVar("Result")


class _ConditionFailed(Exception):
    """The condition of a write does not hold: the key exists, changed or is gone."""


@dataclass
class BucketStore(base.Store):
    """The bucket, or the part of it under a prefix, at `url`: `s3://BUCKET/PREFIX`, `gs://…` or `az://…`.

    `settings` are obstore's for that kind of store; the environment supplies the rest. `locks` is a folder for locks
    between processes of this machine; without it each object competes alone. `patience` is the number of seconds for
    retries.
    """

    url: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    locks: Path | None = None
    patience: float = RETRY_SECONDS

    is_remote = True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process: a connection is never shared."""
        return {name: self.__dict__[name] for name in ("url", "settings", "locks", "patience")}

    def exists(self) -> bool:
        """Tell whether the bucket has any key under its prefix. Raises WorkspaceError if it does not answer."""
        return not self.is_empty("")

    def create(self, key: str, data: base.Data, *, frozen: bool = False) -> str:
        del frozen
        _check_key(key)
        try:
            return self._put(key, base.join_chunks(data), "create")  # multipart writes take no condition
        except _ConditionFailed as error:
            raise base.ExistsError(f"{key} exists already") from error

    def read(self, key: str) -> base.Blob:
        return self._read(key)[0]

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        del frozen
        _check_key(key)
        e_tag, _, generation = version.partition("\n")
        condition: UpdateVersion = {"e_tag": e_tag}
        if generation:
            condition["version"] = generation
        try:
            if not generation and self.url.startswith("gs:"):
                raise _ConditionFailed(version)  # Google's versions always have a generation
            return self._put(key, data, condition)
        except _ConditionFailed as error:
            raise base.ConflictError(f"{key} was changed or removed by somebody else") from error

    def list(self, prefix: str, after: str = "") -> Iterator[base.StoredKey]:
        base.validate_prefix(prefix)
        keys = {base.StoredKey(meta["path"], _stamp_of(meta)) for meta in self._list_metas(prefix, after=after)}
        for folder in _folders_listed_early(prefix, after):
            keys |= {base.StoredKey(meta["path"], _stamp_of(meta)) for meta in self._list_metas(folder)}
        return iter(sorted(entry for entry in keys if base.is_listed(entry.key, prefix) and entry.key > after))

    def is_empty(self, prefix: str) -> bool:
        """Tell whether there are no keys below a prefix."""
        base.validate_prefix(prefix)
        metas = self._list_metas(prefix, is_enough=lambda meta: base.is_listed(meta["path"], prefix))
        return not any(base.is_listed(meta["path"], prefix) for meta in metas)

    def delete(self, key: str) -> None:
        _check_key(key)
        with contextlib.suppress(FileNotFoundError):
            self._with_retries(lambda: obstore.delete(self._client, key))

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[None]:
        """Hold a lock between all machines (see `Store.lock`)."""
        base.validate_key(name)
        with self._hold_machine_lock(name, wait), self._record_locks.lock(name, wait=wait):
            yield

    def residual_copies(self) -> tuple[str, ...]:
        return (
            "what the bucket itself keeps of deleted objects: versions, soft delete, object lock, replicas",
            "copies that a mirror or a backup made",
            "rows and vectors that other machines keep until their next command",
        )

    def _put(self, key: str, data: bytes, mode: "PutMode") -> str:
        """Write under a condition and return the version. Raises _ConditionFailed if the condition does not hold."""
        write_id, tries = secrets.token_hex(16), iter(range(1 << 30))

        def put() -> str:
            is_first = next(tries) == 0
            try:
                attributes = {_WRITE_ID: write_id}
                done = obstore.put(self._client, key, data, mode=mode, attributes=attributes, use_multipart=False)
            except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
                if _is_transient(error) or _is_bucket_missing(error):
                    raise
                # The condition may fail because an earlier try of this very write, whose answer was lost, succeeded.
                version = None if is_first else self._find_own_write(key, write_id)
                if version is None:
                    raise _ConditionFailed(key) from error
                return version
            return _version_of(done["e_tag"], done["version"])

        return self._with_retries(put)

    def _find_own_write(self, key: str, write_id: str) -> str | None:
        """Return the version of a key if the write of this id made it."""
        with contextlib.suppress(base.MissingError):
            blob, last_write_id = self._read(key)
            return blob.version if last_write_id == write_id else None
        return None

    def _read(self, key: str) -> tuple[base.Blob, str]:
        """Return the content of a key and the id of the write that made it."""

        def read() -> tuple[base.Blob, str]:
            answer = obstore.get(self._client, key)
            meta = answer.meta
            version = _version_of(meta["e_tag"], meta["version"])
            return base.Blob(bytes(answer.bytes()), version, _stamp_of(meta)), str(answer.attributes.get(_WRITE_ID, ""))

        _check_key(key)
        try:
            return self._with_retries(read)
        except FileNotFoundError as error:
            raise base.MissingError(f"{key} does not exist") from error

    def _list_metas(
        self, prefix: str, is_enough: "Callable[[ObjectMeta], bool]" = lambda _: False, after: str = ""
    ) -> "Sequence[ObjectMeta]":
        """Return the objects below a prefix and behind `after`, both in the server's order.

        The first object with `is_enough` ends the listing and is returned alone.
        """

        def list_all() -> "Sequence[ObjectMeta]":
            metas: deque[ObjectMeta] = deque()
            for page in obstore.list(self._client, prefix or None, offset=after or None, chunk_size=_PAGE_SIZE):
                metas += page
                if any(map(is_enough, page)):
                    return [next(filter(is_enough, page))]
            return [meta for meta in metas if not prefix or meta["path"].startswith(prefix)]

        return self._with_retries(list_all)

    def _with_retries(self, request: Callable[[], Result]) -> Result:
        """Return the answer to a request, after retries if needed.

        Raises FileNotFoundError for a missing key, StoreUnavailable if the store stays away or refuses access, and
        WorkspaceError for any other lasting failure.
        """
        deadline, pause = time.monotonic() + self.patience, _MIN_PAUSE
        while True:
            try:
                return request()
            except (BaseError, FileNotFoundError) as error:
                if not _is_transient(error):
                    if isinstance(error, FileNotFoundError) and not _is_bucket_missing(error):
                        raise
                    raise self._translate_error(error) from error
                if time.monotonic() >= deadline:
                    raise base.StoreUnavailable(f"{self.url} does not answer: {_format_error(error)}") from error
            time.sleep(pause * random.uniform(0.5, 1.0))  # jitter: writers that collided don't collide again
            pause = min(pause * 2, _MAX_PAUSE)

    def _translate_error(self, error: Exception) -> WorkspaceError:
        if _is_bucket_missing(error):
            return WorkspaceError(f"there is no bucket at {self.url}", hint="make it with your provider's tools first")
        if _parse_status(error) in (401, 403):
            return base.StoreUnavailable(f"{self.url} refuses access: {_format_error(error)}", hint=_CREDENTIALS_HINT)
        return WorkspaceError(f"{self.url}: {_format_error(error)}", hint=f"run `lineage admin store-check {self.url}`")

    @contextmanager
    def _hold_machine_lock(self, name: str, wait: bool) -> Iterator[None]:
        """Hold the lock between processes of this machine: only one of them competes with other machines."""
        if self.locks is None:
            yield
            return
        make_directories(self.locks, 0o700)
        try:
            with FileLock(str(self.locks / f"bucket-{name}.lock"), mode=0o600, thread_local=False, blocking=wait):
                yield
        except Timeout as error:
            raise base.BusyError(f"{name} is held by somebody else") from error

    @cached_property
    def _client(self) -> "ObjectStore":
        # `Any`: the settings depend on the kind of store, and obstore checks them.
        config: Any = dict(self.settings)
        options: Any = {
            "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            "timeout": timedelta(seconds=_REQUEST_SECONDS),
        }
        if any(map(_is_plain_http, _find_endpoints(self.url, self.settings))):
            options["allow_http"] = True
        try:
            client: ObjectStore = from_url(
                self.url, config=config, client_options=options, retry_config={"max_retries": 0}
            )
            return client
        except Exception as error:
            raise InvalidInput(f"{self.url} can't be opened: {_format_error(error)}", hint=_CREDENTIALS_HINT) from error

    @cached_property
    def _record_locks(self) -> RecordLocks:
        return RecordLocks(self, f"{get_machine_id()} {self.locks}" if self.locks else secrets.token_hex(16))


def _find_endpoints(url: str, settings: Mapping[str, str]) -> Sequence[str]:
    """Return the addresses of a server other than the provider's: from the settings, else from the environment."""
    prefix = _ENVIRONMENT_PREFIXES[url.partition(":")[0]]
    environment = {name: value for name, value in os.environ.items() if name.startswith(prefix)}
    configured, default = (
        [value for name, value in source.items() if value and _ENDPOINT.fullmatch(name)]
        for source in (settings, environment)
    )
    return configured or default


def _is_plain_http(endpoint: str) -> bool:
    """Tell whether an endpoint goes without TLS. Raises InvalidInput if it is no address."""
    match = _ADDRESS.fullmatch(endpoint)
    if not match:  # obstore would abort the process
        raise InvalidInput("the endpoint of the bucket is not an address", hint=_ENDPOINT_HINT)
    return match[1].lower() == "http"


def _check_key(key: str) -> None:
    if len(base.validate_key(key).encode()) > _MAX_KEY_BYTES:
        raise WorkspaceError(f"not a usable path in a bucket: {key[:120]!r}", hint="give it a shorter name")


def _folders_listed_early(prefix: str, after: str) -> list[str]:
    """Return the folders with keys that sort behind `after`, but come before it in a listing folder by folder.

    SeaweedFS lists like that.

    >>> _folders_listed_early("memory/", "memory/2026-11")
    ['memory/2026-11/', 'memory/2026/']
    """
    ends = [place for place, sign in enumerate(f"{after}!") if sign < "/" and place > len(prefix)]
    return sorted({f"{after[:end].rstrip('/')}/" for end in ends})


def _version_of(e_tag: str | None, version: str | None) -> str:
    """Join the two values that stores compare: e-tags, or generations on Google."""
    return f"{e_tag or ''}\n{version or ''}"


def _stamp_of(meta: "ObjectMeta") -> str:
    return (meta["e_tag"] or "").strip('"')  # some listings omit the quotes


def _parse_status(error: Exception) -> int | None:
    """Return the status of the server's answer, None if there was no answer."""
    match = _STATUS.search(str(error))
    return int(match[1]) if match else None


def _is_transient(error: Exception) -> bool:
    """Tell whether a retry may help: no answer, a busy or broken server, writers that collided."""
    status = _parse_status(error)
    if status is None:
        return isinstance(error, GenericError) and "HTTP error" in str(error)
    return (status >= 500 and status != _NOT_IMPLEMENTED) or status in _TRANSIENT or _COLLISION in str(error)


def _is_bucket_missing(error: Exception) -> bool:
    return any(name in str(error) for name in _NO_BUCKET_MARKS)


def _format_error(error: Exception) -> str:
    """Return the server's answer, or the reason for none, in a few words."""
    # Without the address: it may hold a signature.
    text = str(error).partition("\n\nDebug source")[0]
    status, code = _STATUS.search(text), _CODE.search(text)
    if status:
        return f"{status[1]} {code[1]}" if code else status[1]
    return text.rpartition(" - ")[2][:200]
