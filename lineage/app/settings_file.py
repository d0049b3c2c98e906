"""The settings of a workspace as `lineage config` reads and changes them: `lineage.toml`, which people edit too."""

from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lineage.app.locations import describe_unwritable, is_writable, load_settings, open_store, require_workspace
from lineage.config import Settings, parse_settings
from lineage.config.edit_toml import set_value
from lineage.config.workspace import SETTINGS_FILE
from lineage.errors import InvalidInput, WorkspaceError
from lineage.store import update

_LINKS = "identity_links"
_NO_SETTINGS = ("unknown", _LINKS)


def list_settings(root: Path) -> dict[str, Any]:
    """Return every setting in effect, `table.key` by value. Raises WorkspaceError for no workspace, InvalidInput."""
    store = open_store(root)
    require_workspace(root, store)
    settings = load_settings(store)
    return _flatten(settings) | {f"{_LINKS}.{name}": list(ids) for name, ids in settings.identity_links.items()}


def find_setting(names: Sequence[str], name: str) -> str:
    """Return the name of a setting. Raises InvalidInput that proposes the nearest for an unknown one."""
    if name in names or (name.startswith(f"{_LINKS}.") and name != f"{_LINKS}."):
        return name
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InvalidInput(f"no setting {name[:60]!r}", hint=f"{hint}`lineage config get` lists them")


def set_setting(root: Path, name: str, words: Sequence[str]) -> Any:
    """Set one setting in `lineage.toml`; every other byte of it stays. Return the value that is in effect.

    Raises InvalidInput for an unknown setting and a value that it can't have, WorkspaceError for no workspace and for
    one that can't be written.
    """
    store = open_store(root)
    require_workspace(root, store)
    defaults = _flatten(Settings())
    name = find_setting(list(defaults), name)
    table, _, key = name.partition(".")
    value = list(words) if table == _LINKS else _parse_value(name, words, defaults[name])

    def change(present: bytes | None) -> bytes | None:
        text = (present or b"").decode("utf-8", "surrogateescape")
        parse_settings(text)  # a file that is broken already is named before it is changed
        new = set_value(text, SETTINGS_FILE, (table, key), value)
        try:
            parse_settings(new)
        except InvalidInput as error:
            hint = f"nothing was changed; `lineage config get {name}` prints what it is now"
            raise InvalidInput(error.message, hint=hint) from error
        return new.encode("utf-8", "surrogateescape") if new != text else None

    try:
        update(store, SETTINGS_FILE, change)
    except WorkspaceError as error:
        if is_writable(root):
            raise
        raise describe_unwritable(root, error) from error
    settings = load_settings(store)
    return list(settings.identity_links.get(key, ())) if table == _LINKS else _flatten(settings)[name]


def _parse_value(name: str, words: Sequence[str], default: object) -> object:
    if isinstance(default, list):
        return list(words)
    if len(words) != 1:
        raise InvalidInput(
            f"{name} takes one value, not {len(words)}",
            hint=f"put a value with blanks in quotes: `lineage config set {name} VALUE`",
        )
    (word,) = words
    if isinstance(default, bool):
        if word.lower() not in ("true", "false"):
            raise InvalidInput(
                f"{name} is true or false, not {word[:40]!r}", hint=f"run `lineage config set {name} true`"
            )
        return word.lower() == "true"
    if isinstance(default, int):
        try:
            return int(word)
        except ValueError as error:
            hint = f"run `lineage config set {name} {default}`"
            raise InvalidInput(f"{name} is a whole number, not {word[:40]!r}", hint=hint) from error
    return word


def _flatten(settings: Settings) -> dict[str, Any]:
    tables = {name: values for name, values in asdict(settings).items() if name not in _NO_SETTINGS}
    return {
        f"{table}.{key}": list(value) if isinstance(value, tuple) else value
        for table, values in tables.items()
        for key, value in values.items()
    }
