"""The address of `lineage serve` and its access key."""

import os
import socket
from collections.abc import MutableMapping
from ipaddress import ip_address

from lineage.errors import InvalidInput, WorkspaceError

ACCESS_KEY_VARIABLE = "LINEAGE_WEB_TOKEN"

_MIN_KEY_LENGTH = 20


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches the address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def take_access_key(environment: MutableMapping[str, str], *, is_local: bool, configured: str = "") -> str | None:
    """Return the access key from the environment, else the configured one; None without one.

    Raises InvalidInput for a key that can be guessed, and without a key if other machines reach the server.
    """
    # popped: child processes have no use for the key and must not leak it
    token = (environment.pop(ACCESS_KEY_VARIABLE, "") or configured).strip()
    if not token and not is_local:
        hint = f"set {ACCESS_KEY_VARIABLE} to a long random text, or leave out `--host` and `--allow-host`"
        raise InvalidInput("other machines could reach this page, and it has no access key", hint=hint)
    if token and (len(token) < _MIN_KEY_LENGTH or not token.isascii() or not token.isprintable() or " " in token):
        raise InvalidInput(
            f"{ACCESS_KEY_VARIABLE} is too short, or not plain: {_MIN_KEY_LENGTH} letters and digits or more",
            hint='make one with `python3 -c "import secrets; print(secrets.token_urlsafe(32))"`',
        )
    return token or None


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free one. Raises WorkspaceError for an address that can't be bound."""
    # create_server sets SO_REUSEADDR on POSIX: a restart need not wait for old connections
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        problem = f"can't listen at {host}, port {port}: {os.strerror(error.errno) if error.errno else error}"
        raise WorkspaceError(problem, hint="name another port: `lineage serve --port 0` takes any free one") from error


def format_url(listener: socket.socket) -> str:
    """Return the URL for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"
