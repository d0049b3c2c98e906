"""`lineage search`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json

if TYPE_CHECKING:
    from lineage.index import EntryRow, Hit


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@options.agent
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many at most.")
@options.as_json
@options.workspace
def command(root: Path, query: tuple[str, ...], agent: str, limit: int, as_json: bool) -> int:
    """Find sessions and entries of books by any word of the query, best first, one result per session.

    Archived entries are found too, those that wait for `lineage book confirm` are not. With an agent, its own books and
    sessions are searched, and what is nobody's own: global books, projects and peers.

    \b
    Example:
      lineage search "why did the parser drop the last line"
    """
    from lineage.app import with_house
    from lineage.pipeline.lookup import search

    text, agent_id = " ".join(query), None if agent == "all" else agent
    hits = with_house(root, lambda house: search(house, text, agent_id, limit))
    if as_json:
        say_json({"query": text, "results": [_as_json(hit) for hit in hits]})
        return 0
    for hit in hits:
        for line in _told(hit):
            say(line)
        click.echo(f"    {_marked(' '.join(hit.snippet.split()), colour=sys.stdout.isatty())}")
    if not hits:
        say("nothing found; `lineage sessions` lists what is there")
    return 0


def _told(hit: "Hit") -> list[str]:
    entry = hit.entry
    if entry is None:
        return [
            f"{hit.membership_ts}  {hit.session_id}  {hit.kind}  {hit.project or '-'}",
            f"    {hit.memory_sentence}",
        ]
    marks = [f"archived {entry.shelf}"] * bool(entry.shelf) + ["superseded"] * (not entry.standing)
    return ["  ".join([entry.at or "by hand", entry.trust, entry.scope, entry.kind, entry.id, *marks])]


def _as_json(hit: "Hit") -> dict[str, Any]:
    entry = hit.entry
    return {
        "session_id": hit.session_id,
        "session_token": hit.session_token,
        "agent_id": hit.agent_id,
        "kind": hit.kind,
        "path": hit.path,
        "turns": None,
        "score": round(hit.score, 6),
        "snippet": _marked(hit.snippet, colour=False),
        "project": hit.project,
        "membership_ts": hit.membership_ts,
        "memory_sentence": hit.memory_sentence,
        **({} if entry is None else _entry(entry)),
    }


def _entry(entry: "EntryRow") -> dict[str, Any]:
    return {
        "id": entry.id,
        "scope": entry.scope,
        "book": entry.kind,
        "shelf": entry.shelf,
        "trust": entry.trust,
        "source": entry.source,
        "from": entry.origin,
        "tags": list(entry.tags),
        "standing": entry.standing,
        "done": entry.done,
    }


def _marked(snippet: str, *, colour: bool) -> str:
    """The snippet with what matched in bold on a terminal, and without any mark elsewhere."""
    from lineage.index import MARK

    opening, closing = MARK
    parts = snippet.split(opening)
    text = plain(parts[0])
    for part in parts[1:]:
        matched, _, rest = part.partition(closing)
        text += (click.style(plain(matched), bold=True) if colour else plain(matched)) + plain(rest)
    return text
