"""Groups of commands that import a command's module when it is called, with sections in their help."""

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

COMMAND_KEY = "command"
"""Under it a group leaves the words of the command that it runs in the object of the root context."""
TYPED_KEY = "typed"
"""Under it that object has the words that were typed, without the program's name."""
AGAIN_KEY = "again"
"""Under it a group leaves the words of that command by its names of today."""
TAKES_YES_KEY = "takes_yes"
"""Under it a group leaves whether the command that it runs has the option `--yes`."""
_MAX_SHORT_HELP = 70
_MAX_TYPED = 300


def format_typed(state: Mapping[str, Any], more: str = "") -> str:
    """Return the command line that was typed, to be typed again, with `more` as an option of it.

    `state` is the object of the root context. One that is long, or of several lines, is its command alone.
    """
    words = list(state.get(TYPED_KEY, ()))
    if more and more not in words:
        words.insert(words.index("--") if "--" in words else len(words), more)
    line = shlex.join(["lineage", *words])
    if TYPED_KEY in state and len(line) <= _MAX_TYPED and line.isprintable() and "`" not in line:
        return line
    return f"{state.get(COMMAND_KEY, 'lineage')} {more}".rstrip()


class HelpfulGroup(click.Group):
    """A group that proposes the nearest names for one that it doesn't know.

    `meanings` has the commands, in whole, that are meant by words which are no listed name.
    """

    meanings: Mapping[str, Sequence[str]] = {}

    def list_names(self, ctx: click.Context) -> list[str]:
        """Return every name that works."""
        return self.list_commands(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError that proposes the nearest names."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = dict.fromkeys([*self.list_names(ctx), *self.meanings])
            near = [name] if name in known else get_close_matches(name, known, n=2, cutoff=0.6)
            lines = dict.fromkeys(line for one in near for line in self._explain_name(ctx, one))
            meant = " or ".join(f"`{line}`" for line in lines)
            raise click.UsageError(f"no command {name[:40]!r}" + (f"; did you mean {meant}?" if near else ""), ctx)
        found = super().resolve_command(ctx, args)
        takes_yes = found[1] is not None and any("--yes" in one.opts for one in found[1].params)
        state = ctx.find_root().ensure_object(dict)
        again = self.meanings[name][0] if name in self.meanings else f"{state.get(AGAIN_KEY, 'lineage')} {found[0]}"
        state.update({COMMAND_KEY: f"{ctx.command_path} {found[0]}", AGAIN_KEY: again, TAKES_YES_KEY: takes_yes})
        if ctx.parent is None and name in self.meanings and TYPED_KEY in state:  # hints use the names that are listed
            typed, today = state[TYPED_KEY], self.meanings[name][0].split()[1:]
            state[TYPED_KEY] = (*typed[: len(typed) - len(args)], *today, *args[1:])
        return found

    def _explain_name(self, ctx: click.Context, name: str) -> Sequence[str]:
        return self.meanings.get(name, (f"{ctx.command_path} {name}",))


class LazyGroup(HelpfulGroup):
    """A group that starts one command without loading the others.

    `modules` maps a command's name to its `module:attribute` in `lineage.cli`; the attribute defaults to `command`.
    `short_helps` has the first sentence of each help text, so that the list of commands imports none of them.
    `sections` orders the list of commands under titles. `aliases` are names that work and are not listed. `meanings`
    has what is listed for each of these, and for words that don't work.
    """

    def __init__(
        self,
        *args: Any,
        modules: Mapping[str, str],
        short_helps: Mapping[str, str] | None = None,
        sections: Mapping[str, Sequence[str]] | None = None,
        aliases: Mapping[str, str] | None = None,
        meanings: Mapping[str, Sequence[str]] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules
        self._short_helps = short_helps or {}
        self._sections = sections or {"Commands": list(modules)}
        self._aliases = aliases or {}
        self.meanings = meanings or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names that are listed, in the order of `modules`."""
        return list(self._modules)

    def list_names(self, ctx: click.Context) -> list[str]:
        """Return every name that works, names of before too."""
        return [*self._modules, *self._aliases]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command, None for an unknown name."""
        place = self._modules.get(cmd_name) or self._aliases.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(f"lineage.cli.{module}"), attribute or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the short helps, in sections; a long sentence goes on below, never cut."""
        for title, names in self._sections.items():
            with formatter.section(title):
                width = max(map(len, self._modules)) - max(map(len, names))
                rows = [(name, self._short_help(ctx, name)) for name in names]
                formatter.write_dl(rows, col_spacing=2 + width)

    def _short_help(self, ctx: click.Context, name: str) -> str:
        text = self._short_helps.get(name)
        command = None if text else self.get_command(ctx, name)
        return text or (command.get_short_help_str(_MAX_SHORT_HELP) if command else "")
