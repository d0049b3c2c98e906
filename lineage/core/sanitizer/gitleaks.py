"""Rules that a user has in gitleaks' format, as rules of ours. (settings: `sanitizer.rules_path`)

What gitleaks decides by a file's path or a commit cannot be decided about a text: rules of that kind are named as
unusable, allow-lists of that kind allow nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.sanitizer.re2_patterns import compile_pattern, load_re2
from lineage.core.sanitizer.rule import FIRST_GROUP, MARKER_WORD, Allowance, Rule
from lineage.errors import InvalidInput

_HINT = "mend the file that `sanitizer.rules_path` names"
_MAX_ID_WORDS = 9


@dataclass(frozen=True, slots=True)
class GitleaksRules:
    """A file's rules; the ids of those that go by a path or change a rule of gitleaks' own, and so are of no use here;
    the ids of those that it disables."""

    rules: tuple[Rule, ...]
    unsupported: tuple[str, ...]
    disabled: frozenset[str]


def translate_config(config: Mapping[str, Any]) -> GitleaksRules:
    """The rules of a parsed gitleaks file, its global allow-lists applied to each.

    Raises InvalidInput that names every rule and list that is not well formed or has a pattern that RE2 does not take
    (look-around, backreferences), and EngineMissing.
    """
    reader = _ConfigReader()
    everywhere = list(reader.read_allowances(config, "the allow-list"))
    entries = reader.read_tables(config, "rules", "the file")
    names = [str(entry.get("id") or f"rule {number}") for number, entry in enumerate(entries, 1)]
    read = [reader.read_rule(name, entry) for name, entry in zip(names, entries, strict=True) if "regex" in entry]
    extend = reader.read_table(config, "extend", "the file")
    if extend.get("path") or extend.get("url"):
        reader.problems.append("extend names another file: copy its rules into this one")
    disabled = reader.read_strings(extend, "disabledRules", "extend")
    if reader.problems:
        raise InvalidInput(f"redaction rules cannot be used: {'; '.join(reader.problems)}", hint=_HINT)
    return GitleaksRules(
        tuple(
            _add_allowances(name, rule, everywhere) for name, rule in read if rule is not None and name not in disabled
        ),
        tuple(name for name, entry in zip(names, entries, strict=True) if "regex" not in entry),
        frozenset(disabled),
    )


def build_marker_id(name: str) -> str:
    """The id as it stands in a marker: lower-case words and hyphens.

    >>> build_marker_id("Our_API Key")
    'our-api-key'
    """
    return "-".join(re.findall(MARKER_WORD, name.lower())[:_MAX_ID_WORDS]) or "rule"


def _add_allowances(name: str, rule: Rule, global_allowances: Collection[tuple[Allowance, tuple[str, ...]]]) -> Rule:
    more = (allowance for allowance, targets in global_allowances if not targets or name in targets)
    return rule._replace(allow=(*rule.allow, *more))


class _ConfigReader:
    """Takes values out of parsed TOML and notes what is wrong with them, all of it."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def read_rule(self, name: str, entry: Mapping[str, Any]) -> tuple[str, Rule | None]:
        """The id in the file and the rule; none where something is wrong."""
        before = len(self.problems)
        pattern = self._read_pattern(entry["regex"], name)
        group = self._read_number(entry, "secretGroup", name)
        if pattern and group > compile_pattern(pattern).groups:
            self.problems.append(f"{name}: there is no group {group:g}")
        words = tuple(word.lower() for word in self.read_strings(entry, "keywords", name))
        rule = Rule(
            id=build_marker_id(name),
            description=str(entry.get("description", "")),
            pattern=pattern,
            keywords=words if all(word.isascii() and word for word in words) else (),
            group=int(group) or FIRST_GROUP,
            entropy=self._read_number(entry, "entropy", name),
            allow=tuple(allowance for allowance, _ in self.read_allowances(entry, name)),
        )
        return name, rule if len(self.problems) == before else None

    def read_allowances(self, table: Mapping[str, Any], where: str) -> Iterator[tuple[Allowance, tuple[str, ...]]]:
        """The allow-lists, old form and new, each with the ids that it is for, none where it is for all."""
        for entry in [self.read_table(table, "allowlist", where), *self.read_tables(table, "allowlists", where)]:
            every = str(entry.get("condition", "OR")).upper() in ("AND", "&&")
            patterns = tuple(self._read_pattern(regex, where) for regex in self.read_strings(entry, "regexes", where))
            words = tuple(word.lower() for word in self.read_strings(entry, "stopwords", where))
            over = entry.get("regexTarget", "secret")
            if over not in ("secret", "match", "line"):
                self.problems.append(f"{where}: regexTarget is neither match nor line")
            elif (patterns or words) and not (every and (entry.get("paths") or entry.get("commits"))):
                both = every and bool(patterns and words)
                yield (
                    Allowance(patterns=patterns, words=words, over=over, every=both),
                    self.read_strings(entry, "targetRules", where),
                )

    def read_table(self, table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        value = table.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.problems.append(f"{where}: {key} is no table")
        return {}

    def read_tables(self, table: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
        value = table.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value):
            return value
        self.problems.append(f"{where}: {key} is no list of tables")
        return []

    def read_strings(self, table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return tuple(value)
        self.problems.append(f"{where}: {key} is no list of strings")
        return ()

    def _read_number(self, table: Mapping[str, Any], key: str, where: str) -> float:
        value = table.get(key, 0)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return value
        self.problems.append(f"{where}: {key} is no number")
        return 0

    def _read_pattern(self, value: object, where: str) -> str:
        """The pattern, or the empty one where RE2 does not take it."""
        if not isinstance(value, str):
            self.problems.append(f"{where}: a regex is no string")
            return ""
        try:
            compile_pattern(value)
        except load_re2().error as error:
            said = error.args[0] if error.args else error
            self.problems.append(f"{where}: {said.decode() if isinstance(said, bytes) else said} in {value[:60]!r}")
            return ""
        return value
