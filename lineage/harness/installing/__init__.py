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

from lineage.harness.installing.checks import Finding
from lineage.harness.installing.commands import Command
from lineage.harness.installing.installation import Change, carry_out, installing, read_record, uninstalling
from lineage.harness.installing.layouts import LAYOUTS, Machine, layout_of
from lineage.harness.installing.status import Status, status

__all__ = [
    "LAYOUTS", "Change", "Command", "Finding", "Machine", "Status", "carry_out", "installing", "layout_of",
    "read_record", "status", "uninstalling",
]  # fmt: skip
