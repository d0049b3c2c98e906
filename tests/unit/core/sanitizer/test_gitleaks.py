"""A user's rules in gitleaks' format become rules of ours; what cannot be used is named, all of it at once.

Fails when a key of the format is not read, and when a pattern that RE2 does not take passes.
"""

import tomllib
from typing import Any

import pytest

from lineage.core.sanitizer import Sanitizer, build_ruleset
from lineage.core.sanitizer.gitleaks import build_marker_id, translate_config
from lineage.errors import InvalidInput
from tests.support.parametrize import each

FILE = r"""
title = "ours"
[extend]
useDefault = true
disabledRules = ["acme-old"]

[allowlist]
stopwords = ["DontCare"]
paths = ['''\.lock$''']

[[allowlists]]
targetRules = ["Acme_Key"]
regexes = ['''^acme_0000''']

[[rules]]
id = "Acme_Key"
description = "a key of Acme"
regex = '''(?i)\b(acme_[a-z0-9]{12})(?:['"\s;]|$)'''
keywords = ["ACME_"]
tags = ["key"]

[[rules]]
id = "acme-pair"
regex = '''pair (\w+):(\w{8,})'''
secretGroup = 2
entropy = 2.5
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ['''# fine''']
stopwords = ["fine"]
[[rules.allowlists]]
condition = "AND"
paths = ['''tests/''']
regexes = ['''.*''']

[[rules]]
id = "acme-old"
regex = '''old_[a-z]{8}'''

[[rules]]
id = "files"
path = '''\.p12$'''

[[rules]]
id = "generic-api-key"
[[rules.allowlists]]
stopwords = ["x"]
"""


def read(text: str) -> Any:
    return translate_config(tomllib.loads(text))


def test_a_file_of_rules_is_used() -> None:
    rules = read(FILE)
    assert [rule.id for rule in rules.rules] == ["acme-key", "acme-pair"]
    assert rules.unsupported == ("files", "generic-api-key")
    assert rules.disabled == {"acme-old"}
    used = Sanitizer(build_ruleset(rules.rules))
    assert used.sanitize("k='acme_Q7zp4vlk9sxw' old_abcdefgh") == "k='[REDACTED:acme-key]' old_abcdefgh"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("acme_0000abcd1234", "acme_0000abcd1234"),
        ("acme_dontcare1234", "acme_dontcare1234"),
        ("pair ada:q7Zp4vLk", "pair ada:[REDACTED:acme-pair]"),
        ("pair ada:acme_0000q7Zp", "pair ada:[REDACTED:acme-pair]"),
        ("pair ada:aaaaaaaaaa", "pair ada:aaaaaaaaaa"),
        ("pair ada:q7Zpfine4v # fine", "pair ada:q7Zpfine4v # fine"),
        ("pair ada:q7Zp4vLk # fine", "pair ada:[REDACTED:acme-pair] # fine"),
    ],
)
def test_groups_entropy_and_allow_lists_mean_the_same_as_in_gitleaks(text: str, shown: str) -> None:
    assert Sanitizer(build_ruleset(read(FILE).rules)).sanitize(text) == shown


def test_without_a_group_the_first_nonempty_one_is_the_secret() -> None:
    rules = read(
        "[[rules]]\nid = 'a'\nregex = '''x=(?:(a[0-9]{9})|(b[0-9]{9}))'''\n[[rules]]\nid = 'b'\nregex = 'yy[0-9]{9}'"
    )
    assert Sanitizer(build_ruleset(rules.rules)).sanitize("x=b123456789 yy123456789") == "x=[REDACTED:a] [REDACTED:b]"


def test_the_old_form_of_a_rules_allow_list_is_read() -> None:
    rules = read("[[rules]]\nid = 'a'\nregex = 'yy[0-9]{9}'\n[rules.allowlist]\nregexes = ['yy1+$']").rules
    assert Sanitizer(build_ruleset(rules)).sanitize("yy111111111 yy123456789") == "yy111111111 [REDACTED:a]"


def test_keywords_that_are_not_ascii_do_not_hide_a_rule() -> None:
    rules = read("[[rules]]\nid = 'a'\nregex = 'ключ=([0-9]{9})'\nkeywords = ['КЛЮЧ', 'key']").rules
    assert Sanitizer(build_ruleset(rules)).sanitize("ключ=123456789") == "ключ=[REDACTED:a]"


def test_all_patterns_that_re2_does_not_take_are_named() -> None:
    text = """
    [[rules]]
    id = "ahead"
    regex = '''(?=a)b'''
    [[rules]]
    id = "back"
    regex = '''(a)\\1'''
    [[rules]]
    id = "good"
    regex = '''a'''
    [[rules.allowlists]]
    regexes = ['''(?<!a)b''']
    """
    with pytest.raises(InvalidInput) as raised:
        read(text)
    assert all(f"{name}: " in raised.value.message for name in ("ahead", "back", "good"))
    assert "rules_path" in raised.value.hint


@each(
    "config",
    [
        {"rules": {}},
        {"rules": [1]},
        {"rules": [{"id": "a", "regex": 1}]},
        {"rules": [{"id": "a", "regex": "a", "keywords": "a"}]},
        {"rules": [{"id": "a", "regex": "a", "entropy": "high"}]},
        {"rules": [{"id": "a", "regex": "a", "secretGroup": 1}]},
        {"rules": [{"id": "a", "regex": "a", "allowlists": [{"regexTarget": "file"}]}]},
        {"allowlist": []},
        {"allowlists": {}},
        {"extend": {"path": "other.toml"}},
        {"extend": {"disabledRules": "a"}},
    ],
)
def test_a_malformed_file_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        translate_config(config)


def test_an_empty_file_has_no_rules() -> None:
    assert translate_config({}).rules == ()


@pytest.mark.parametrize(
    ("name", "shown"), [("aws-key", "aws-key"), ("K8s Secret!", "k8s-secret"), ("密", "rule"), ("a" * 60, "a" * 16)]
)
def test_an_id_is_translated_to_a_marker_id(name: str, shown: str) -> None:
    assert build_marker_id(name).startswith(shown)
    assert Sanitizer().sanitize(f"[REDACTED:{build_marker_id(name)}]") == f"[REDACTED:{build_marker_id(name)}]"
