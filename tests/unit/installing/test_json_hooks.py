"""Hooks in JSON: the law of installing and uninstalling, on files as people and formatters leave them."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.installing.commands import HookCommand
from lineage.installing.config_files import FileMarks
from lineage.installing.hook_definitions import build_hooks
from lineage.installing.json_hooks import JsonHooks
from lineage.installing.jsonc import JsoncNode, insert_item, parse_jsonc
from tests.unit.installing.generated import files

COMMAND = HookCommand(("/opt/lineage/bin/lineage",), "claude-code", "/home/ada/memory", "default")
OTHER = HookCommand(("/opt/lineage/bin/lineage",), "claude-code", "/home/ada/other", "ann")
FORMS = {
    "groups": JsonHooks("claude-code", build_hooks(COMMAND)),
    "handlers": JsonHooks("cursor", build_hooks(HookCommand(("lineage",), "cursor", "/w", "default")), {"version": 1}),
}
NAME = "settings.json"


def to_plain(text: str) -> Any:
    root = parse_jsonc(text, NAME).root
    return root.to_python() if root else {}


def installed(text: str, form: JsonHooks = FORMS["groups"], marks: FileMarks = FileMarks()) -> tuple[str, FileMarks]:  # noqa: B008
    return form.install(text, marks, NAME)


def drop_lineage(settings: dict[str, Any], form: JsonHooks) -> dict[str, Any]:
    """The settings without the events that the form registers."""
    hooks = settings.get("hooks", {})
    return {**settings, "hooks": {event: hooks[event] for event in hooks if event not in form.elements}}


@pytest.mark.slow
@pytest.mark.parametrize("shape", FORMS)
@given(text=files())
def test_installing_twice_and_uninstalling_gives_the_file_back(shape: str, text: str) -> None:
    form = FORMS[shape]
    once, marks = form.install(text, FileMarks(), NAME)
    assert form.install(once, marks, NAME) == (once, marks)
    assert form.uninstall(once, marks, NAME) == text


@pytest.mark.parametrize("shape", FORMS)
@given(text=files())
def test_installing_appends_and_leaves_the_rest_alone(shape: str, text: str) -> None:
    form = FORMS[shape]
    before, after = to_plain(text), to_plain(form.install(text, FileMarks(), NAME)[0])
    for event, element in form.elements.items():
        assert after["hooks"][event] == [*before.get("hooks", {}).get(event, []), element]
    others = {**after, "hooks": {e: v for e, v in after["hooks"].items() if e not in form.elements}}
    kept = {
        **form.root_members,
        **before,
        "hooks": {e: v for e, v in before.get("hooks", {}).items() if e not in form.elements},
    }
    assert others == kept


@pytest.mark.slow
@given(text=files())
def test_an_outdated_command_is_changed_in_its_place(text: str) -> None:
    old, marks = installed(text, JsonHooks("claude-code", build_hooks(OTHER)))
    new, marks = installed(old, marks=marks)
    assert to_plain(new) == to_plain(installed(text)[0])
    assert FORMS["groups"].uninstall(new, marks, NAME) == text


@given(text=files(), data=st.data())
def test_what_somebody_changes_in_between_stays_and_the_rest_is_as_before(text: str, data: st.DataObject) -> None:
    """The same foreign value is changed in the file as it was and in the file with hooks: the first is what is left."""
    once, marks = installed(text)
    paths = sorted(list_paths(to_plain(text)), key=repr)
    path = data.draw(st.sampled_from(paths)) if paths else None
    if path is not None:
        text, once = (replace_value(one, path, '"by hand"') for one in (text, once))
    assert FORMS["groups"].uninstall(once, marks, NAME) == text


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where single values stand."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in list_paths(one, (*path, key))]
    if isinstance(value, list):
        return [found for place, one in enumerate(value) for found in list_paths(one, (*path, place))]
    return [path]


def replace_value(text: str, path: tuple[Any, ...], new: str) -> str:
    old = find_node(parse_jsonc(text, NAME).root, path)
    return text[: old.start] + new + text[old.end :]


def find_node(found: JsoncNode | None, path: tuple[Any, ...]) -> JsoncNode:
    for step in path:
        assert found is not None
        found = found.items[step].value if isinstance(step, int) else found.get_member(step)
    assert found is not None
    return found


@given(text=files())
def test_hooks_that_others_add_in_between_stay(text: str) -> None:
    theirs = {"hooks": [{"type": "command", "command": "notify-send done"}]}
    once, marks = installed(text)
    document = parse_jsonc(once, NAME)
    edited, _ = insert_item(document, find_node(document.root, ("hooks", "Stop")), theirs)
    left = to_plain(FORMS["groups"].uninstall(edited, marks, NAME))
    before = to_plain(text)
    assert left["hooks"].pop("Stop") == [*before.get("hooks", {}).get("Stop", []), theirs]
    before.get("hooks", {}).pop("Stop", None)
    assert {"hooks": {}, **left} == {"hooks": {}, **before}


def drop_unused(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without lists of hooks that are empty."""
    return {**settings, "hooks": {event: groups for event, groups in settings.get("hooks", {}).items() if groups}}


@given(text=files())
@example(text='{"hooks":{// note\n"SessionStart":[]/* two\nlines */,\n"Stop":[]}}')
def test_without_a_record_the_entries_go_and_what_is_empty_then(text: str) -> None:
    left = FORMS["groups"].uninstall(installed(text)[0], FileMarks(), NAME)
    assert "claude-code" not in left
    used = {event: groups for event, groups in to_plain(text).get("hooks", {}).items() if groups}
    assert {event: groups for event, groups in to_plain(left).get("hooks", {}).items() if groups} == used
    assert {k: v for k, v in to_plain(left).items() if k != "hooks"} == {
        k: v for k, v in to_plain(text).items() if k != "hooks"
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{}\n\t\t]\n\t}\n}', id="tabs"),
        pytest.param('{"a": 1}', '{"a": 1, "hooks": {"Stop": [{}]}}', id="one line"),
        pytest.param("{}", '{\n  "hooks": {\n    "Stop": [\n      {}\n    ]\n  }\n}', id="empty"),
        pytest.param("", '{\n  "hooks": {\n    "Stop": [\n      {}\n    ]\n  }\n}\n', id="no file"),
        pytest.param(
            '{\r\n    "hooks": {"Stop": []} // ours\r\n}',
            '{\r\n    "hooks": {"Stop": [\r\n        {}\r\n    ]} // ours\r\n}',
            id="CRLF",
        ),
        pytest.param(
            '{\n  "a": 1, // one\n  // "b": 2\n}\n',
            '{\n  "a": 1, // one\n  "hooks": {\n    "Stop": [\n      {}\n    ]\n  },\n  // "b": 2\n}\n',
            id="comments and trailing comma",
        ),
        pytest.param(
            "{ // mine\n}",
            '{ // mine\n  "hooks": {\n    "Stop": [\n      {}\n    ]\n  }\n}',
            id="a comment alone",
        ),
    ],
)
def test_entries_look_as_the_file_does(before: str, after: str) -> None:
    form = JsonHooks("claude-code", {"Stop": {}})
    assert form.install(before, FileMarks(), NAME)[0] == after


SHAPES = {
    "a list": ("[]", 1, "the whole is no object"),
    "a text": ('"x"', 1, "the whole is no object"),
    "hooks are a list": ('{\n  "hooks": []\n}', 2, "hooks is no object"),
    "hooks are null": ('{"hooks": null}', 1, "hooks is no object"),
    "an event is an object": ('{"hooks": {\n"Stop": {}}}', 2, "hooks.Stop is no array"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_file_of_another_shape_is_refused(case: str) -> None:
    text, line, what = SHAPES[case]
    with pytest.raises(InvalidInput, match=re.escape(f"{NAME}:{line}: {what}")):
        installed(text)


def test_what_others_made_of_a_list_does_not_matter() -> None:
    text = json.dumps({"hooks": {"Stop": [1, "x", {"hooks": 2}, {"hooks": [3, {"command": 4}]}, []]}})
    once, marks = installed(text)
    assert FORMS["groups"].uninstall(once, marks, NAME) == text


def test_a_group_that_others_joined_keeps_their_handlers() -> None:
    once, marks = installed("{}\n")
    settings = to_plain(once)
    theirs = {"type": "command", "command": "echo hello"}
    settings["hooks"]["Stop"][0]["hooks"].append(theirs)
    edited = json.dumps(settings, indent=2)
    assert to_plain(FORMS["groups"].uninstall(edited, marks, NAME)) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}
    again = to_plain(installed(edited, marks=marks)[0])["hooks"]["Stop"]
    assert again == [{"hooks": [theirs]}, FORMS["groups"].elements["Stop"]]


def test_second_and_superfluous_entries_go_when_installing_again() -> None:
    once, marks = installed("{}\n")
    settings = to_plain(once)
    settings["hooks"]["Stop"].append(FORMS["groups"].elements["Stop"])
    settings["hooks"]["Notification"] = [FORMS["groups"].elements["Stop"]]
    again = to_plain(installed(json.dumps(settings), marks=marks)[0])
    assert again == {"hooks": {**to_plain(once)["hooks"], "Notification": []}}


def test_what_stands_beside_hooks_stays_where_later_hooks_need_it() -> None:
    form = FORMS["handlers"]
    once, marks = form.install("", FileMarks(), NAME)
    theirs = {"command": "echo", "timeout": 1}
    settings = to_plain(once)
    settings["hooks"]["stop"].append(theirs)
    left = to_plain(form.uninstall(json.dumps(settings), marks, NAME))
    assert left == {"version": 1, "hooks": {"stop": [theirs]}}


def test_removing_an_entry_before_a_bracket_never_comments_the_bracket_out() -> None:
    text = '{"hooks": {"Stop": [{"a": 1}, // note\n{"command": "lineage hook claude-code"}]}}'
    left = FORMS["groups"].uninstall(text, FileMarks(), NAME)
    assert to_plain(left) == {"hooks": {"Stop": [{"a": 1}]}}
    assert "// note" in left


IN_BETWEEN = {
    "a comment in a list we made": ("{}", '"Stop": [', '"Stop": [ // mine\n', '"Stop": [ // mine'),
    "a comment behind what we made": ("// top\n", "\n}\n", "\n}\n// mine\n", "// mine"),
    "a comment in an object that was empty": ("{}", '\n  "hooks"', '\n  // mine\n  "hooks"', "{\n  // mine\n}"),
}


@pytest.mark.parametrize("case", IN_BETWEEN)
def test_comments_that_others_add_in_between_stay(case: str) -> None:
    before, old, new, left = IN_BETWEEN[case]
    once, marks = installed(before)
    assert old in once
    result = FORMS["groups"].uninstall(once.replace(old, new), marks, NAME)
    assert left in result
    assert "claude-code" not in result


def test_a_comment_that_others_took_out_does_not_come_back() -> None:
    once, marks = installed("{ // note\n}")
    assert FORMS["groups"].uninstall(once.replace(" // note", ""), marks, NAME) == "{\n}"


def test_several_entries_in_one_list_all_go() -> None:
    ours, theirs = {"command": "lineage hook claude-code"}, {"command": "echo"}
    text = json.dumps({"hooks": {"Stop": [ours, theirs, {"hooks": [theirs, ours, theirs, ours]}, ours]}})
    left = to_plain(FORMS["groups"].uninstall(text, FileMarks(), NAME))
    assert left == {"hooks": {"Stop": [theirs, {"hooks": [theirs, theirs]}]}}
