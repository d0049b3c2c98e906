"""Where `lineage serve` listens, and what a client has to know there."""

import os
import socket
from collections.abc import MutableMapping
from ipaddress import ip_address

from lineage.errors import InvalidInput, WorkspaceError

ACCESS_KEY_VARIABLE = "LINEAGE_WEB_TOKEN"

_MIN_KEY_LENGTH = 20


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def take_access_key(environment: MutableMapping[str, str], *, is_local: bool, configured: str = "") -> str | None:
    """The token that the environment names, taken out of it, for what is started from here has no use for it; else the
    configured one.

    Raises InvalidInput for one that can be guessed, and where it is not for this machine alone and there is none.
    """
    token = (environment.pop(ACCESS_KEY_VARIABLE, "") or configured).strip()
    if not token and not is_local:
        raise InvalidInput(
            "other machines are to reach this: it needs a token",
            hint=f"set {ACCESS_KEY_VARIABLE} to a long random text, or leave out `--host` and `--allow-host`",
        )
    if token and (len(token) < _MIN_KEY_LENGTH or not token.isascii() or not token.isprintable() or " " in token):
        raise InvalidInput(
            f"{ACCESS_KEY_VARIABLE} is too short, or not plain: {_MIN_KEY_LENGTH} letters and digits or more",
            hint='make one with `python3 -c "import secrets; print(secrets.token_urlsafe(32))"`',
        )
    return token or None


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there. Port 0 is any free one. Raises WorkspaceError where it is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise WorkspaceError(
            f"can't listen at {host}, port {port}: {os.strerror(error.errno) if error.errno else error}",
            hint="name another port with `--port`",
        ) from error


def format_url(listener: socket.socket) -> str:
    """How a browser on this machine calls it."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"
