"""Edits to a TOML settings file: one key changes, every other byte stays."""

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.config.edit_toml import set_value
from lineage.errors import InvalidInput

PIECES = [
    "# mine\n",
    'index = "postgresql://x"  # kept\n',
    "\n",
    "[web]\ntoken = 't'\n",
    '[model]\nprovider = "none"\n\n',
]


@given(pieces=st.lists(st.sampled_from(PIECES), unique=True), value=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_key_that_is_set_and_taken_out_leaves_the_rest(pieces: list[str], value: str) -> None:
    text = "".join(sorted(pieces, key=lambda piece: piece.startswith("[")))
    changed = set_value(text, "config.toml", ["workspace"], value)
    assert tomllib.loads(changed) == {**tomllib.loads(text), "workspace": value}
    assert [line for line in text.splitlines() if line not in changed.splitlines()] == []
    assert tomllib.loads(set_value(changed, "config.toml", ["workspace"], None)) == tomllib.loads(text)


def test_the_same_value_changes_no_byte() -> None:
    text = "workspace   =   '/a b'   # here\n[web]\n"
    assert set_value(text, "config.toml", ["workspace"], "/a b") == text


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"config\.toml is not valid TOML"):
        set_value("a = = 1\n", "config.toml", ["workspace"], "x")


KEYS = st.sampled_from(["context", "budget", "c", "'context'", '"a b"'])
NAMES = st.lists(KEYS, min_size=1, max_size=3).map(".".join)
VALUES = [
    "1", "'y'", '"""\nm\n[x]\n"""', "[\n 1, # c\n [2],\n]", "{}", "{budget = 1, b.c = 2}", "1979-05-27",
    "[{a = 1}]",
]  # fmt: skip
INSIDE = {line for value in VALUES for end in ("", "# c") for line in f"{value}{end}".splitlines()[1:]}
LINES = st.one_of(
    st.builds(
        "{}{} = {}{}\n".format,
        st.sampled_from(["", "  "]),
        NAMES,
        st.sampled_from(VALUES),
        st.sampled_from(["", "# c"]),
    ),
    st.builds("[{}]{}\n".format, NAMES, st.sampled_from(["", " # c"])),
    st.builds("  [[{}]]\n".format, NAMES),
    st.sampled_from(["[context]\n", "budget = 5\n", "\n", " \n", "# c\n", "  # budget = 1\n", "# budget in words\n"]),
)


def to_values(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


@settings(max_examples=300)
@given(
    text=st.lists(LINES, max_size=8).map("".join).filter(to_values),
    newline=st.sampled_from(["\n", "\r\n"]),
    is_cut=st.booleans(),
    value=st.sampled_from([6, True, "t\x7f", ["l", 'm"']]),
)
def test_of_any_file_one_value_changes_or_none(text: str, newline: str, is_cut: bool, value: object) -> None:
    text = (text.rstrip("\n") if is_cut else text).replace("\n", newline)
    try:
        changed = set_value(text, "lineage.toml", ("context", "budget"), value)
    except InvalidInput as error:
        assert "can't change context.budget" in error.message
        return
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert after == {**before, "context": {**before.get("context", {}), "budget": value}}
    lines = iter(map(str.rstrip, changed.splitlines()))
    others = [
        line for line in map(str.rstrip, text.splitlines())
        if line and "budget" not in line and "{" not in line and line not in INSIDE
    ]  # fmt: skip
    assert [line for line in others if line not in lines] == []
    assert changed.count("\n") == changed.count("\r\n") or "\r" not in text


@pytest.mark.parametrize(
    "text",
    [
        "[[a]]\n[context]\nbudget = 1\n[[a]]\n", "[[a.b]]\n[[a.c]]\n[[a.b]]\n", "[[c]]\n  [[c . d]]\n",
        "context = 5\n", "[context.budget]\n", "[[context]]\n",
    ],
)  # fmt: skip
def test_a_file_that_would_change_elsewhere_is_left_to_its_writer(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"can't change context\.budget alone") as caught:
        set_value(text, "lineage.toml", ("context", "budget"), 6)
    assert caught.value.hint == "change it in an editor: put `budget = 6` below [context]"


def test_only_a_comment_that_shows_the_setting_gives_its_place() -> None:
    text = "[context]\n# budget = as you like\n#budget = 7  # small\n"
    assert set_value(text, "f", ("context", "budget"), 8) == "[context]\n# budget = as you like\nbudget = 8\n"
