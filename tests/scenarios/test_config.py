"""`lineage config`: settings are read and changed, and nothing else of a file that people edit by hand changes.

The writers of such files are stopped at every system call in tests/crash/test_hand_edits.py, this one among them.
"""

import difflib

import pytest

from lineage.config import Settings, parse_settings
from lineage.config.edit_toml import set_value
from tests.support.commands import SAMPLE, LineageCommand


def test_a_default_gives_its_place_and_every_other_line_stays(lineage: LineageCommand) -> None:
    lineage("init")
    file = lineage.root / "lineage.toml"
    before = file.read_text().splitlines()
    assert lineage("config", "set", "context.budget", "1500", "--json").json == {"context.budget": 1500}
    changes = [line for line in difflib.ndiff(before, file.read_text().splitlines()) if line[0] in "-+"]
    assert changes == ["- # budget = 2000", "+ budget = 1500"]
    assert lineage("config", "get", "context.budget").out == "1500\n"
    assert lineage("config", "set", "context.budget", "1500").code == 0
    assert parse_settings(file.read_text()).context.budget == 1500


def test_every_setting_can_be_set_to_what_it_is(lineage: LineageCommand) -> None:
    lineage("init")
    settings = lineage("config", "get", "--json").json
    assert len(settings) > 20
    for name, value in settings.items():
        words = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else str(value)]
        if words:
            done = lineage("config", "set", name, *words, "--json")
            assert (done.code, done.json) == (0, {name: value}), done.err
    assert lineage("config", "get", "--json").json == settings


def test_the_very_next_session_is_told_by_a_new_budget(lineage: LineageCommand) -> None:
    lineage("import", "claude-code", str(SAMPLE))
    told = {path: path.read_bytes() for path in sorted((lineage.root / ".lineage" / "context").rglob("*.*"))}
    assert any(b"user-stated" in text for text in told.values())
    lineage("config", "set", "context.budget", "0")
    assert not any(b"user-stated" in path.read_bytes() for path in told)
    lineage("config", "set", "context.budget", "2000")
    assert {path: path.read_bytes() for path in told} == told


@pytest.mark.parametrize(
    "text",
    [
        "", "# mine\n", "[context]\nbudget = 1 # small\n",
        "[ context ] # c\r\n\r\nbudget=1\r\n[ledger]\r\nmax_bytes=5000",
        "[sanitizer]\nallow = [\n  'aaaaaaaaaaaaaaaa', # one\n]\n[context]\n#budget = 7\nbudget = 8\n", "[context]",
        "[ledger]\nmax_bytes = 5000",
    ],
)  # fmt: skip
def test_one_value_changes_whatever_the_file_looks_like(text: str) -> None:
    new = set_value(text, "lineage.toml", ("context", "budget"), 1234)
    assert parse_settings(new).context.budget == 1234
    kept = [line for line in text.splitlines() if "budget" not in line]
    assert [line for line in new.splitlines() if line in kept] == kept
    assert ("# small" in new) == ("# small" in text)
    assert ("\r\n" in new) == ("\r\n" in text)


def test_a_list_over_lines_is_replaced_whole() -> None:
    text = "[sanitizer]\nallow = [\n  'aaaaaaaaaaaaaaaa', # one\n]\nemails = 'mask'\n"
    new = set_value(text, "lineage.toml", ("sanitizer", "allow"), ['a "quoted" value', "ünïcode-value"])
    assert parse_settings(new).sanitizer.allow == ('a "quoted" value', "ünïcode-value")
    assert parse_settings(new).sanitizer.emails == "mask"


@pytest.mark.parametrize("text", ["context.budget = 5\n", "context = { budget = 5 } # mine\n", "[context]\n'budget'=5"])
def test_a_setting_keeps_the_form_that_its_writer_gave_it(text: str) -> None:
    assert set_value(text, "lineage.toml", ("context", "budget"), 6) == text.replace("5", "6")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recal.prompt", "false"), "did you mean recall.prompt"), (("context.budget", "many"), "whole number"),
        (("recall.prompt", "perhaps"), "true or false"), (("context.budget", "1", "2"), "one value"),
        (("context.budget", "--", "-1"), "less than"),
        (("ledger.row_style", "x\n]"), "one of"), (("x", "y"), "no setting"),
        (("sanitizer.allow", "short"), "less than 12"), (("identity_links.", "x"), "no setting"),
    ],
)  # fmt: skip
def test_a_wrong_setting_changes_nothing(lineage: LineageCommand, words: tuple[str, ...], said: str) -> None:
    lineage("init")
    before = (lineage.root / "lineage.toml").read_bytes()
    done = lineage("config", "set", *words)
    assert (done.code, said in done.err) == (2, True), done.err
    assert (lineage.root / "lineage.toml").read_bytes() == before


def test_a_person_s_ids_are_a_list_and_paths_are_named(lineage: LineageCommand) -> None:
    lineage("init")
    assert lineage("config", "set", "identity_links.ada", "telegram:1", "slack:2").code == 0
    assert lineage("config", "set", "identity_links.Bob B.", "slack:3").code == 0
    assert parse_settings((lineage.root / "lineage.toml").read_text()).identity_links == {
        "ada": ["telegram:1", "slack:2"],
        "Bob B.": ["slack:3"],
    }
    assert lineage("config", "path", "--json").json["workspace"] == str(lineage.root / "lineage.toml")
    assert Settings().context.budget == 2000


def test_a_person_s_ids_are_printed_as_they_were_set(lineage: LineageCommand) -> None:
    lineage("init")
    lineage("config", "set", "identity_links.ada", "telegram:1", "slack:2")
    ids = ["telegram:1", "slack:2"]
    assert lineage("config", "get", "identity_links.ada", "--json").json == {"identity_links.ada": ids}
    assert lineage("config", "get", "--json").json["identity_links.ada"] == ids
    assert all(one in lineage("config", "get", "identity_links.ada").out for one in ids)
