"""Where workspaces are: a folder, or a bucket with the folder of this machine that stands for it.

The one place that knows the difference. What lies on this machine only is below `.lineage/` of that folder either way.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE_FOLDER, load_machine_settings
from lineage.core.base.address import SCHEMES, address_to_folder, folder_to_address, is_address, normalize_address
from lineage.errors import ExtraMissing, InvalidInput
from lineage.store import LocalStore
from lineage.store.platform import expand_home

if TYPE_CHECKING:
    from lineage.documents import Documents
    from lineage.store.objects import BucketStore


def resolve_bucket_folder(address: str, environment: Mapping[str, str]) -> Path:
    """The folder of this machine that stands for a bucket. Raises InvalidInput for an address of no known kind."""
    normal = normalize_address(address)
    name = address_to_folder(normal) if normal else None
    if name is None:
        kinds = ", ".join(f"{scheme}://BUCKET/PREFIX" for scheme in SCHEMES)
        raise InvalidInput(f"not an address of a workspace: {address[:120]!r}", hint=f"one of {kinds}, or a folder")
    return find_state_home(environment) / name


def find_state_home(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/lineage`, `~/.local/state/lineage` where that is not set or not absolute."""
    named = Path(environment.get("XDG_STATE_HOME") or "")
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "lineage"


def is_bucket(root: Path) -> bool:
    """Whether a workspace lies in a bucket: then its folder holds no files of it."""
    return folder_to_address(root.name) is not None


def format_location(root: Path) -> str:
    """What people call a workspace."""
    return folder_to_address(root.name) or str(root)


def open_store(root: Path) -> "LocalStore | BucketStore":
    """The store of a workspace. Raises ExtraMissing where a bucket needs what is not installed."""
    address = folder_to_address(root.name)
    if address is None:
        return LocalStore(root)
    return open_bucket(address, root / STATE_FOLDER / "locks")


def open_bucket(address: str, locks: Path | None = None) -> "BucketStore":
    """The bucket at an address, reached as the machine's own configuration and the environment say."""
    try:
        from lineage.store.objects import BucketStore
    except ImportError as error:
        raise ExtraMissing("bucket", ["obstore"]) from error
    machine = load_machine_settings(os.environ)
    return BucketStore(address, machine.bucket if machine else {}, locks)


def open_named_store(name: str) -> "LocalStore | BucketStore":
    """The store that a person names, be there a workspace in it or not."""
    if not is_address(name):
        return LocalStore(expand_home(name).absolute())
    return open_store(resolve_bucket_folder(name, os.environ))


def open_private_store(root: Path) -> LocalStore:
    """What of a workspace lies on this machine only: spool, signals, checkpoints, blocks."""
    return LocalStore(root / STATE_FOLDER, locks=root / STATE_FOLDER / "locks", private=True)


def open_documents(root: Path) -> "Documents":
    """The canonical layer alone, for what can be told without asking the workspace's store."""
    from lineage.documents import Documents

    return Documents(open_store(root), open_private_store(root))
