"""What a prompt would be given, as the hook finds it (usefulness: What an agent is given, and when)."""

import sqlite3
from collections.abc import Collection
from contextlib import closing

from lineage.core.base.book_paths import BOOKS
from lineage.core.base.file_names import escape_name
from lineage.core.base.naming import validate_agent_id
from lineage.core.base.project import has_project
from lineage.errors import InvalidInput
from lineage.index import SqliteIndex
from lineage.recall import reader
from lineage.recall.at_prompt import recall_at_prompt
from lineage.recall.items import Recall
from lineage.workspace.workspace import Workspace


def recall_for_prompt(
    ws: Workspace,
    prompt: str,
    *,
    agent_id: str,
    keys: Collection[str],
    folder: str | None,
    session: str = "",
    is_asked: bool = False,
) -> Recall:
    """Return what the hook would give for a prompt in a project, by its keys and the folder of its books.

    What was given to a session before isn't left out, so that the same question has the same answer. Where a person
    asks, the best are given, whatever the floor. Nothing is of an index on a server, which no hook waits for.
    """
    validate_agent_id(agent_id)
    if not isinstance(ws.index, SqliteIndex):
        return Recall(reason="the index is on a server, and no prompt waits for that")
    folders = {f"{BOOKS}project/{escape_name(folder)}"} if folder else set()
    try:
        with closing(reader.open_database(str(ws.index.path))) as connection:
            return recall_at_prompt(
                connection,
                sorted(filter(has_project, keys)),
                agent_id,
                prompt,
                owns_folder=folders.__contains__,
                exclude_session=session,
                is_asked=is_asked,
            )
    except sqlite3.Error as error:
        raise InvalidInput(f"the index can't be read: {error}", hint="run `lineage reindex`") from error
