"""Where workspaces are: a folder, or a bucket with the folder of this machine that stands for it.

The one place that knows the difference. What lies on this machine only is below `.lineage/` of that folder either way.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE, machine_settings
from lineage.core.address import SCHEMES, address_of, folder_name, is_address, normal_address
from lineage.errors import ExtraMissing, InvalidInput
from lineage.store import LocalStore
from lineage.store.platform import expanded

if TYPE_CHECKING:
    from lineage.canon import Canon
    from lineage.store.objects import Bucket


def folder_of(address: str, environment: Mapping[str, str]) -> Path:
    """The folder of this machine that stands for a bucket. Raises InvalidInput for an address of no known kind."""
    normal = normal_address(address)
    name = folder_name(normal) if normal else None
    if name is None:
        kinds = ", ".join(f"{scheme}://BUCKET/PREFIX" for scheme in SCHEMES)
        raise InvalidInput(f"not an address of a workspace: {address[:120]!r}", hint=f"one of {kinds}, or a folder")
    return state_home(environment) / name


def state_home(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/lineage`, `~/.local/state/lineage` where that is not set or not absolute."""
    named = Path(environment.get("XDG_STATE_HOME") or "")
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "lineage"


def is_bucket(root: Path) -> bool:
    """Whether a workspace lies in a bucket: then its folder holds no files of it."""
    return address_of(root.name) is not None


def shown(root: Path) -> str:
    """What people call a workspace."""
    return address_of(root.name) or str(root)


def store_at(root: Path) -> "LocalStore | Bucket":
    """The store of a workspace. Raises ExtraMissing where a bucket needs what is not installed."""
    address = address_of(root.name)
    if address is None:
        return LocalStore(root)
    return bucket_at(address, root / STATE / "locks")


def bucket_at(address: str, locks: Path | None = None) -> "Bucket":
    """The bucket at an address, reached as the machine's own configuration and the environment say."""
    try:
        from lineage.store.objects import Bucket
    except ImportError as error:
        raise ExtraMissing("bucket", ["obstore"]) from error
    machine = machine_settings(os.environ)
    return Bucket(address, machine.bucket if machine else {}, locks)


def store_named(name: str) -> "LocalStore | Bucket":
    """The store that a person names, be there a workspace in it or not."""
    if not is_address(name):
        return LocalStore(expanded(name).absolute())
    return store_at(folder_of(name, os.environ))


def private_at(root: Path) -> LocalStore:
    """What of a workspace lies on this machine only: spool, signals, checkpoints, blocks."""
    return LocalStore(root / STATE, locks=root / STATE / "locks", private=True)


def canon_at(root: Path) -> "Canon":
    """The canonical layer alone, for what can be told without asking the workspace's store."""
    from lineage.canon import Canon

    return Canon(store_at(root), private_at(root))
