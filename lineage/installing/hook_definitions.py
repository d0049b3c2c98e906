"""The hooks registered with each harness that runs commands, from its entry in the registry."""

from collections.abc import Callable, Mapping
from typing import Any

from lineage.errors import InvalidInput
from lineage.harness.adapters import SpecView, validate_harness
from lineage.harness.registry import HARNESSES
from lineage.harness.spec import ARGUMENTS, BASH, COMMAND, POWERSHELL, PROGRAM, SHELL, Installation
from lineage.installing.commands import BLOCK, MCP, RECALL, SKILL, HookCommand

INSTALLATIONS: Mapping[str, Installation] = SpecView(lambda spec: spec.installation)


def get_installation(harness: str) -> Installation:
    """Return the settings of a harness's hooks. Raise InvalidInput for an unknown harness or one without hooks."""
    if validate_harness(harness) not in INSTALLATIONS:
        hint = f"`lineage import {harness}` reads its history; with hooks: {', '.join(INSTALLATIONS)}"
        raise InvalidInput(f"{harness} has no hooks", hint=hint)
    return INSTALLATIONS[harness]


def list_parts(harness: str) -> frozenset[str]:
    """Return the parts that a harness takes of an installation. Raise InvalidInput for one without hooks.

    One whose hooks take no answer gets no block and no quotes. A plug-in of ours, without events, asks at prompts.
    """
    installation, hooks = get_installation(harness), HARNESSES[harness].hooks
    answers = hooks is not None and hooks.output is not None
    recalls = answers and hooks is not None and (bool(hooks.prompts or hooks.actions) or not installation.events)
    parts = {BLOCK: answers, RECALL: recalls, MCP: installation.server is not None, SKILL: installation.has_skills}
    return frozenset(part for part, is_taken in parts.items() if is_taken)


def build_hooks(command: HookCommand) -> dict[str, Any]:
    """Return the elements to register by event, without those that the command leaves out."""
    installation, hooks = get_installation(command.harness), HARNESSES[command.harness].hooks
    is_left_out = (*hooks.prompts, *hooks.actions) if hooks and RECALL in command.left_out else ()
    lines = {SHELL: command.shell, BASH: command.bash, POWERSHELL: command.powershell}
    handler = _fill(installation.handler, command.argv, lines)
    return {
        event: _build_element(handler, members, is_grouped=installation.is_grouped)
        for event, members in installation.events.items()
        if event not in is_left_out
    }


def build_server(value: Mapping[str, Any], command: HookCommand) -> dict[str, Any]:
    """Return the MCP server in the form of a harness."""
    return _fill(value, command.server, {})


def build_packaged_hooks(harness: str, format_line: Callable[[str], str]) -> dict[str, Any]:
    """Return the elements of a plug-in by event: those of `build_hooks`, with a line for a shell for each event."""
    installation = get_installation(harness)
    handler = {key: value for key, value in installation.handler.items() if value != ARGUMENTS}
    return {
        event: _build_element({**handler, "command": format_line(event)}, members, is_grouped=installation.is_grouped)
        for event, members in installation.events.items()
    }


def build_packaged_server(harness: str) -> dict[str, Any]:
    """Return the MCP server in the form of a harness, as a plug-in starts it: lineage from PATH."""
    server = get_installation(harness).server
    return _fill(server.value, ("lineage", "mcp"), {}) if server else {}


def _fill(value: Mapping[str, Any], words: tuple[str, ...], lines: Mapping[str, str]) -> dict[str, Any]:
    program, *arguments = words
    parts: dict[str, Any] = {PROGRAM: program, ARGUMENTS: arguments, COMMAND: list(words), **lines}
    return {key: parts.get(one, one) if isinstance(one, str) else one for key, one in value.items()}


def _build_element(handler: Mapping[str, Any], members: Mapping[str, Any], *, is_grouped: bool) -> dict[str, Any]:
    """Return a handler, in a group of its own where the harness has groups: a matcher is the group's."""
    matcher = {key: value for key, value in members.items() if key == "matcher"}
    own = {**handler, **{key: value for key, value in members.items() if key != "matcher"}}
    return {**matcher, "hooks": [own]} if is_grouped else own
