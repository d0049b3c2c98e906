"""`lineage export`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.app import bundle_files
from lineage.app.export_files import resolve_output, write_file
from lineage.app.locations import require_extra
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.bundle import print_bundle
from lineage.cli.completion import complete_session
from lineage.cli.output import format_counts, print_result, print_text, show_progress
from lineage.cli.typed_names import project_filter
from lineage.core.base.plural import pluralize
from lineage.errors import InvalidInput
from lineage.index import SessionFilter
from lineage.workspace.paths import expand_home

if TYPE_CHECKING:
    from lineage.web.export.folder import SiteResult

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_place = click.Path(path_type=Path)


def _check_day(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value and not _DAY.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no day: give YYYY-MM-DD")
    return value


@options.command("export")
@click.argument("session", required=False, shell_complete=complete_session)
@click.option("--site", metavar="DIR", type=_place, help="Pages with search, as static files in a folder.")
@click.option("--html", metavar="FILE", type=_place, help="SESSION as one page that needs nothing else.")
@click.option("--markdown", metavar="FILE", type=_place, help="SESSION's conversation as markdown; - for stdout.")
@click.option("--bundle", metavar="FILE", type=_place, help="SESSION as `lineage admin bundle export` writes it.")
@click.option("--agent", metavar="ID", default="all", show_default=True, help="Only this agent's sessions, in a site.")
@project_filter("Only sessions of this project: a folder, its name, or owner/name.")
@options.path
@click.option("--since", metavar="DAY", default="", callback=_check_day, help="Only sessions since this UTC day.")
@click.option("--until", metavar="DAY", default="", callback=_check_day, help="Only sessions until this UTC day.")
@click.option("--include-private", is_flag=True, help="Take a private SESSION out, too; a site never holds one.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(
    root: Path, session: str | None, *, site: Path | None, html: Path | None, markdown: Path | None,
    bundle: Path | None, agent: str, project: str | None, path: str | None, since: str, until: str,
    include_private: bool, force: bool, as_json: bool,
) -> int:  # fmt: skip
    """Write sessions for readers without lineage: a folder of pages, one page, markdown, or a bundle.

    A site holds sessions and memory, and search works in it, from a disk too. It never holds private or removed
    sessions, trials, or entries that wait for your review. An earlier export is replaced; any other folder has to be
    empty.

    \b
    Example:
      lineage export --site ~/site --since 2026-01-01
      lineage export 2489c83d --html ~/session.html
      lineage export 2489c83d --markdown -
    """
    forms = {"site": site, "html": html, "markdown": markdown, "bundle": bundle}
    named = {name: place for name, place in forms.items() if place is not None}
    if len(named) != 1 or (session is None) != ("site" in named):
        hint = "run `lineage export --site DIR`, or `lineage export SESSION --html FILE`"
        raise InvalidInput(
            "give one of --site, --html, --markdown and --bundle; a SESSION for all but --site", hint=hint
        )
    ((form, place),) = named.items()
    place = expand_home(place)
    if form == "site":
        wanted = SessionFilter(project=project, path=path, since=since, until=until)
        return _export_site(root, place, None if agent == "all" else agent, wanted, as_json=as_json)
    if project or path or since or until or agent != "all":
        raise InvalidInput(f"--{form} takes no filters: it is one SESSION", hint="leave them out")
    if form == "bundle":
        result = bundle_files.export_bundle(root, session, place, include_private=include_private, force=force)
        return print_bundle(place, result, as_json=as_json)
    return _export_session(
        root, str(session), form, place, include_private=include_private, force=force, as_json=as_json
    )


def _export_site(root: Path, place: Path, agent_id: str | None, wanted: SessionFilter, *, as_json: bool) -> int:
    _require_web()
    from lineage.web.export.folder import export_site

    with show_progress("exporting") as report:
        result = export_site(root, place, agent_id, wanted, report)
    return print_result(result, lambda: _print_site(result), as_json=as_json)


def _print_site(result: "SiteResult") -> None:
    entries = "1 entry" if result.entries == 1 else f"{result.entries} entries"
    held = f"{pluralize(result.sessions, 'session')} and {entries}"
    print_text(f"{result.site}: {held} on {pluralize(result.pages, 'page')}, {result.bytes / 1_000_000:.1f} MB")
    if result.left_out:
        print_text(f"  left out: {format_counts(result.left_out)}")
    print_text(f"  open {Path(result.site, 'index.html')}")


def _export_session(
    root: Path, session: str, form: str, place: Path, *, include_private: bool, force: bool, as_json: bool
) -> int:
    _require_web()
    from lineage.web.export import single

    render = single.render_session_page if form == "html" else single.render_session_markdown
    is_stdout = form == "markdown" and str(place) == "-"
    target = None if is_stdout else resolve_output(place, root)
    data = run_in_workspace(root, lambda ws: render(ws, session, include_private=include_private))
    if target is None:
        text = data.decode()
        return print_result({"markdown": text}, lambda: print_text(text, end="", folds=False), as_json=as_json)
    write_file(target, data, root, force=force)
    value = {"file": str(place), "bytes": len(data)}
    return print_result(value, lambda: print_text(f"{place}: {len(data):,} bytes"), as_json=as_json)


def _require_web() -> None:
    require_extra("web", "jinja2", "pydantic", "markdown_it", "pygments")
