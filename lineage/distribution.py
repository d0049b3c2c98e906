"""How lineage was installed, and the command that installs more beside it."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from importlib.metadata import Distribution

NAME = "lineage-memory"
_SCHEME = "file://"


def format_extra_command(extra: str) -> str:
    """Return the command that adds an extra to this installation."""
    return format_install_command(sys.prefix, sys.executable, sys.path, extra=extra)


def format_package_command(package: str) -> str:
    """Return the command that installs a package beside lineage."""
    return format_install_command(sys.prefix, sys.executable, sys.path, package=package)


def format_install_command(
    prefix: str, python: str, folders: Sequence[str], *, extra: str = "", package: str = ""
) -> str:
    """Return the command for the environment at `prefix`, whose packages lie in `folders`.

    >>> format_install_command("/none", "/none/bin/python", [], extra="semantic")
    "/none/bin/python -m pip install 'lineage-memory[semantic]'"
    >>> format_install_command("/none", "/none/bin/python", [], package="google-re2")
    '/none/bin/python -m pip install google-re2'
    """
    metadata = _find_distribution(folders)
    origin = _read_origin(metadata)
    own = quote(_format_requirement(origin, extra))
    wanted = quote(package) if package else own
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return f"uv tool install --with {wanted} {own}" if package else f"uv tool install {own}"
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return f"pipx inject --force {NAME} {wanted}"
    if _is_editable(origin) and not package:
        wanted = f"--editable {quote(f'{_read_path(origin)}[{extra}]')}"
    if _read(metadata, "INSTALLER").strip() == "uv":  # its environments have no pip
        return f"uv pip install --python {quote(python)} {wanted}"
    return f"{quote(python)} -m pip install {wanted}"


def _find_distribution(folders: Sequence[str]) -> "Distribution | None":
    from importlib.metadata import distributions  # slow to import, and only a hint needs it

    return next(iter(distributions(name=NAME, path=list(folders))), None)


def _read_origin(metadata: "Distribution | None") -> Mapping[str, object]:
    """Return where the distribution came from (PEP 610), empty for a package index."""
    try:
        origin = json.loads(_read(metadata, "direct_url.json"))
    except ValueError:
        return {}
    return origin if isinstance(origin, dict) else {}


def _read(metadata: "Distribution | None", name: str) -> str:
    try:
        return (metadata and metadata.read_text(name)) or ""
    except (OSError, ValueError):
        return ""


def _format_requirement(origin: Mapping[str, object], extra: str) -> str:
    """Return the requirement that gives what is installed, with an extra. A wheel that is gone is sought by name."""
    name, url = f"{NAME}[{extra}]" if extra else NAME, str(origin.get("url", ""))
    if not url or (url.startswith(_SCHEME) and not os.path.exists(_read_path(origin))):
        return name
    source = origin.get("vcs_info")
    return f"{name} @ {source.get('vcs')}+{url}" if isinstance(source, dict) else f"{name} @ {url}"


def _is_editable(origin: Mapping[str, object]) -> bool:
    details = origin.get("dir_info")
    return isinstance(details, dict) and bool(details.get("editable"))


def _read_path(origin: Mapping[str, object]) -> str:
    return unquote(str(origin.get("url", "")).removeprefix(_SCHEME))
