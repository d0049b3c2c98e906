"""The workspace template that comes with the package."""

from pathlib import Path

import lineage


def find_template() -> Path:
    """Return the template's folder: inside the installed package, or beside it in a checkout."""
    package = Path(lineage.__file__).parent
    installed = package / "workspace_template"
    return installed if installed.is_dir() else package.parent / "workspace_template"
