"""Shell completion of session ids; click completes commands and options itself."""

import click
from click.shell_completion import CompletionItem

_MAX_COMPLETED = 50


def complete_session(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the newest sessions with an id that begins so, each with its title; none where memory can't be read."""
    # a shell loads this for every command: what reads the workspace is loaded when Tab is pressed
    from lineage.app.locations import resolve_workspace_root
    from lineage.app.workspace import run_in_workspace
    from lineage.errors import LineageError
    from lineage.index import SessionFilter
    from lineage.workspace.projects import list_sessions

    try:
        root = resolve_workspace_root(context.find_root().params.get("workspace"))
        rows = run_in_workspace(root, lambda ws: list_sessions(ws, None, wanted=SessionFilter(), limit=1000))
    except (LineageError, OSError):
        return []
    matching = [row for row in rows if row.session_id.startswith(incomplete)]
    return [CompletionItem(row.session_id, help=row.title) for row in matching[:_MAX_COMPLETED]]
