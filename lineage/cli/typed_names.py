"""Projects and scopes as people type them, with the remarks on stderr about what else they may mean."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, cast

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_warning
from lineage.core.base.book_paths import session_scope
from lineage.core.base.naming import TOKEN
from lineage.errors import IndexUnavailable, InvalidInput
from lineage.workspace.lookup import resolve_session
from lineage.workspace.typed_names import (
    NamedScope,
    describe_filter,
    find_project_scope,
    find_scope,
    is_named_project,
)
from lineage.workspace.workspace import Workspace

SCOPE_HELP = "global, a project (project/NAME, owner/name, a folder), agent/ID, peer/ID or session/TOKEN."


def project_filter(text: str) -> Callable[[options.Function], options.Function]:
    """Return the option `--project` of a command that takes the sessions of all projects that are called so.

    The command ends with a line about that on stderr.
    """

    def decorate(function: options.Function) -> options.Function:
        @wraps(function)
        def run(*arguments: Any, **values: Any) -> Any:
            result = function(*arguments, **values)
            if values["project"]:
                warn(run_in_workspace(values["root"], lambda ws: describe_filter(ws, values["project"])))
            return result

        return options.project(text)(cast("options.Function", run))

    return decorate


def resolve_scope(root: Path, text: str) -> str:
    """Return the scope that a person typed, to read its books; say on stderr what else it may mean.

    A session's may name it by the id that lists print. Raises InvalidInput as `find_scope` does, and NotFoundError for
    a session that isn't there.
    """
    sort, _, name = text.partition("/")
    if sort == "session" and name and not TOKEN.fullmatch(name):
        return _resolve(root, text, lambda ws, _: NamedScope(session_scope(resolve_session(ws, name).session_token)))
    return _resolve(root, text, find_scope) if is_named_project(text) else text


def resolve_scope_filter(root: Path, scope: str | None, project: str | None) -> str | None:
    """Return the scope of a list by a scope or a project that was typed, None for all; say what else it may mean.

    What names nothing, or several projects, is a scope without books.
    """
    if project is not None and scope is not None:
        raise InvalidInput("a project's scope is one scope", hint="give `--scope` or `--project`")
    try:
        if project is not None:
            return _resolve(root, project, find_project_scope)
        return scope and resolve_scope(root, scope)
    except InvalidInput as error:
        warn(f"{error.message}: {error.hint}")
        return scope or project


def warn(note: str) -> None:
    """Print a remark on stderr, if there is one."""
    if note:
        print_warning(note)


def _resolve(root: Path, text: str, find: Callable[[Workspace, str], NamedScope]) -> str:
    """Return the scope that is found; the text itself while the index is away, for the books are files."""
    try:
        found = run_in_workspace(root, lambda ws: find(ws, text))
    except IndexUnavailable as error:
        warn(f"a scope has to be typed as it is: {error.message}")
        return text
    warn(found.note)
    return found.scope
