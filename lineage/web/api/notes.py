"""Notes that agents kept in files of their own, brought into books. (format: Books; lessons: 26, 27)"""

from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.migrating import STATES, Asked, migrate
from lineage.web.routes import POST, Call, Route
from lineage.web.schema import COUNTS, FLAG, TEXT, WHOLE, Schema, listed, maybe, one_of, record

_MOST_PATHS = 100


def _migrate(house: House, call: Call) -> Any:
    """Files are read for who is on this machine, as a transcript is."""
    if not call.service.is_local:
        raise InvalidInput("paths are files of this machine", hint="run `lineage book migrate` there")
    paths = tuple(map(Path, call.body["paths"]))
    if not paths or not all(path.is_absolute() and "\0" not in str(path) for path in paths):
        raise InvalidInput("a path isn't absolute", hint="give whole paths of files or folders, at least one")
    is_dry = call.body.get("dry_run", False)
    asked = Asked(paths=paths, root=call.service.root, agent_id=call.body.get("agent_id"), is_dry=is_dry)
    found = migrate(house, asked, call.service.caller)
    return {"dry_run": is_dry, "whole": all(one.is_whole for one in found), "files": [one.as_json() for one in found]}


_TAKEN = record({"line": WHOLE, "scope": TEXT, "kind": TEXT, "state": one_of(*STATES), "reason": maybe(TEXT)})
_FILE: Schema = record(
    {
        "path": TEXT, "skipped": maybe(TEXT), "problem": maybe(TEXT), "counts": COUNTS, "redactions": COUNTS,
        "entries": listed(_TAKEN),
    }
)  # fmt: skip

ROUTES = (
    Route(
        method=POST, path="/migrate", name="migrateNotes",
        about="Bring notes into books, as `lineage book migrate` does; the files stay. On this machine alone, and for "
        "the user alone: what is dry changes nothing. `whole` says that nothing was left out.",
        body=record(
            {"paths": {**listed(TEXT), "maxItems": _MOST_PATHS}}, {"agent_id": maybe(TEXT), "dry_run": FLAG}
        ),
        answer=record({"dry_run": FLAG, "whole": FLAG, "files": listed(_FILE)}), act=_migrate,
    ),
)  # fmt: skip
