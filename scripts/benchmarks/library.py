"""The obvious way to index a folder of markdown: python-frontmatter, sqlite-utils, one table and its full text."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import frontmatter
from sqlite_utils import Database

_COLUMNS = ("title", "memory_sentence", "session_id", "project", "harness", "captured_at", "started_at", "ended_at")


def index(memory: Path, database: Path) -> None:
    """A row for each file, the whole body in it, and a full-text index over title, sentence and body."""
    database.unlink(missing_ok=True)
    with closing(Database(database)) as opened:
        table = opened.table("artifacts")
        table.upsert_all(_rows(memory), pk="path")
        table.enable_fts(["title", "memory_sentence", "body"])


def _rows(memory: Path) -> Iterator[dict[str, Any]]:
    for entry in os.scandir(memory):
        if entry.is_file():
            post = frontmatter.load(entry.path)
            said = {name: post.get(name) for name in _COLUMNS}
            yield {
                "path": entry.path,
                "sha256": hashlib.sha256(post.content.encode()).hexdigest(),
                **{name: None if value is None else str(value) for name, value in said.items()},
                "body": post.content,
            }
