"""Printing: text in which content cannot move the cursor, and JSON with stable keys."""

import re
import sys
from typing import Any, TextIO

_CONTROL_CHARACTERS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def strip_controls(text: str) -> str:
    """Text without control and bidi characters: no escape sequence comes from content."""
    return text if text.replace("\n", "").isprintable() else re.sub(_CONTROL_CHARACTERS, "", text)


def print_text(text: str = "", *, end: str = "\n") -> None:
    _echo(strip_controls(text) + end, sys.stdout)


def print_warning(text: str) -> None:
    """What somebody should know who gets the result, on stderr."""
    _echo(f"{text}\n", sys.stderr)


def print_json(value: Any) -> None:
    """One JSON object, ASCII only: safe for every terminal and locale."""
    import json

    _echo(json.dumps(value, indent=2, ensure_ascii=True) + "\n", sys.stdout)


def print_error(message: str, hint: str) -> None:
    """What went wrong, and what to type next, on stderr."""
    _echo(f"lineage: {strip_controls(message)}\n  {strip_controls(hint)}\n", sys.stderr)


def _echo(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal of another encoding: click knows how to write there
        import click

        click.echo(text, file=stream, nl=False)
    stream.flush()
