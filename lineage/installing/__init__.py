"""Installing lineage's hooks into each harness's own configuration, and removing them again to the byte.

    hook_definitions     the events registered with each harness, with its timeouts
    layouts              the files of each harness
    commands             the command line, and recognizing lineage's entries
    json_hooks · toml_hooks · plugin_files   the forms of a file: text in, text out
    jsonc                JSON with comments as positions in its text, and edits to it
    config_files         reading, backup, atomic replacement, and the record of additions beside the entries
    installation         planning the changes, then applying them
    status               the hooks on this machine, and problems with them

**Backups.** lineage keeps the former content of a changed file beside it as `NAME.lineage-backup-N`. A backup goes once
the file equals it again, or once uninstalling leaves a file that holds every value and comment of them all: harnesses
rewrite their settings. One remains only if somebody else took something out of the file in between.
"""

from lineage.installing.commands import HookCommand
from lineage.installing.hook_definitions import INSTALLATIONS, get_installation
from lineage.installing.installation import FileChange, apply_changes, plan_install, plan_uninstall, read_record
from lineage.installing.layouts import HostMachine, resolve_harness_folder
from lineage.installing.status import HookFinding, HookStatus, read_status

__all__ = [
    "INSTALLATIONS", "FileChange", "HookCommand", "HookFinding", "HookStatus", "HostMachine", "apply_changes",
    "get_installation", "plan_install", "plan_uninstall", "read_record", "read_status", "resolve_harness_folder",
]  # fmt: skip
