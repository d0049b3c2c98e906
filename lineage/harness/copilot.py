"""The adapter of GitHub Copilot CLI: event logs `session-state/<id>/events.jsonl`. (harnesses.md, section 6).

An event gives a turn for each thing it reports, so a longer prefix of a file only ever adds turns: the result of a tool
is an event of its own, long after the message with the call.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.harness import adapter
from lineage.harness.json_values import as_list, as_mapping, as_string, format_media_note
from lineage.harness.text import format_omission, strip_injections
from lineage.harness.tool_inputs import build_call_turn
from lineage.harness.words import INTERRUPTION, QUESTION_TOOLS, list_answers

_LOG = "events.jsonl"
# The first words of event types: a new type of a known family is still Copilot's.
_FAMILIES = frozenset({
    "abort", "assistant", "auto_mode_switch", "capabilities", "command", "commands", "elicitation",
    "exit_plan_mode", "external_tool", "factory", "hook", "mcp", "mcp_app", "model", "pending_messages",
    "permission", "sampling", "session", "session_limits_exhausted", "skill", "subagent", "system", "tool",
    "tool_search", "ui", "user", "user_input",
})  # fmt: skip
# A person's prompt has this source, or none.
_PROMPT_SOURCES = ("", "user")
_SKILL = "<skill-context"


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of an event log. Raise TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    reader.read_lines(path, "Copilot CLI event")
    return reader.build_capture(
        session_id=as_string(reader.start.get("sessionId")) or None,
        parent_session=as_string(reader.start.get("detachedFromSpawningParentSessionId")) or None,
        project=reader.project or None,
        title=reader.title or None,
        models=tuple(reader.models or reader.selected_models),
    )


def discover(root: Path) -> Iterator[adapter.SessionLocation]:
    """Yield every session's log. A session's folder also holds other files, some of them the user's."""
    return (item for item in adapter.list_files(root, (".jsonl",)) if item.path == root or item.path.name == _LOG)


@dataclass(slots=True)
class _Call:
    """A tool call: its name, the arguments for its result if no turn of the agent shows them, those of a question."""

    name: str
    arguments: Any = None
    question: Any = None


@dataclass(slots=True)
class _Reader(adapter.Collector):
    start: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    title: str = ""
    selected_models: dict[str, None] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    thoughts: set[str] = field(default_factory=set)

    def add(self, record: dict[str, Any]) -> None:
        kind, data = as_string(record.get("type")), record.get("data")
        if kind.partition(".")[0] not in _FAMILIES or not isinstance(data, dict):
            self.skip(adapter.UNKNOWN)
            return
        self.recognized_count += 1
        # A sub-agent's events lie in the same file.
        if as_string(record.get("agentId")) or as_string(data.get("parentToolCallId")):
            self.skip(adapter.SUB_AGENT)
            return
        record_id = as_string(record.get("id")) or None
        if not self.check_replay(record_id):
            at = self.record_time(record.get("timestamp"))
            self.append(self._turns_of(kind, data, at), at, record_id)
            self.append_words(self._words_of(kind, data), at, record_id)

    def _turns_of(self, kind: str, data: dict[str, Any], at: str | None) -> Iterator[Turn]:
        match kind:
            case "user.message":
                yield from self._prompt(data)
            case "assistant.message":
                yield from self._message(data)
            case "assistant.reasoning":
                yield from self._thought(data.get("content"))
            case "tool.execution_start":
                if as_string(data.get("toolCallId")) in self.calls:
                    self.skip(adapter.BOOKKEEPING)  # a message showed the call
                else:
                    yield self._call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
            case "tool.execution_complete":
                yield self._result(data)
            case "session.compaction_complete" if data.get("success") is not False:
                yield from self.add_compaction(data.get("summaryContent"), at, as_string(data.get("trigger")) or None)
            case "abort":
                return  # a note among the words
            case "system.message" | "system.notification" | "skill.invoked":
                self.skip(adapter.NOTES)
            case _:
                self._note(kind, data)
                self.skip(adapter.BOOKKEEPING)

    def _words_of(self, kind: str, data: dict[str, Any]) -> Iterator[Turn]:
        """Yield a person's answers to a question, a request for permission or a plan; the note of an interruption."""
        reason = as_string(data.get("feedback")) or as_string(as_mapping(data.get("result")).get("feedback"))
        if kind in ("permission.completed", "exit_plan_mode.completed") and reason.strip():
            yield Turn(USER, reason.strip())
        elif kind == "tool.execution_complete" and (call := self.calls.get(as_string(data.get("toolCallId")))):
            if call.name in QUESTION_TOOLS:
                yield from list_answers(call.question, as_mapping(data.get("result")).get("content"))
        elif kind == "abort":
            yield INTERRUPTION

    def _prompt(self, data: dict[str, Any]) -> Iterator[Turn]:
        """Yield a prompt as a person typed it: `content`, not the form for the model."""
        notes = [note for attachment in as_list(data.get("attachments")) if (note := _blob(attachment))]
        text = strip_injections(as_string(data.get("content")))
        # Skills, other agents and autopilot write such messages too; the source tells them apart.
        is_typed = as_string(data.get("source")) in _PROMPT_SOURCES and data.get("isAutopilotContinuation") is not True
        if (text or notes) and is_typed and not text.startswith(_SKILL):
            yield Turn(USER, "\n".join(filter(None, [text, *notes])))
        else:
            self.skip(adapter.NOTES)

    def _message(self, data: dict[str, Any]) -> Iterator[Turn]:
        self.note_model(data.get("model"))
        text, calls = as_string(data.get("content")).strip("\n"), as_list(data.get("toolRequests"))
        if as_string(data.get("reasoningText")).strip():
            yield from self._thought(data["reasoningText"])
        elif not text.strip() and not calls:
            self.skip(adapter.BOOKKEEPING)
        if text.strip():
            yield Turn(ASSISTANT, text)
        for call in calls:
            if isinstance(call, dict):
                yield self._call(call.get("toolCallId"), call.get("name"), call.get("arguments"))
            else:
                self.skip(adapter.UNKNOWN)

    def _thought(self, content: Any) -> Iterator[Turn]:
        # Some versions log it as an event of its own and again with the message.
        text = as_string(content).strip("\n")
        if not text.strip():
            self.skip(adapter.BOOKKEEPING)
        elif text in self.thoughts:
            self.skip(adapter.REPLAYED)
        else:
            self.thoughts.add(text)
            yield Turn(ASSISTANT, text, thinking=True)

    def _call(self, call_id: Any, name: Any, arguments: Any) -> Turn:
        call = _Call(as_string(name) or "tool", question=arguments if as_string(name) in QUESTION_TOOLS else None)
        self._register_call(call_id, call)
        return build_call_turn(name, arguments, call_id)

    def _register_call(self, call_id: Any, call: _Call) -> None:
        if as_string(call_id):
            self.calls[call_id] = call

    def _result(self, data: dict[str, Any]) -> Turn:
        self.note_model(data.get("model"))
        call_id = as_string(data.get("toolCallId"))
        call = self.calls.get(call_id) or _Call(as_string(data.get("toolName")) or "tool")
        result = as_mapping(data.get("result"))
        error = as_mapping(data.get("error"))
        text = strip_injections(as_string(result.get("content")) or as_string(error.get("message")))
        notes = [note for blob in as_list(result.get("binaryResultsForLlm")) if (note := _blob(blob))]
        text = "\n".join(filter(None, [text, *notes]))
        turn = build_call_turn(call.name, call.arguments, call_id)
        return turn._replace(role=TOOL, text=text, error=data.get("success") is False)

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
                call = _Call(as_string(data.get("toolName")) or "tool", data.get("arguments"))
                self._register_call(data.get("toolCallId"), call)

    def _note_context(self, context: Any, model: Any) -> None:
        context = as_mapping(context)
        self.project = self.project or as_string(context.get("cwd"))
        self.note_branch(context.get("branch"))
        if as_string(model):
            self.selected_models[model] = None


def _blob(value: Any) -> str | None:
    """Return the note for an attachment or a result with data, None for a reference to a file."""
    blob = as_mapping(value)
    kind, data, size = as_string(blob.get("mimeType")), as_string(blob.get("data")), blob.get("byteLength")
    if not kind or blob.get("type") == "file":
        return None
    if data or type(size) is not int:
        return format_media_note(kind, data)
    return format_omission(f"{'image' if kind.startswith('image/') else 'file'} {kind}", size)
