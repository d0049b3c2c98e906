"""Edits to a TOML settings file: one key changes, every other byte stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.config.edit_toml import set_text
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
    changed = set_text(text, "config.toml", "workspace", value)
    assert tomllib.loads(changed) == {**tomllib.loads(text), "workspace": value}
    assert [line for line in text.splitlines() if line not in changed.splitlines()] == []
    assert tomllib.loads(set_text(changed, "config.toml", "workspace", None)) == tomllib.loads(text)


def test_the_same_value_changes_no_byte() -> None:
    text = "workspace   =   '/a b'   # here\n[web]\n"
    assert set_text(text, "config.toml", "workspace", "/a b") == text


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"config\.toml is not valid TOML"):
        set_text("a = = 1\n", "config.toml", "workspace", "x")
