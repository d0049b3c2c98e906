"""Hooks in Codex's config.toml: added as a block of lines, taken out to the byte."""

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.installing.commands import HookCommand
from lineage.installing.config_files import FileMarks
from lineage.installing.hook_definitions import build_hooks
from lineage.installing.toml_hooks import TomlHooks

COMMAND = HookCommand(("/opt/it's/lineage",), "codex", '/home/ada/a "b" \\ é', "default")
FORM = TomlHooks("codex", build_hooks(COMMAND))
OTHER = TomlHooks("codex", build_hooks(HookCommand(("/opt/lineage",), "codex", "/other", "ann")))
NAME = "config.toml"

PIECES = [
    'model = "gpt"  # [not.a.header]\n',
    "[features]\nhooks = true\n",
    "[hooks]\n",
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "echo lineage hook"\n',
    '[[hooks.PreToolUse]]\nhooks = [{type = "command", command = "x"}]\n# a note\n\n',
    '[hooks.state."/h/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n',
    'text = """\n[[hooks.Stop]]\n# no comment\n"""\n',
    "lines = '''\n[x]'''\n",
    "[tools]\nlist = [\n  [1, 2],  # ]\n  ['[a]'],\n]\n",
    "\n\n",
    "  [indented]\n  a.b = {c = [1]}\n",
]


def is_valid(text: str) -> bool:
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return False
    return True


@st.composite
def files(draw: Any) -> str:
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=6, unique=True))
    text = "".join(pieces) + draw(st.sampled_from(["", "# the end"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text


def to_plain(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


@given(text=files().filter(is_valid))
def test_installing_twice_and_uninstalling_gives_the_file_back(text: str) -> None:
    once, marks = FORM.install(text, FileMarks(), NAME)
    assert FORM.install(once, marks, NAME) == (once, marks)
    assert FORM.uninstall(once, marks, NAME) == text
    before, after = to_plain(text), to_plain(once)
    for event, group in FORM.elements.items():
        assert after["hooks"][event] == [*before.get("hooks", {}).get(event, []), group]


@given(text=files().filter(is_valid), more=st.sampled_from(["[later]\na = 1\n", '[[hooks.Stop]]\nmatcher = "x"\n']))
def test_what_is_added_behind_stays_and_an_update_keeps_the_place(text: str, more: str) -> None:
    once, marks = OTHER.install(text, FileMarks(), NAME)
    later = once + more
    if not is_valid(later):
        return
    updated, marks = FORM.install(later, marks, NAME)
    assert updated.endswith(more)
    assert to_plain(FORM.uninstall(updated, marks, NAME)) == to_plain(f"{text}\n{more}")


def test_a_key_behind_the_block_is_given_to_no_other_table() -> None:
    before = "[features]\nhooks = true\n"
    text, marks = FORM.install(before, FileMarks(), NAME)
    assert to_plain(FORM.uninstall(text + "theirs = 5\n", marks, NAME)) == to_plain(before)
    text, marks = FORM.install(text + "theirs = 5\n", marks, NAME)
    assert to_plain(text)["features"] == {"hooks": True}


@given(text=files().filter(is_valid))
def test_without_a_record_the_tables_go_all_the_same(text: str) -> None:
    left = FORM.uninstall(FORM.install(text, FileMarks(), NAME)[0], FileMarks(), NAME)
    assert to_plain(left) == to_plain(text)
    assert left.rstrip() == text.rstrip()


def test_a_handler_beside_others_goes_alone() -> None:
    theirs = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "echo"\n'
    text = theirs + '[[hooks.Stop.hooks]]\ncommand = "lineage hook codex"\n# mine\n[hooks.state.x]\na = 1\n'
    assert FORM.uninstall(text, FileMarks(), NAME) == theirs + "# mine\n[hooks.state.x]\na = 1\n"


OURS = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "lineage hook codex"\n'
AROUND = {  # each is a file that tomlkit, asked to remove the entry, doesn't give back
    "groups of several events": (
        '[[hooks.Stop]]\nmatcher = "a"\n[[hooks.PreToolUse]]\nmatcher = "b"\n[[hooks.Stop]]\nmatcher = "c"\n', ""
    ),
    "a comment behind": ("a = 1\n", "# mine\n[x]\na = 1\n"),
    "a table between": ('[[ hooks . Stop ]]\nmatcher = "a"\n[other]\nrows = [\n[1],\n[2]]\n', "[later]\n"),
}  # fmt: skip


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("case", AROUND)
def test_an_entry_without_a_record_leaves_the_order_and_the_comments_around_it(case: str, mark: str) -> None:
    head, tail = AROUND[case]
    assert FORM.uninstall(mark + head + OURS + tail, FileMarks(), NAME) == mark + head + tail


def test_second_entries_go_when_installing_again() -> None:
    once, marks = FORM.install("a = 1\n", FileMarks(), NAME)
    twice = once + '\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "lineage hook codex"\n'
    assert to_plain(FORM.install(twice, marks, NAME)[0]) == to_plain(once)


def test_an_empty_line_stands_before_the_block() -> None:
    form = TomlHooks("codex", {"Stop": {"matcher": "x", "hooks": [{"command": "lineage hook codex"}]}})
    block = '[[hooks.Stop]]\nmatcher = "x"\n[[hooks.Stop.hooks]]\ncommand = "lineage hook codex"\n'
    assert form.install("", FileMarks(), NAME)[0] == block
    for before in ("a = 1", "a = 1\n"):
        assert form.install(before, FileMarks(), NAME)[0] == f"a = 1\n\n{block}"
    crlf = "a = 1\r\n"
    assert form.install(crlf, FileMarks(), NAME)[0] == crlf + "\r\n" + block.replace("\n", "\r\n")


INLINE = {
    "a list": 'a = 1\n[hooks]\nStop = [{hooks = [{command = "echo"}]}]\n',
    "a table": "a = 1\nhooks = {Stop = []}\n",
}


@pytest.mark.parametrize("case", INLINE)
def test_a_form_that_takes_no_groups_is_refused(case: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^{re.escape(NAME)}:2: hooks are not written as"):
        FORM.install(INLINE[case], FileMarks(), NAME)


def test_an_entry_in_an_inline_list_is_left_to_its_writer() -> None:
    text = '[hooks]\nStop = [{hooks = [{command = "lineage hook codex"}]}]\n'
    with pytest.raises(InvalidInput, match=rf"^{re.escape(NAME)}:1: "):
        FORM.uninstall(text, FileMarks(), NAME)


def test_what_is_no_toml_is_refused_by_its_line() -> None:
    with pytest.raises(InvalidInput, match=rf"^{re.escape(NAME)}:3: not TOML"):
        FORM.install("a = 1\n\nb = = 2\n", FileMarks(), NAME)


def test_tomllib_reads_what_json_writes() -> None:
    """The strings of a TOML block are written as JSON: the same escapes mean the same."""
    for text in ('a "b" \\ c', "é ü ", "\ttab", "/slash/"):
        assert tomllib.loads(f"a = {json.dumps(text, ensure_ascii=False)}") == {"a": text}
