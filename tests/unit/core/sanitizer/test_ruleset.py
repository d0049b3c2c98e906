"""Rule sets: personal rules are chosen, masked the same for everyone or left out; without the engine nothing runs.

Fails when a personal rule runs unasked, when what is left out is not searched again, when the engine's absence or the
failure of the search for keywords counts as "nothing found".
"""

import builtins
import sys
from typing import Any

import pytest
from hypothesis import given

from lineage.core.sanitizer import (
    BUILTIN,
    DROP,
    MARKER,
    MASK,
    RULES,
    Allowance,
    Rule,
    Ruleset,
    Sanitizer,
    build_ruleset,
    compute_rules_digest,
)
from lineage.core.sanitizer.allowlist import AllowedValues
from lineage.errors import EngineMissing, InvalidInput
from tests.support.parametrize import each
from tests.support.strategies import draw_texts
from tests.unit.core.sanitizer.material import OWN, PROBE, TOKEN

HOME = Rule(
    id="probe-user", pattern=r"/(?:home|Users)/([a-z]{2,20})\b", keywords=("/home/", "/users/"), group=1, personal=True
)
DROPPING = build_ruleset([HOME, PROBE], {HOME.id: DROP})


def test_personal_rules_run_only_on_request() -> None:
    text = "cd /home/ada/demo"
    assert Sanitizer(build_ruleset([HOME])).sanitize(text) == text
    assert not any(rule.personal for rule in BUILTIN.rules)


def test_a_masked_project_stays_one_project_and_a_path() -> None:
    sanitizer = Sanitizer(build_ruleset([HOME], {HOME.id: MASK}))
    assert sanitizer.sanitize("/home/ada/demo, /Users/ada/demo/x") == (
        "/home/[REDACTED:probe-user]/demo, /Users/[REDACTED:probe-user]/demo/x"
    )
    assert sanitizer.sanitize("/home/ada/demo") == sanitizer.sanitize("/home/bob/demo")


def test_text_around_a_drop_is_joined_and_searched_again() -> None:
    assert Sanitizer(DROPPING).sanitize("cd /home/ada/demo") == "cd /home//demo"
    apart = Rule(id="apart", pattern="~+", personal=True)
    sanitizer = Sanitizer(build_ruleset([apart, PROBE], {"apart": DROP}))
    assert sanitizer.sanitize(f"{TOKEN[:12]}~~{TOKEN[12:]} x") == "[REDACTED:probe-token] x"


@given(draw_texts("/home/", "/home/ada", "ada", "/", TOKEN, "probe_"))
def test_dropping_twice_is_dropping_once(text: str) -> None:
    once = Sanitizer(DROPPING).sanitize(text)
    assert Sanitizer(DROPPING).sanitize(once) == once
    assert "".join(Sanitizer(DROPPING).sanitize_stream([once])) == once


def test_endless_drops_end_in_a_mask() -> None:
    nested = Rule(id="nested", pattern=r"\(\)", personal=True)
    sanitizer = Sanitizer(build_ruleset([nested], {"nested": DROP}))
    once = sanitizer.sanitize("(" * 50 + ")" * 50)
    assert "()" not in once
    assert Sanitizer(build_ruleset([nested], {"nested": DROP})).sanitize(once) == once


def test_an_unknown_personal_rule_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as raised:
        build_ruleset([HOME], {"shoe-size": MASK})
    assert "shoe-size" in raised.value.message
    assert "probe-user" in raised.value.hint


def test_the_version_is_of_the_contract_and_the_rules() -> None:
    contract, digest = BUILTIN.version.split("+")
    assert contract == "sanitize_transcript_v1"
    assert len(digest) == 8
    versions = [
        BUILTIN.version,
        build_ruleset([PROBE]).version,
        build_ruleset([HOME], {HOME.id: MASK}).version,
        DROPPING.version,
    ]
    assert len(set(versions)) == 4
    assert versions[0] == BUILTIN.version == build_ruleset().version


@each(
    "change",
    [
        {"id": "other"}, {"pattern": "x"}, {"keywords": ()}, {"group": 1}, {"entropy": 1.0}, {"guess": True},
        {"personal": True}, {"allow": (Allowance(words=("x",)),)},
    ],
)  # fmt: skip
def test_everything_that_changes_a_result_changes_the_digest(change: dict[str, Any]) -> None:
    values = {"id": "a", "pattern": "(a)", "keywords": ("a",)}
    assert compute_rules_digest([Rule(**{**values, **change})]) != compute_rules_digest([Rule(**values)])


def test_the_allowed_values_are_a_part_of_the_version_and_their_order_is_not() -> None:
    one, other = AllowedValues(("first-value-1", "second-value-2")), AllowedValues(("second-value-2", "first-value-1"))
    assert build_ruleset(allowed=one).version == build_ruleset(allowed=other).version
    versions = [
        BUILTIN.version,
        build_ruleset(allowed=one).version,
        build_ruleset(allowed=AllowedValues(("first-value-1",))).version,
        build_ruleset(allowed=AllowedValues(("first-value-1",), ("second",))).version,
    ]
    assert len(set(versions)) == 4


def test_allowances_entropy_and_groups_decide_what_is_a_secret() -> None:
    rule = Rule(id="r", pattern=r"k=(\w{4,})", group=1, entropy=1.5, allow=(
        Allowance(words=("dontcare",)),
        Allowance(patterns=("^k=zz",), over="match"),
        Allowance(patterns=("# ok$",), over="line"),
        Allowance(patterns=("^A",), words=("b",), every=True),
    ))  # fmt: skip
    kept = ["k=aaaa", "k=DontCare1", "k=zz12", "k=q1w2e3 # ok", "k=A1b2"]
    for text in kept:
        assert Sanitizer(Ruleset((rule,))).sanitize(f"x\n{text}\ny") == f"x\n{text}\ny"
    assert Sanitizer(Ruleset((rule,))).sanitize("k=A1c2 k=q1w2e3\n# ok") == "k=[REDACTED:r] k=[REDACTED:r]\n# ok"


def test_text_that_is_not_ascii_is_matched_as_text() -> None:
    rule = Rule(id="passwort", pattern="пароль: ([^ ]+)", group=1)
    assert Sanitizer(Ruleset((rule, PROBE))).sanitize(f"é пароль: тайна1 и {TOKEN}") == (
        "é пароль: [REDACTED:passwort] и [REDACTED:probe-token]"
    )


def test_every_rule_has_an_id_that_is_a_marker() -> None:
    assert all(MARKER.fullmatch(f"[REDACTED:{rule.id}]") for rule in RULES)


def test_without_the_engine_nothing_is_sanitized(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "re2":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "re2")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(EngineMissing) as raised:
        Sanitizer()
    assert "google-re2" in raised.value.hint


def test_all_rules_are_tried_if_the_keyword_search_runs_out_of_memory() -> None:
    """RE2's sets say "none" both for no match and for no memory."""

    class GaveUp:
        def Match(self, _: bytes) -> None:  # noqa: N802
            return None

    rules = Ruleset(OWN.rules)
    vars(rules)["_keyword_set"] = GaveUp()
    assert Sanitizer(rules).sanitize(f"{'- ' * 5000}{TOKEN}").endswith("- [REDACTED:probe-token]")
