"""What people read about the built-in redaction rules: rules.toml, beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class RuleExample(NamedTuple):
    """What a rule finds, a made-up text that it matches, the page of the format, and the month of revision."""

    finds: str
    text: str
    page: str
    seen: str


def load() -> dict[str, RuleExample]:
    """The examples by the id of their rule, in the order of the rules."""
    tables: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    return {
        name: RuleExample(table["finds"], "".join(table["example"]), table["page"], table["seen"])
        for name, table in tables.items()
    }


RULE_EXAMPLES = load()
