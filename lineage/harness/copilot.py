"""GitHub Copilot CLI's event logs: `session-state/<id>/events.jsonl`. (harnesses.md, section 6)

An event gives a turn for each thing that it says, so that growing prefixes of a file only ever add turns: the result
of a tool is an event of its own, long after the message that asked for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.collector import BOOKKEEPING, NOTES, REPLAYED, SUB_AGENT, UNKNOWN, Collector
from lineage.harness.history_files import list_files
from lineage.harness.json_values import as_list, as_mapping, as_string, format_media_note
from lineage.harness.jsonl import read_records
from lineage.harness.text import format_omission, render_tool_input, strip_injections

_LOG = "events.jsonl"
_STATE = "session-state"
_FAMILIES = frozenset(
    {
        "abort", "assistant", "auto_mode_switch", "capabilities", "command", "commands", "elicitation",
        "exit_plan_mode", "external_tool", "factory", "hook", "mcp", "mcp_app", "model", "pending_messages",
        "permission", "sampling", "session", "session_limits_exhausted", "skill", "subagent", "system", "tool",
        "tool_search", "ui", "user", "user_input",
    }
)  # fmt: skip
_PROMPT_SOURCES = ("", "user")
_SKILL = "<skill-context"


def read(path: Path, session: str | None = None) -> Capture:
    """The session that an event log holds. Raises TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    for record in read_records(path, reader.skipped):
        reader.add(record)
    if reader.is_foreign:
        raise TranscriptError(
            f"no Copilot CLI event in {path}", hint="is it another harness's? name it with `--harness`"
        )
    return reader.finish()


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`session-state/` of the configuration folder."""
    return [Path(environment.get("COPILOT_HOME") or home / ".copilot", _STATE)]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every session's log; older versions kept it flat, `<id>.jsonl`. What a session's folder holds beside it, files of
    its user's among them, is passed over."""
    for item in list_files(root, (".jsonl",)):
        if item.path == root or item.path.name == _LOG or item.path.parent.name == _STATE:
            yield item


@dataclass(slots=True)
class _Call:
    """A tool call: its name, and the input that its result shows because no turn of the agent's did."""

    name: str
    input: str = ""


@dataclass(slots=True)
class _Reader(Collector):
    start: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    title: str = ""
    answering_models: dict[str, None] = field(default_factory=dict)
    selected_models: dict[str, None] = field(default_factory=dict)
    branches: dict[str, None] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    thoughts: set[str] = field(default_factory=set)

    def finish(self) -> Capture:
        return self.build_capture(
            session_id=as_string(self.start.get("sessionId")) or None,
            parent_session=as_string(self.start.get("detachedFromSpawningParentSessionId")) or None,
            project=self.project or None,
            title=self.title or None,
            models=tuple(self.answering_models or self.selected_models),
            branches=tuple(self.branches),
        )

    def add(self, event: dict[str, Any]) -> None:
        kind, data = as_string(event.get("type")), event.get("data")
        if kind.partition(".")[0] not in _FAMILIES or not isinstance(data, dict):
            self.skip(UNKNOWN)
            return
        self.recognized_count += 1
        if as_string(event.get("agentId")) or as_string(data.get("parentToolCallId")):
            self.skip(SUB_AGENT)
            return
        record = as_string(event.get("id")) or None
        if not self.check_replay(record):
            at = self.record_time(event.get("timestamp"))
            self.append(list(self._turns_of(kind, data, at)), at, record)

    def _turns_of(self, kind: str, data: dict[str, Any], at: str | None) -> Iterator[Turn]:
        match kind:
            case "user.message":
                yield from self._prompt(data)
            case "assistant.message":
                yield from self._message(data)
            case "assistant.reasoning":
                yield from self._thought(data.get("content"))
            case "tool.execution_start":
                yield from self._call_start(data)
            case "tool.execution_complete":
                yield self._result(data)
            case "session.compaction_complete" if data.get("success") is not False:
                yield from self.add_compaction(data.get("summaryContent"), at, as_string(data.get("trigger")) or None)
            case "system.message" | "system.notification" | "skill.invoked":
                self.skip(NOTES)
            case _:
                self._note(kind, data)
                self.skip(BOOKKEEPING)

    def _prompt(self, data: dict[str, Any]) -> Iterator[Turn]:
        """What a person typed: `content`, not the form that the model got. Skills, other agents and autopilot write
        such messages too; their source tells."""
        notes = [note for attachment in as_list(data.get("attachments")) if (note := _blob(attachment))]
        text = strip_injections(as_string(data.get("content")))
        typed = as_string(data.get("source")) in _PROMPT_SOURCES and data.get("isAutopilotContinuation") is not True
        shown = "\n".join([text] * bool(text) + notes)
        if shown and typed and not text.startswith(_SKILL):
            yield Turn(USER, shown)
        else:
            self.skip(NOTES)

    def _message(self, data: dict[str, Any]) -> Iterator[Turn]:
        self._note_model(data)
        text, calls = as_string(data.get("content")).strip("\n"), as_list(data.get("toolRequests"))
        if as_string(data.get("reasoningText")).strip():
            yield from self._thought(data["reasoningText"])
        elif not text.strip() and not calls:
            self.skip(BOOKKEEPING)
        if text.strip():
            yield Turn(ASSISTANT, text)
        for call in calls:
            if isinstance(call, dict):
                yield self._call(call.get("toolCallId"), call.get("name"), call.get("arguments"))
            else:
                self.skip(UNKNOWN)

    def _thought(self, content: Any) -> Iterator[Turn]:
        """Reasoning; some versions log it as an event of its own and again with the message."""
        text = as_string(content).strip("\n")
        if not text.strip():
            self.skip(BOOKKEEPING)
        elif text in self.thoughts:
            self.skip(REPLAYED)
        else:
            self.thoughts.add(text)
            yield Turn(ASSISTANT, text, thinking=True)

    def _call(self, call: Any, name: Any, arguments: Any) -> Turn:
        known = _Call(as_string(name) or "tool")
        self._register_call(call, known)
        return Turn(ASSISTANT, "", name=known.name, input=render_tool_input(arguments))

    def _register_call(self, call_id: Any, call: _Call) -> None:
        if as_string(call_id):
            self.calls[call_id] = call

    def _call_start(self, data: dict[str, Any]) -> Iterator[Turn]:
        """The start of a call shows it where no message did."""
        if as_string(data.get("toolCallId")) in self.calls:
            self.skip(BOOKKEEPING)
        else:
            yield self._call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))

    def _result(self, data: dict[str, Any]) -> Turn:
        self._note_model(data)
        call = self.calls.get(as_string(data.get("toolCallId"))) or _Call(as_string(data.get("toolName")) or "tool")
        result = as_mapping(data.get("result"))
        text = strip_injections(
            as_string(result.get("content")) or as_string(as_mapping(data.get("error")).get("message"))
        )
        notes = [note for blob in as_list(result.get("binaryResultsForLlm")) if (note := _blob(blob))]
        shown = "\n".join([text] * bool(text) + notes)
        return Turn(TOOL, shown, name=call.name, input=call.input, error=data.get("success") is False)

    def _note_model(self, data: dict[str, Any]) -> None:
        if as_string(data.get("model")):
            self.answering_models[data["model"]] = None

    def _note(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "session.start":
                self.start = self.start or data
                self._note_context(data.get("context"), data.get("selectedModel"))
            case "session.resume":
                self._note_context(data.get("context"), data.get("selectedModel"))
            case "session.context_changed":
                self._note_context(data, None)
            case "session.model_change":
                self._note_context(None, data.get("newModel"))
            case "session.title_changed":
                self.title = as_string(data.get("title")).strip()
            case "tool.user_requested":
                call = _Call(as_string(data.get("toolName")) or "tool", render_tool_input(data.get("arguments")))
                self._register_call(data.get("toolCallId"), call)

    def _note_context(self, context: Any, model: Any) -> None:
        context = as_mapping(context)
        self.project = self.project or as_string(context.get("cwd"))
        if as_string(context.get("branch")):
            self.branches[context["branch"]] = None
        if as_string(model):
            self.selected_models[model] = None


def _blob(value: Any) -> str | None:
    """The note for an attachment or a result that is data; None for those that refer to a file."""
    blob = as_mapping(value)
    kind, data, size = as_string(blob.get("mimeType")), as_string(blob.get("data")), blob.get("byteLength")
    if not kind or blob.get("type") == "file":
        return None
    if data or type(size) is not int:
        return format_media_note(kind, data)
    return format_omission(f"{'image' if kind.startswith('image/') else 'file'} {kind}", size)
