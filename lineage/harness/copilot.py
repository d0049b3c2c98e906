"""GitHub Copilot CLI's event logs: `session-state/<id>/events.jsonl`. (harnesses.md, section 6)

An event gives a turn for each thing that it says, so that growing prefixes of a file only ever add turns: the result
of a tool is an event of its own, long after the message that asked for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.capture import Capture
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.collector import BOOKKEEPING, NOTES, REPLAYED, SUB_AGENT, UNKNOWN, Collector
from lineage.harness.jsonl import records
from lineage.harness.listing import files
from lineage.harness.port import Found
from lineage.harness.text import left_out, salient, without_injected
from lineage.harness.values import mapping, medium, sequence, string

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
_TYPED = ("", "user")
_SKILL = "<skill-context"


def read(path: Path, session: str | None = None) -> Capture:
    """The session that an event log holds. Raises TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    for record in records(path, reader.skipped):
        reader.add(record)
    if reader.foreign:
        raise TranscriptError(
            f"no Copilot CLI event in {path}", hint="is it another harness's? name it with `--harness`"
        )
    return reader.session()


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`session-state/` of the configuration folder."""
    return [Path(environment.get("COPILOT_HOME") or home / ".copilot", _STATE)]


def found(root: Path) -> Iterator[Found]:
    """Every session's log; older versions kept it flat, `<id>.jsonl`. What a session's folder holds beside it, files of
    its user's among them, is passed over."""
    for item in files(root, (".jsonl",)):
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
    answered: dict[str, None] = field(default_factory=dict)
    selected: dict[str, None] = field(default_factory=dict)
    branches: dict[str, None] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    thoughts: set[str] = field(default_factory=set)

    def session(self) -> Capture:
        return self.capture(
            session_id=string(self.start.get("sessionId")) or None,
            parent_session=string(self.start.get("detachedFromSpawningParentSessionId")) or None,
            project=self.project or None,
            title=self.title or None,
            models=tuple(self.answered or self.selected),
            branches=tuple(self.branches),
        )

    def add(self, event: dict[str, Any]) -> None:
        kind, data = string(event.get("type")), event.get("data")
        if kind.partition(".")[0] not in _FAMILIES or not isinstance(data, dict):
            self.skip(UNKNOWN)
            return
        self.known += 1
        if string(event.get("agentId")) or string(data.get("parentToolCallId")):
            self.skip(SUB_AGENT)
            return
        record = string(event.get("id")) or None
        if not self.is_replay(record):
            at = self.dated(event.get("timestamp"))
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
                yield from self._started(data)
            case "tool.execution_complete":
                yield self._result(data)
            case "session.compaction_complete" if data.get("success") is not False:
                yield from self.compacted(data.get("summaryContent"), at, string(data.get("trigger")) or None)
            case "system.message" | "system.notification" | "skill.invoked":
                self.skip(NOTES)
            case _:
                self._note(kind, data)
                self.skip(BOOKKEEPING)

    def _prompt(self, data: dict[str, Any]) -> Iterator[Turn]:
        """What a person typed: `content`, not the form that the model got. Skills, other agents and autopilot write
        such messages too; their source tells."""
        notes = [note for attachment in sequence(data.get("attachments")) if (note := _blob(attachment))]
        text = without_injected(string(data.get("content")))
        typed = string(data.get("source")) in _TYPED and data.get("isAutopilotContinuation") is not True
        shown = "\n".join([text] * bool(text) + notes)
        if shown and typed and not text.startswith(_SKILL):
            yield Turn(USER, shown)
        else:
            self.skip(NOTES)

    def _message(self, data: dict[str, Any]) -> Iterator[Turn]:
        self._answered_by(data)
        text, calls = string(data.get("content")).strip("\n"), sequence(data.get("toolRequests"))
        if string(data.get("reasoningText")).strip():
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

    def _thought(self, words: Any) -> Iterator[Turn]:
        """Reasoning; some versions log it as an event of its own and again with the message."""
        text = string(words).strip("\n")
        if not text.strip():
            self.skip(BOOKKEEPING)
        elif text in self.thoughts:
            self.skip(REPLAYED)
        else:
            self.thoughts.add(text)
            yield Turn(ASSISTANT, text, thinking=True)

    def _call(self, call: Any, name: Any, arguments: Any) -> Turn:
        known = _Call(string(name) or "tool")
        self._remember(call, known)
        return Turn(ASSISTANT, "", name=known.name, input=salient(arguments))

    def _remember(self, call_id: Any, call: _Call) -> None:
        if string(call_id):
            self.calls[call_id] = call

    def _started(self, data: dict[str, Any]) -> Iterator[Turn]:
        """The start of a call shows it where no message did."""
        if string(data.get("toolCallId")) in self.calls:
            self.skip(BOOKKEEPING)
        else:
            yield self._call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))

    def _result(self, data: dict[str, Any]) -> Turn:
        self._answered_by(data)
        call = self.calls.get(string(data.get("toolCallId"))) or _Call(string(data.get("toolName")) or "tool")
        result = mapping(data.get("result"))
        text = without_injected(string(result.get("content")) or string(mapping(data.get("error")).get("message")))
        notes = [note for blob in sequence(result.get("binaryResultsForLlm")) if (note := _blob(blob))]
        shown = "\n".join([text] * bool(text) + notes)
        return Turn(TOOL, shown, name=call.name, input=call.input, error=data.get("success") is False)

    def _answered_by(self, data: dict[str, Any]) -> None:
        if string(data.get("model")):
            self.answered[data["model"]] = None

    def _note(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "session.start":
                self.start = self.start or data
                self._at_work(data.get("context"), data.get("selectedModel"))
            case "session.resume":
                self._at_work(data.get("context"), data.get("selectedModel"))
            case "session.context_changed":
                self._at_work(data, None)
            case "session.model_change":
                self._at_work(None, data.get("newModel"))
            case "session.title_changed":
                self.title = string(data.get("title")).strip()
            case "tool.user_requested":
                call = _Call(string(data.get("toolName")) or "tool", salient(data.get("arguments")))
                self._remember(data.get("toolCallId"), call)

    def _at_work(self, context: Any, model: Any) -> None:
        context = mapping(context)
        self.project = self.project or string(context.get("cwd"))
        if string(context.get("branch")):
            self.branches[context["branch"]] = None
        if string(model):
            self.selected[model] = None


def _blob(value: Any) -> str | None:
    """The note for an attachment or a result that is data; None for those that refer to a file."""
    blob = mapping(value)
    kind, data, size = string(blob.get("mimeType")), string(blob.get("data")), blob.get("byteLength")
    if not kind or blob.get("type") == "file":
        return None
    if data or type(size) is not int:
        return medium(kind, data)
    return left_out(f"{'image' if kind.startswith('image/') else 'file'} {kind}", size)
