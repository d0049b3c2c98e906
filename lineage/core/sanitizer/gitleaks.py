"""A user's rules in gitleaks' format, translated. (settings: `sanitizer.rules_path`).

A text has no path and no commit: rules that go by these are reported as unsupported, allow-lists that go by them allow
nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.sanitizer.re2_patterns import compile_pattern, load_re2
from lineage.core.sanitizer.rule import FIRST_GROUP, MARKER_WORD, Allowance, Rule
from lineage.errors import InvalidInput

_HINT = "mend the file that `sanitizer.rules_path` names"
_MAX_ID_WORDS = 9


@dataclass(frozen=True, slots=True)
class GitleaksRules:
    """A file's rules, and the ids of its unsupported and of its disabled ones.

    Unsupported are rules that go by a path or change a built-in rule of gitleaks.
    """

    rules: tuple[Rule, ...]
    unsupported: tuple[str, ...]
    disabled: frozenset[str]


def translate_config(config: Mapping[str, Any]) -> GitleaksRules:
    """Translate a parsed gitleaks file. Its global allow-lists apply to each rule.

    Raises InvalidInput that names every malformed rule and list and every pattern that RE2 refuses (look-around,
    backreferences), and EngineMissing.
    """
    reader = _ConfigReader()
    global_allowances = list(reader.read_allowances(config, "the allow-list"))
    tables = reader.read_tables(config, "rules", "the file")
    entries = [(str(table.get("id") or f"rule {number}"), table) for number, table in enumerate(tables, 1)]
    rules = [(name, reader.read_rule(name, table)) for name, table in entries if "regex" in table]
    extend = reader.read_table(config, "extend", "the file")
    if extend.get("path") or extend.get("url"):
        reader.problems.append("extend names another file: copy its rules into this one")
    disabled = reader.read_strings(extend, "disabledRules", "extend")
    if reader.problems:
        raise InvalidInput(f"redaction rules cannot be used: {'; '.join(reader.problems)}", hint=_HINT)
    return GitleaksRules(
        tuple(
            replace(rule, allow=(*rule.allow, *(entry for entry, ids in global_allowances if not ids or name in ids)))
            for name, rule in rules
            if rule and name not in disabled
        ),
        tuple(name for name, table in entries if "regex" not in table),
        frozenset(disabled),
    )


def build_marker_id(name: str) -> str:
    """Return the id in the form of a marker: lower-case words and hyphens.

    >>> build_marker_id("Our_API Key")
    'our-api-key'
    """
    return "-".join(re.findall(MARKER_WORD, name.lower())[:_MAX_ID_WORDS]) or "rule"


class _ConfigReader:
    """Reads values of parsed TOML and collects all problems, so that one error can name them."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def read_rule(self, name: str, entry: Mapping[str, Any]) -> Rule | None:
        """Return the rule, None if something is wrong with it."""
        before = len(self.problems)
        pattern = self._read_pattern(entry["regex"], name)
        group = self._read_number(entry, "secretGroup", name)
        if pattern and group > compile_pattern(pattern).groups:
            self.problems.append(f"{name}: there is no group {group:g}")
        words = tuple(word.lower() for word in self.read_strings(entry, "keywords", name))
        rule = Rule(
            id=build_marker_id(name),
            pattern=pattern,
            # gitleaks folds the case of keywords beyond ASCII; without keywords the rule is always tried.
            keywords=words if all(word.isascii() and word for word in words) else (),
            group=int(group) or FIRST_GROUP,
            entropy=self._read_number(entry, "entropy", name),
            allow=tuple(allowance for allowance, _ in self.read_allowances(entry, name)),
        )
        return rule if len(self.problems) == before else None

    def read_allowances(self, table: Mapping[str, Any], where: str) -> Iterator[tuple[Allowance, tuple[str, ...]]]:
        """Yield the allow-lists, old form and new, each with the rule ids that it is limited to, if any."""
        for entry in [self.read_table(table, "allowlist", where), *self.read_tables(table, "allowlists", where)]:
            every = str(entry.get("condition", "OR")).upper() in ("AND", "&&")
            patterns = tuple(self._read_pattern(regex, where) for regex in self.read_strings(entry, "regexes", where))
            words = tuple(word.lower() for word in self.read_strings(entry, "stopwords", where))
            over = entry.get("regexTarget", "secret")
            if over not in ("secret", "match", "line"):
                self.problems.append(f"{where}: regexTarget is neither match nor line")
            elif (patterns or words) and not (every and (entry.get("paths") or entry.get("commits"))):
                allowance = Allowance(patterns, words, over, every=every and bool(patterns and words))
                yield allowance, self.read_strings(entry, "targetRules", where)

    def read_table(self, table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        """Return a table, empty if it is missing or malformed."""
        value = table.get(key, {})
        return value if self._note(isinstance(value, Mapping), f"{where}: {key} is no table") else {}

    def read_tables(self, table: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
        """Return a list of tables, empty if it is missing or malformed."""
        value = table.get(key, [])
        is_right = isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)
        return value if self._note(is_right, f"{where}: {key} is no list of tables") else []

    def read_strings(self, table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
        """Return a list of strings, empty if it is missing or malformed."""
        value = table.get(key, [])
        is_right = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        return tuple(value) if self._note(is_right, f"{where}: {key} is no list of strings") else ()

    def _note(self, is_right: bool, problem: str) -> bool:
        self.problems += [] if is_right else [problem]
        return is_right

    def _read_number(self, table: Mapping[str, Any], key: str, where: str) -> float:
        value = table.get(key, 0)
        is_right = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        return value if self._note(is_right, f"{where}: {key} is no number") else 0

    def _read_pattern(self, value: object, where: str) -> str:
        """Return the pattern, "" if RE2 refuses it."""
        if not isinstance(value, str):
            self.problems.append(f"{where}: a regex is no string")
            return ""
        try:
            compile_pattern(value)
        except load_re2().error as error:
            reason = error.args[0] if error.args else error
            reason = reason.decode() if isinstance(reason, bytes) else reason
            self.problems.append(f"{where}: {reason} in {value[:60]!r}")
            return ""
        return value
