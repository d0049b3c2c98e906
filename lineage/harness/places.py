"""Places of files as a shell writes them: `${NAME:-default}` at the beginning, `~` for the home folder."""

from collections.abc import Mapping
from pathlib import Path


def resolve_place(place: str, home: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the path of a place, None for a variable without a default that isn't set.

    >>> resolve_place("${CODEX_HOME:-~/.codex}/sessions", Path("/home/ada"), {})
    PosixPath('/home/ada/.codex/sessions')
    >>> resolve_place("${A:-${B:-~/.a}/b}/c", Path("/home/ada"), {"B": "/srv"})
    PosixPath('/srv/b/c')
    """
    if place.startswith("${"):
        inside, _, below = place[2:].rpartition("}")
        name, _, default = inside.partition(":-")
        value = environment.get(name)
        # a value is a path, whatever its letters
        top = _expand_home(value, home) if value else resolve_place(default, home, environment) if default else None
        return top / below.lstrip("/") if top and below else top
    return _expand_home(place, home)


def is_relative(place: str) -> bool:
    """Return whether a place lies below another one."""
    return not place.startswith(("$", "~", "/"))


def _expand_home(path: str, home: Path) -> Path:
    return home / path[2:] if path == "~" or path.startswith("~/") else Path(path)
