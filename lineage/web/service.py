"""One running server: its workspace, its clients, and the secrets of this run."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

from lineage.harness.detect_caller import Caller
from lineage.workspace.workspace import Workspace

Result = TypeVar("Result")

COOKIE = "lineage_session"
SESSION_SECONDS = 12 * 3600
LOCAL_HOSTS = ("localhost",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One running server.

    `run_in_workspace` opens the workspace for a use case, as `app.workspace` does. `access_key` is None if clients need
    none; `is_local` marks a server for this machine alone. `caller` is the harness that started the server: an agent's
    server neither confirms nor pins. `host_names` are its own names, `openapi_document` describes its API.
    """

    root: Path
    run_in_workspace: Callable[..., object]
    clock: Callable[[], float]
    access_key: str | None = None
    is_local: bool = True
    caller: Caller | None = None
    host_names: tuple[str, ...] = ()
    openapi_document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    # made anew by each run: no cookie of an earlier one holds
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def run_use_case(self, use_case: Callable[[Workspace], Result], *, writes: bool, needs_index: bool) -> Result:
        """Run a use case in the workspace, opened anew: SQLite's connections belong to one thread."""
        result: Result = self.run_in_workspace(self.root, use_case, writes=writes, needs_index=needs_index)  # type: ignore[assignment]
        return result

    def is_own_host(self, host: str) -> bool:
        """Return whether a Host header means this server. A foreign name may be rebound to us, an address cannot."""
        name = _host_name(host)
        return name.lower() in (*LOCAL_HOSTS, *self.host_names) or _is_ip_address(name)

    def is_access_key(self, text: str) -> bool:
        """Return whether the text is the access key, compared in constant time."""
        return self.access_key is not None and hmac.compare_digest(text.encode(), self.access_key.encode())

    def create_session_cookie(self) -> str:
        """Return the cookie of a client that gave the access key: an end and its signature."""
        end = str(int(self.clock()) + SESSION_SECONDS)
        return f"{end}.{self._sign('session', end)}"

    def is_session_cookie(self, cookie: str) -> bool:
        """Return whether the cookie is ours and not expired."""
        end, _, seal = cookie.partition(".")
        is_ours = hmac.compare_digest(seal.encode(), self._sign("session", end).encode())
        return is_ours and int(end) > self.clock()  # only a sealed end is surely a number

    def make_csrf(self, cookie: str) -> str:
        """Return the value that a change must bring: only readers of our pages know it."""
        return self._sign("csrf", cookie)

    def is_valid_csrf(self, cookie: str, csrf: str) -> bool:
        """Return whether the value belongs to the cookie, compared in constant time."""
        return hmac.compare_digest(csrf.encode(), self.make_csrf(cookie).encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self.secret, f"{purpose}\n{text}".encode(), hashlib.sha256).hexdigest()


def _host_name(host: str) -> str:
    """Return the name of a Host header, without its port; "" if it is malformed.

    >>> [_host_name(text) for text in ("localhost:80", "[::1]:80", "127.0.0.1", "::1", "[::1")]
    ['localhost', '::1', '127.0.0.1', '::1', '']
    """
    if host.startswith("["):
        name, closing, _ = host[1:].partition("]")
        return name if closing else ""
    return host if host.count(":") > 1 else host.partition(":")[0]


def _is_ip_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
