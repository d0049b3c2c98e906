"""The hooks registered with each harness against its documentation, and the packages for manual installation."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage import __version__
from lineage.harness.hook_payload import parse_hook_payload
from lineage.harness.registry import HARNESSES, classify_event
from lineage.harness.spec import ACTION, PROMPT
from lineage.installing import INSTALLATIONS
from lineage.installing.commands import BLOCK, MCP, RECALL, SKILL, HookCommand, find_entries
from lineage.installing.hook_definitions import build_hooks, list_parts

INTEGRATIONS = Path(__file__).parents[3] / "workspace_template" / "integrations"
SECONDS = {"claude-code": 60, "codex": 600, "goose": 30, "cursor": 60, "copilot": 30}
MILLISECONDS = {"gemini": 60_000, "qwen": 60_000}
BUILT = [name for name, installation in INSTALLATIONS.items() if installation.events]
PLUGINS = [name for name in INSTALLATIONS if name not in BUILT]


HOOKS_AT_A_PROMPT = {
    "claude-code": ["UserPromptSubmit"],
    "codex": ["UserPromptSubmit"],
    "gemini": ["BeforeAgent"],
    "qwen": ["UserPromptSubmit"],
    "copilot": ["userPromptSubmitted"],
}


HOOKS_AT_AN_ACTION = {
    "claude-code": ["PreToolUse", "PostToolUseFailure"],
    "codex": ["PreToolUse", "PostToolUse"],
    "gemini": ["AfterTool"],
    "qwen": ["PostToolUse", "PostToolUseFailure"],
    "copilot": ["preToolUse", "postToolUse"],
}


def make_command(harness: str) -> HookCommand:
    return HookCommand(("/opt/lineage",), harness, "/home/ada/memory", "default")


def list_handlers(harness: str) -> dict[str, dict[str, Any]]:
    elements = build_hooks(make_command(harness))
    return {event: element["hooks"][0] if "hooks" in element else element for event, element in elements.items()}


@pytest.mark.parametrize("harness", BUILT)
def test_every_entry_is_known_as_ours(harness: str) -> None:
    elements = build_hooks(make_command(harness))
    found = list(find_entries({event: [element] for event, element in elements.items()}, harness))
    assert [(entry.event, entry.argv) for entry in found] == [(event, make_command(harness).argv) for event in elements]


@pytest.mark.parametrize("harness", BUILT)
def test_every_event_is_one_that_the_hook_understands(harness: str) -> None:
    hooks = HARNESSES[harness].hooks
    assert hooks is not None
    name, ids = hooks.event_fields[0], dict.fromkeys(hooks.fields["session_id"], "s-1")
    ids = {"session_id": "s-1"} if "session_id" in ids else ids
    for event in (event for event in list_handlers(harness) if classify_event(event) not in (PROMPT, ACTION)):
        heard = parse_hook_payload(harness, {name: event, **ids})
        assert heard is not None and heard.event != "other", event


@pytest.mark.parametrize("harness", BUILT)
def test_timeouts_have_the_harness_s_unit_and_keep_its_limit(harness: str) -> None:
    least, most = (1000, MILLISECONDS[harness]) if harness in MILLISECONDS else (1, SECONDS.get(harness, 600))
    key = "timeoutSec" if harness == "copilot" else "timeout"
    timeouts = [handler[key] for handler in list_handlers(harness).values() if key in handler]
    assert timeouts or harness not in {*SECONDS, *MILLISECONDS}, "a harness without timeouts has no limit of its own"
    assert all(least <= timeout <= most for timeout in timeouts)


def test_a_harness_takes_the_parts_that_its_hooks_and_settings_have() -> None:
    """A session is promised nothing that it can't get."""
    assert {name for name in INSTALLATIONS if RECALL in list_parts(name)} == {*HOOKS_AT_A_PROMPT, *PLUGINS}
    assert list_parts("cursor") == {BLOCK, MCP, SKILL}
    assert list_parts("goose") == frozenset()
    assert list_parts("pi") == {BLOCK, RECALL, SKILL}


@pytest.mark.parametrize("harness", [*HOOKS_AT_A_PROMPT, "goose", "cursor"])
def test_every_harness_that_takes_an_answer_to_a_prompt_asks_for_one(harness: str) -> None:
    events = [event for event in list_handlers(harness) if classify_event(event) == PROMPT]
    assert events == HOOKS_AT_A_PROMPT.get(harness, [])


@pytest.mark.parametrize("harness", [*HOOKS_AT_AN_ACTION, "goose", "cursor"])
def test_every_harness_that_takes_an_answer_at_an_action_asks_for_one_at_edits_and_commands(harness: str) -> None:
    elements = build_hooks(make_command(harness))
    events = [event for event in elements if classify_event(event) == ACTION]
    assert events == HOOKS_AT_AN_ACTION.get(harness, [])
    if harness != "copilot":  # its hooks have no matchers
        assert all(elements[event]["matcher"] not in ("", "*", ".*") for event in events)


def test_codex_gives_a_session_end_exactly_three_seconds() -> None:
    assert list_handlers("codex")["SessionEnd"]["timeout"] == 3


def test_claude_code_runs_it_without_a_shell() -> None:
    for handler in list_handlers("claude-code").values():
        assert [handler["command"], *handler["args"]] == list(make_command("claude-code").argv)
    assert [event for event, handler in list_handlers("claude-code").items() if handler.get("async")] == ["Stop"]
    assert "SubagentStart" not in list_handlers("claude-code")


class Bare(HookCommand):
    """The command of a package: what is found on PATH, with no workspace of its own."""

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.program, "hook", self.harness)


def test_a_package_registers_what_installing_registers() -> None:
    packaged = json.loads((INTEGRATIONS / "goose" / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    elements = build_hooks(Bare(("lineage",), "goose", "/w", "default"))
    assert packaged["hooks"] == {event: [element] for event, element in elements.items()}
    assert packaged.keys() <= {"description", "hooks"}


def test_manifests_have_one_name_and_this_version() -> None:
    manifests = [
        "goose/plugin.json",
        "openclaw/openclaw.plugin.json",
        "openclaw/package.json",
    ]
    for path in manifests:
        manifest = json.loads((INTEGRATIONS / path).read_text(encoding="utf-8"))
        assert manifest["version"] == __version__, path
        assert manifest["name"] in ("lineage", "lineage-openclaw"), path
        assert manifest.get("description") or manifest["name"] == "lineage-openclaw"


def test_openclaw_s_manifest_has_what_it_refuses_a_plugin_without() -> None:
    manifest = json.loads((INTEGRATIONS / "openclaw" / "openclaw.plugin.json").read_text(encoding="utf-8"))
    assert manifest["id"] == "lineage" and manifest["configSchema"]["type"] == "object"
    package = json.loads((INTEGRATIONS / "openclaw" / "package.json").read_text(encoding="utf-8"))
    assert all((INTEGRATIONS / "openclaw" / path).is_file() for path in package["openclaw"]["extensions"])


def test_every_folder_has_a_note_and_the_first_leads_to_each() -> None:
    first = (INTEGRATIONS / "README.md").read_text(encoding="utf-8")
    folders = [path.name for path in sorted(INTEGRATIONS.iterdir()) if path.is_dir() and path.name[0] != "."]
    for name in folders:
        assert f"[[integrations/{name}/README.md|" in first
        assert f"lineage hooks install {name}" in (INTEGRATIONS / name / "README.md").read_text(encoding="utf-8")
