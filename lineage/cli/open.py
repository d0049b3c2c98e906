"""`lineage open`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json
from lineage.errors import InvalidInput, WorkspaceError

if TYPE_CHECKING:
    from lineage.app.opening import Located

_OBSIDIAN, _EDITOR = "obsidian", "editor"


@click.command("open")
@click.argument("session")
@click.option("--summary", "kind", flag_value="summary", default=True, help="Its newest summary; the default.")
@click.option("--transcript", "kind", flag_value="transcript", help="Its newest transcript instead.")
@click.option("--manifest", "kind", flag_value="manifest", help="Its manifest instead.")
@click.option("--turns", metavar="A-B", help="The transcript that holds turn A; an editor goes to its line.")
@click.option("--obsidian", "where", flag_value=_OBSIDIAN, help="In Obsidian.")
@click.option("--editor", "where", flag_value=_EDITOR, help="In VISUAL or EDITOR.")
@click.option("--print", "prints", is_flag=True, help="Print the address or path that would be opened, no more.")
@options.as_json
@options.workspace
def command(
    root: Path, session: str, kind: str, turns: str | None, where: str | None, prints: bool, as_json: bool
) -> int:
    """Open a session's note in Obsidian, where the workspace is in a vault, else in VISUAL or EDITOR.

    SESSION is a session id, key, token, or an unambiguous prefix of one, or the id of an entry: then its book is
    opened. What is archived has a note, too.

    \b
    Example:
      lineage open 2489c83d --print
      lineage open 2489c83d --turns 2 --editor --print
    """
    from lineage.app import caller, with_house
    from lineage.app.opening import is_in_vault, located
    from lineage.cli.turns import turns_of
    from lineage.pipeline.knowledge.bookkeeping import refuse_agents
    from lineage.pipeline.opening import target

    turn = turns_of(turns)[0] if turns is not None else None
    if not prints:
        refuse_agents(caller(), "open the user's programs")
    meant = with_house(root, lambda house: target(house, session, kind, turn))
    file = located(root, meant)
    where = where or (_OBSIDIAN if is_in_vault(file.path) else _EDITOR)
    if where == _OBSIDIAN and not is_in_vault(file.path):
        raise WorkspaceError(
            f"{root} is in no vault of Obsidian", hint="open the folder in Obsidian once, or `--editor`"
        )
    if not prints:
        _opened(file, where)
    if as_json:
        say_json({"path": str(file.path), "line": file.line, "with": where, "uri": _uri(file, where)})
    elif prints:
        click.echo(plain(_uri(file, where) or str(file.path)))
    else:
        say(f"opened in {where}: {file.path}")
    return 0


def _uri(file: "Located", where: str) -> str | None:
    return file.uri if where == _OBSIDIAN else None


def _opened(file: "Located", where: str) -> None:
    from lineage.app.opening import opener
    from lineage.cli.editors import at_line, editor, run

    if where == _EDITOR:
        words = editor("open the workspace as a vault of Obsidian; `--print` prints the path")
        run(at_line(words, file.path, file.line), hint="set VISUAL or EDITOR", failed="`--print` prints the path")
        return
    program = opener()
    if program is None:
        raise InvalidInput(
            "no program opens addresses here", hint="`--editor` opens it in VISUAL or EDITOR, `--print` prints it"
        )
    run(
        [*program, file.uri], hint="`--editor` opens it in VISUAL or EDITOR", failed="is Obsidian installed? `--editor`"
    )
