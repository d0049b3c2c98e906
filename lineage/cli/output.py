"""Printing: text in which content cannot move the cursor, and JSON with stable keys."""

import json
import re
from typing import Any

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Text without control and bidi characters: no escape sequence comes from content."""
    return _CONTROL.sub("", text)


def say(text: str = "") -> None:
    click.echo(plain(text))


def say_json(value: Any) -> None:
    """One JSON object, ASCII only: safe for every terminal and locale."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))
