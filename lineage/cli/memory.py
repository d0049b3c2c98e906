"""`lineage memory`, and `lineage book`, its name of before: groups whose commands are imported when they are called."""

import click

from lineage.cli.lazy import LazyGroup

_MODULES = {
    "list": "book.listing:list_command", "show": "book.entries:show", "why": "book.entries:why", "add": "remember:add",
    "edit": "book.edit:edit", "done": "book.entries:done", "pin": "book.entries:pin", "move": "book.entries:move",
    "forget": "book.forget:forget", "restore": "book.forget:restore", "review": "book.review:command",
    "relearn": "book.entries:relearn", "migrate": "book.entries:migrate",
}  # fmt: skip
_OLD_NAMES = {"confirm": "book.entries:confirm", "demote": "book.entries:move"}
_MEANINGS = {
    "confirm": ("lineage memory review",), "demote": ("lineage memory move",), "correct": ("lineage memory edit",),
    **dict.fromkeys(("delete", "remove", "rm"), ("lineage memory forget",)), "undo": ("lineage memory restore",),
    "unpin": ("lineage memory pin ID --undo",),
}  # fmt: skip
COMMANDS = {
    "list": "List the books and how many entries each has.",
    "show": "Print the entries of a book.",
    "why": "Say why an entry was learned, and from which words.",
    "add": "Add an entry to a book.",
    "edit": "Give an entry another text.",
    "done": "Tick a task.",
    "pin": "Keep an entry in use.",
    "move": "Move an entry to another scope.",
    "forget": "Forget an entry, and keep it from coming back.",
    "restore": "Let a forgotten entry be learned again.",
    "review": "Go through what waits for you, one key each.",
    "relearn": "Learn again from all sessions, with today's rules.",
    "migrate": "Bring notes that agents kept in files into memory.",
}


@click.group("memory", cls=LazyGroup, modules=_MODULES, short_helps=COMMANDS, aliases=_OLD_NAMES, meanings=_MEANINGS)
def command() -> None:
    """List, change, review and forget what is remembered: notes of entries, one per scope and kind.

    You can edit the notes by hand at any time. Name an entry by its id or the beginning of it. An agent's proposals
    for all projects wait for your review.

    \b
    Example:
      lineage memory add global preference "Prefers tabs over spaces in Makefiles."
      lineage memory list
      lineage memory show global preference
      lineage memory pin 718d
      lineage memory list --pending
    """


@click.group("book", cls=LazyGroup, modules=_MODULES, short_helps=COMMANDS, aliases=_OLD_NAMES, meanings=_MEANINGS)
def book() -> None:
    """The name of `lineage memory` before; it works as ever."""
