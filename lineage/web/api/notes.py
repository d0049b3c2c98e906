"""Notes that agents kept in their own files, imported into books (format: Books; lessons: 26, 27)."""

from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput
from lineage.pipeline.memory.migrate_notes import STATES, MigrationRequest, migrate_notes
from lineage.web.routes import POST, Route, WebCall
from lineage.web.schema import BOOLEAN, COUNTS, INTEGER, TEXT, Schema, list_of, nullable, one_of, record
from lineage.workspace.workspace import Workspace

_MAX_PATHS = 100


def _migrate(ws: Workspace, call: WebCall) -> Any:
    """Import notes. Files are read for a local client only, as transcripts are."""
    if not call.service.is_local:
        raise InvalidInput("paths are files of this machine", hint="run `lineage book migrate` there")
    paths = tuple(map(Path, call.body["paths"]))
    if not paths or not all(path.is_absolute() and "\0" not in str(path) for path in paths):
        raise InvalidInput("a path isn't absolute", hint="give whole paths of files or folders, at least one")
    is_dry = call.body.get("dry_run", False)
    asked = MigrationRequest(paths=paths, root=call.service.root, agent_id=call.body.get("agent_id"), is_dry_run=is_dry)
    found = migrate_notes(ws, asked, call.service.caller)
    is_whole = all(one.is_complete for one in found)
    return {"dry_run": is_dry, "whole": is_whole, "files": [one.as_json() for one in found]}


_MIGRATED_ENTRY = record(
    {"line": INTEGER, "scope": TEXT, "kind": TEXT, "state": one_of(*STATES), "reason": nullable(TEXT)}
)
_FILE: Schema = record(
    {
        "path": TEXT, "skipped": nullable(TEXT), "problem": nullable(TEXT), "counts": COUNTS, "redactions": COUNTS,
        "entries": list_of(_MIGRATED_ENTRY),
    }
)  # fmt: skip

ROUTES = (
    Route(
        method=POST, path="/migrate", name="migrateNotes",
        about="Bring notes into books, as `lineage book migrate` does; the files stay. On this machine alone, and for "
        "the user alone: what is dry changes nothing. `whole` says that nothing was left out.",
        body=record(
            {"paths": {**list_of(TEXT), "maxItems": _MAX_PATHS}}, {"agent_id": nullable(TEXT), "dry_run": BOOLEAN}
        ),
        response=record({"dry_run": BOOLEAN, "whole": BOOLEAN, "files": list_of(_FILE)}), run=_migrate,
    ),
)  # fmt: skip
