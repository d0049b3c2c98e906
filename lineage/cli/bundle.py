"""`lineage admin bundle`: sessions and global books as portable files."""

from pathlib import Path

import click

from lineage.app import bundle_files
from lineage.cli import options
from lineage.cli.completion import complete_session
from lineage.cli.lazy import HelpfulGroup
from lineage.cli.output import format_counts, print_json, print_result, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import InvalidInput
from lineage.pipeline.transfer.bundle_export import BundleExport
from lineage.pipeline.transfer.bundles import UNCHANGED, BundleImport
from lineage.workspace.paths import expand_home


@click.group("bundle", cls=HelpfulGroup)
def command() -> None:
    """Take a session, or the global books, from one workspace into another.

    A bundle is one file: a ZIP of a session's artifacts, manifest and books, each with its hash. It is judged as a
    whole before anything of it is written.

    \b
    Example:
      lineage admin bundle export 2489c83d -o ~/session.zip
      lineage admin bundle import ~/session.zip --dry-run
      lineage admin bundle import ~/session.zip
    """


@options.command("export", command)
@click.argument("session", required=False, shell_complete=complete_session)
@click.option("--global", "is_global", is_flag=True, help="The global books instead of a session.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), required=True, help="Where to write it."
)
@click.option(
    "--include-private", is_flag=True, help="Take a private session out, too; the bundle says that it is one."
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(
    root: Path, session: str | None, output: Path, is_global: bool, include_private: bool, force: bool, as_json: bool
) -> int:
    """Write a SESSION with its sub-agents, or the global books, to one file; the same state gives the same file.

    \b
    Example:
      lineage admin bundle export 2489c83d -o ~/again.zip --force
    """
    if is_global == (session is not None):
        raise InvalidInput("name a session, or give --global", hint="run `lineage admin bundle export SESSION -o FILE`")
    path = expand_home(output)
    result = bundle_files.export_bundle(root, session, path, include_private=include_private, force=force)
    return print_bundle(output, result, as_json=as_json)


def print_bundle(output: Path, result: BundleExport, *, as_json: bool) -> int:
    """Print what a written bundle holds, and return the exit code 0."""
    if as_json:
        print_json({"file": str(output), "bytes": len(result.data), **result.bundle.as_json()})
        return 0
    print_text(f"{output}: {pluralize(len(result.bundle.members), 'file')}, {len(result.data):,} bytes")
    for item in result.bundle.sessions:
        print_text(f"  session {item.session_id} of {item.agent_id}{' (private)' if result.bundle.private else ''}")
    return 0


@options.command("import", command, writes=True)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--restore", is_flag=True, help="Keep the session's ids: it is brought back, not copied.")
@click.option("--trust", is_flag=True, help="The bundle is your own: its global entries need not be confirmed.")
@click.option("--copy", is_flag=True, help="Make another copy where the session, or an import of it, is here already.")
@click.option("--dry-run", is_flag=True, help="Judge the bundle and show what would be written, and write nothing.")
def import_(root: Path, file: Path, restore: bool, trust: bool, copy: bool, dry_run: bool, as_json: bool) -> int:
    """Bring the sessions or global books of a bundle FILE into this workspace.

    A session gets a fresh id, and everything that refers to it follows; with `--restore` it keeps its own, where the
    workspace has no other of it. A session that is here already is reported and not written again. Global
    entries wait for `lineage memory review`. Removed sessions and forgotten entries do not come back.

    \b
    Example:
      lineage admin bundle import ~/session.zip --restore
    """
    if restore and copy:
        raise InvalidInput(
            "--restore brings back what was, --copy makes another",
            hint="run `lineage admin bundle import FILE --restore`, or `--copy` instead",
        )
    path = expand_home(file)
    result = bundle_files.import_bundle_file(root, path, restore=restore, trust=trust, copy=copy, dry_run=dry_run)
    return print_result(result, lambda: _print_result(result), as_json=as_json)


def _print_result(result: BundleImport) -> None:
    would_be = "would be " if result.dry_run else ""
    for session in result.sessions:
        private = " (private)" if session.private else ""
        print_text(f"{would_be}{session.status}: session {session.session_id} of {session.agent_id}{private}")
        if session.status == UNCHANGED:
            print_text("  it is here already: nothing to write; `--copy` makes another")
        if session.imported_from:
            print_text(f"  from {', '.join(session.imported_from)}")
        for path in session.files:
            print_text(f"  {path}")
    for path, count in result.entries.items():
        print_text(f"{path}: {count} {would_be}added")
    if result.holds == "global" and not result.entries:
        print_text("no entry is new here")
    if result.dropped:
        print_text(f"left out: {format_counts(result.dropped)}")
    if result.redactions:
        print_text(f"redacted: {format_counts(result.redactions)}")
    if result.defused:
        print_text(f"made harmless: {pluralize(result.defused, 'file')} in which something would have run")
