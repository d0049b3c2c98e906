"""What people read about the built-in redaction rules: rules.toml, beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class RuleExample(NamedTuple):
    """What a rule finds, a made-up text that it matches, the page of the format, the day on which the page was read,
    and a note on what stands for the form where no page does.
    """

    finds: str
    text: str
    page: str
    seen: str
    note: str


def load() -> dict[str, RuleExample]:
    """The examples by the id of their rule, in the order of the rules."""
    tables: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    return {
        name: RuleExample(
            table["finds"], "".join(table["example"]), table["page"], table.get("seen", ""), table.get("note", "")
        )
        for name, table in tables.items()
    }


RULE_EXAMPLES = load()
