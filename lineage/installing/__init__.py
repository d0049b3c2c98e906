"""Installing lineage's hooks into each harness's own configuration, and taking them out again to the byte.

    events             what is registered with each harness, with units and limits of its timeouts
    layouts            which files of a harness take it
    commands           the command line, and telling lineage's entries from others'
    json_hooks · toml_hooks · whole_files   the forms of a file: text in, text out
    jsonc · editing    JSON with comments as positions in its text, and changes to it
    marks              what was made beside the entries, noted so that exactly that goes again
    files              reading, backup, replacing as a whole
    installation       what is to change, then carrying it out
    status · checks    what is installed on this machine, and what keeps it from working

**Backups.** What a file held before lineage changed it is kept beside it as `NAME.lineage-backup-N`. A backup goes when
the file is again what the backup holds, which is what uninstalling does; one is left only where somebody else changed
the file while the hooks were installed.
"""

from lineage.installing.checks import HookFinding
from lineage.installing.commands import HookCommand
from lineage.installing.installation import FileChange, apply_changes, plan_install, plan_uninstall, read_record
from lineage.installing.layouts import LAYOUTS, HostMachine, get_layout
from lineage.installing.status import HookStatus, read_status

__all__ = [
    "LAYOUTS",
    "FileChange",
    "HookCommand",
    "HookFinding",
    "HookStatus",
    "HostMachine",
    "apply_changes",
    "get_layout",
    "plan_install",
    "plan_uninstall",
    "read_record",
    "read_status",
]  # fmt: skip
