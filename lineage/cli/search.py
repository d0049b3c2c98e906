"""`lineage search`."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from lineage.app.changed_files import ChangedFiles, count_changed_files, list_touched
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import is_terminal, print_json, print_synopsis, print_text, print_warning, strip_controls
from lineage.cli.typed_names import warn
from lineage.core.base.naming import ARTIFACT_KINDS
from lineage.core.search.query import Filters, find_mistaken_filters, parse_query
from lineage.errors import InvalidInput
from lineage.index import Hit
from lineage.pipeline.search.found_passages import FoundPassage, load_passages
from lineage.pipeline.search.search import SearchResult, search
from lineage.workspace.lookup import describe_unshown, shorten_ids
from lineage.workspace.projects import KnownProjects
from lineage.workspace.typed_names import describe_filter, suggest_kind, suggest_project
from lineage.workspace.workspace import Workspace

_MAX_LIMIT = 1000


def _refuse_filter(_ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Say how a filter is written that somebody gives as an option."""
    if value is not None:
        word = shlex.quote(f"{param.name}:{value}")
        raise InvalidInput(
            f"search takes no --{param.name}: it is a word of the query", hint=f"`lineage search {word} WORDS`"
        )


def _filters_as_options(function: options.Function) -> options.Function:
    for name in ("project", "since", "until", "kind"):
        function = click.option(f"--{name}", hidden=True, expose_value=False, callback=_refuse_filter)(function)
    return function


@options.command("search")
@click.argument("query", nargs=-1, required=True)
@options.agent
@options.path
@click.option("--limit", type=click.IntRange(1, _MAX_LIMIT), default=10, show_default=True, help="How many at most.")
@options.no_pager
@_filters_as_options
@click.option("--passages", is_flag=True, help="Every passage that matches, not each session's best.")
@click.option(
    "--mode",
    type=click.Choice(["lexical", "semantic", "hybrid"]),
    help="By words, by meaning, or both; the default is both if an embedding model is configured.",
)
@click.pass_context
def command(
    context: click.Context,
    root: Path,
    query: tuple[str, ...],
    agent: str,
    path: str | None,
    limit: int,
    *,
    passages: bool,
    mode: str | None,
    as_json: bool,
) -> int:
    """Find sessions and entries of books by any word of the query, best first, one result per session.

    A "phrase" has to be there, -word must not. project:NAME, path:FOLDER, agent:NAME, kind:summary, since:2026-11 or
    since:7d, until:, is:decision, is:task, is:open narrow it; alone they list the newest. A word that isn't
    found matches longer words, other forms and likely typing mistakes.

    Search covers archived entries, and none that wait for `lineage memory review`. With --agent it covers that
    agent's books and sessions, and the books of projects, people and all.

    Superseded results come last, and say so.

    `--json` gives each session's title and outcome, and as `passages` up to three that answer, of at most 900
    characters, each with its file and turns; an entry is its own text. `changed_since` counts the files that it touched
    and those of them that git has newer commits of.

    \b
    Example:
      lineage search "why did the parser drop the last line"
      lineage search since:30d is:decision parser
      lineage search parser --path packages/api
    """
    text = " ".join(query)
    is_default = context.get_parameter_source("agent") is ParameterSource.DEFAULT
    is_named = is_default and parse_query(text).filters.agent is not None  # `agent:` in the query
    agent_id = None if agent == "all" or is_named else agent
    more = limit < _MAX_LIMIT and not as_json  # one more tells whether there is more
    find = partial(search, agent_id=agent_id, limit=limit + more, by_passage=passages, mode=mode, path=path)

    found = run_in_workspace(root, partial(_find, find=find, text=text, as_json=as_json))
    result = found.result
    rest = f"there are more: `--limit {min(limit * 5, _MAX_LIMIT)}` shows them" if len(result.hits) > limit else ""
    hits, notes = result.hits[:limit], {"notes": list(result.notes)} if result.notes else {}
    changes = count_changed_files(list_touched(hits))
    warn(found.alike)
    for key, right in find_mistaken_filters(text).items():
        warn(f"{key}: is no filter and was searched for as a word; `{right}:` is one")
    if as_json:
        results = list(map(_hit_as_json, hits, found.passages, changes))
        print_json({"query": text, "mode": result.mode, **notes, "results": results})
        return 0
    for note in result.notes:
        print_warning(f"note: {note}")
    if is_terminal():
        from lineage.cli.session_screen import print_hits

        print_hits(hits, changes, found.names, found.projects, rest)
    else:
        _print_hits(hits, changes)
        if rest:
            print_warning(rest)
    if not hits:
        likely = f" (did you mean {found.likely}?)" if found.likely else ""
        print_text(f"nothing found{likely}; `lineage list` lists what is there")
    if found.unshown:
        print_text(found.unshown)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Results with what is printed beside them: passages as JSON, short ids and projects at a terminal.

    `likely` is the filter that one without results probably means.
    """

    result: SearchResult
    unshown: str = ""
    alike: str = ""
    likely: str = ""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    projects: Mapping[str, str] = field(default_factory=dict[str, str])
    passages: Sequence[Sequence[FoundPassage]] = ()


def _find(ws: Workspace, *, find: Callable[[Workspace, str], SearchResult], text: str, as_json: bool) -> _Found:
    filters = parse_query(text).filters
    result, alike = find(ws, text), describe_filter(ws, filters.project)
    if as_json:
        return _Found(result=result, alike=alike, passages=load_passages(ws, result.hits, text))
    likely = "" if result.hits else _suggest_filter(ws, filters)
    unshown = describe_unshown(ws)
    tokens = [hit.session_token for hit in result.hits if hit.session_token]
    if not (tokens and is_terminal()):
        return _Found(result=result, unshown=unshown, alike=alike, likely=likely)
    projects = KnownProjects(ws, ws.index.list_projects()).label_paths()
    return _Found(result=result, unshown=unshown, alike=alike, names=shorten_ids(ws, tokens), projects=projects)


def _suggest_filter(ws: Workspace, filters: Filters) -> str:
    """Return the filter that was probably meant, "" where all name something."""
    if project := suggest_project(ws, filters.project):
        return f"project:{project}"
    kinds = [suggest_kind(kind, *ARTIFACT_KINDS) for kind in filters.kinds]
    return f"kind:{kinds[0]}" if kinds and all(kinds) else ""


def _print_hits(hits: Sequence[Hit], changes: Sequence[ChangedFiles | None]) -> None:
    for hit, changed in zip(hits, changes, strict=True):
        print_text(_format_hit(hit))
        if hit.entry is None:
            print_synopsis(hit.title or "", hit.outcome or "")
        snippet = "".join(strip_controls(text) for text, _ in hit.split_snippet())
        print_text(f"    {' '.join(snippet.split())}")
        if changed and changed.changed:
            print_text(f"    {changed}")
        if hit.superseded:
            print_text(f"    superseded on {hit.superseded.on} by {hit.superseded.by}: {hit.superseded.text}")
        if hit.entry is None:
            print_text(f"    [[{hit.path.removesuffix('.md')}]]")


def _format_hit(hit: Hit) -> str:
    entry = hit.entry
    if entry is None:
        turns = f"  turns {hit.turns[0]}-{hit.turns[1]}" if hit.turns else ""
        return f"{hit.membership_ts}  {hit.session_id}  {hit.kind}  {hit.project or '-'}{turns}"
    marks = [f"archived {entry.shelf}"] * bool(entry.shelf) + ["superseded"] * (not entry.standing)
    return "  ".join([entry.at or "by hand", entry.trust, entry.scope, entry.kind, entry.id, *marks])


def _hit_as_json(hit: Hit, passages: Sequence[FoundPassage], changed: ChangedFiles | None) -> dict[str, Any]:
    entry, values = hit.entry, hit.as_json()
    shown = [one._replace(text=strip_controls(one.text)).as_json() for one in passages]
    values |= {"snippet": strip_controls(values["snippet"]), "changed_since": changed, "passages": shown}
    return values | ({} if entry is None else entry.as_json())
