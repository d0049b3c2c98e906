"""The adapter of Qwen Code: Claude Code's envelope around messages of the Gemini API. (harnesses.md, section 10).

A turn is a part of a chained record. A record is written once, so its uuid and the part's place are the turn's id.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.harness import genai
from lineage.harness.adapter import BOOKKEEPING, NOTES, SUB_AGENT, UNKNOWN, Collector, SessionLocation, list_files
from lineage.harness.genai import as_parts, extract_text, get_object
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.words import INTERRUPTION, QUESTION_TOOLS, list_answers, list_reasons

_MESSAGES = frozenset({"user", "assistant", "tool_result"})
_PROMPT_SUBTYPES = frozenset({"", "mid_turn_user_message", "realtime_message"})
_HUMAN_PROVENANCES = frozenset({"", "real_user"})
_TRIGGERS = {"manual": "manual", "token_limit": "auto", "image_overflow": "auto"}
# The model's fixed answer to the summary in a compressed history.
_ACKNOWLEDGEMENT = "Got it. Thanks for the additional context"
_TRAILER = "\n\nResume the prior task using the summary above."
_SUB_AGENTS = "subagents"


def unwrap_summary(text: str) -> str | None:
    """Return the words of a compaction's summary, as the transcript's own record of it is read."""
    return genai.find_snapshot(text)


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a transcript file. Raise TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    reader.read_lines(path, "Qwen Code record")
    values = reader.first_values
    return reader.build_capture(
        session_id=values.get("agentId" if reader.is_sub_agent else "sessionId"),
        parent_session=values.get("sessionId" if reader.is_sub_agent else "parentSessionId"),
        forked_from=values.get("forkedFrom"),
        project=values.get("cwd"),
        title=reader.title,
    )


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the files and folders that may hold the transcripts of a session's sub-agents."""
    return [transcript.parent.parent / "subagents" / session]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every main transcript, and sub-agents' in `subagents/` and a folder with their parent's name."""
    for item in list_files(root, (".jsonl",)):
        folder = item.path.parent
        yield replace(item, parent=folder.name if folder.parent.name == _SUB_AGENTS else None)


@dataclass(slots=True)
class _Reader(Collector):
    first_values: dict[str, str] = field(default_factory=dict)
    is_sub_agent: bool | None = None
    title: str | None = None
    calls: dict[str, str] = field(default_factory=dict)
    questions: dict[str, Any] = field(default_factory=dict)
    attached: list[Turn] = field(default_factory=list)
    visible_counts: dict[str, int] = field(default_factory=dict)

    def add(self, record: dict[str, Any]) -> None:
        kind = _kind(record)
        if not kind:
            self.skip(UNKNOWN)
            return
        # Other harnesses write records of the type "system" too.
        self.recognized_count += kind in _MESSAGES or "systemPayload" in record
        # A file is a sub-agent's if its first record is; in other files such records are skipped.
        if self.is_sub_agent is None:
            self.is_sub_agent = bool(record.get("isSidechain"))
        uuid = as_string(record.get("uuid")) or None
        if record.get("isSidechain") and not self.is_sub_agent:
            self.skip(SUB_AGENT)
        elif not self.check_replay(uuid):
            for name in ("sessionId", "agentId", "cwd"):
                self._note_first(record, name)
            self._note_first({"forkedFrom": get_object(record, "forkedFrom").get("sessionId")}, "forkedFrom")
            self.note_branch(record.get("gitBranch"))
            at = self.record_time(record.get("timestamp"))
            turns = list(self._turns_of(kind, record, at))
            # Before the prompt, which older readers gave with all of it: the last turn of a capture stays the last.
            self.append_words(self.attached, at, uuid)
            self.attached = []
            self.append(turns, at, uuid)
            if kind == "assistant" and not turns:
                self.skip(BOOKKEEPING)
            if uuid:
                self.visible_counts[uuid] = len(turns)
            self.append_words(self._words_of(kind, record, turns), at, uuid)

    def _turns_of(self, kind: str, record: dict[str, Any], at: str | None) -> Iterator[Turn]:
        content = as_parts(get_object(record, "message").get("parts"))
        match kind:
            case "user" if _is_prompt(record):
                yield from self._user(record, content)
            case "user":
                self.skip(NOTES)
            case "assistant":
                yield from self._assistant(record, content)
            case "tool_result":
                yield from self._results(record, content)
            case "system" if record.get("subtype") == "chat_compression":
                payload = get_object(record, "systemPayload")
                trigger = _TRIGGERS.get(as_string(get_object(payload, "info").get("triggerReason")))
                yield from self.add_compaction(_summary(as_parts(payload.get("compressedHistory"))), at, trigger)
            case "system":
                self._note(record, get_object(record, "systemPayload"))
                self.skip(BOOKKEEPING)

    def _user(self, record: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        """Yield a prompt as it was typed."""
        payload = get_object(record, "systemPayload")
        # `displayText` is the typed text if a hook, a file or the harness added to it.
        typed = as_string(payload.get("displayText"))
        if typed.strip() and (isinstance(payload.get("hookContext"), str) or record.get("subtype")):
            _, self.attached = genai.split_attachment(extract_text(content, Counter()))
            content = [typed, *genai.list_media_notes(content)]
        text, attached = genai.split_attachment(extract_text(content, self.skipped))
        self.attached = self.attached or attached
        return self.keep_text(Turn(USER, text), NOTES)

    def _assistant(self, record: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        self.note_model(record.get("model"))
        for part in content:
            if call := get_object(part, "functionCall"):
                turn = genai.build_call_turn(call)
                self.calls[as_string(call.get("id"))] = turn.name
                if turn.name in QUESTION_TOOLS:
                    self.questions[turn.call_id] = call.get("args")
                yield turn
            elif (text := extract_text([part], self.skipped)).strip():
                yield Turn(ASSISTANT, text, thinking=genai.is_thought(part))

    def _results(self, record: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        error = get_object(record, "toolCallResult").get("status") == "error"
        for answer, parts in genai.split_responses(content):
            name = self.calls.get(as_string(answer.get("id"))) or as_string(answer.get("name"))
            yield genai.build_result_turn(name, parts, self.skipped, error=error)

    def _words_of(self, kind: str, record: dict[str, Any], turns: list[Turn]) -> Iterator[Turn]:
        """Yield a person's words in the results of tools."""
        for turn in turns if kind == "tool_result" else ():
            if turn.name in QUESTION_TOOLS:
                yield from list_answers(self.questions.get(turn.call_id), turn.text)
            yield from list_reasons(turn.text)
        if get_object(record, "toolCallResult").get("status") == "cancelled":
            yield INTERRUPTION

    def _note(self, record: dict[str, Any], payload: dict[str, Any]) -> None:
        match record.get("subtype"):
            case "custom_title":
                self.title = as_string(payload.get("customTitle")).strip() or self.title
            case "parent_session":
                self._note_first(payload, "parentSessionId")
            case "rewind":
                # The chain goes on after an earlier record; the turns in between stay.
                genai.rewind(self.visible_counts, self.skipped, record.get("parentUuid"), include=False)

    def _note_first(self, values: dict[str, Any], name: str) -> None:
        if as_string(values.get(name)):
            self.first_values.setdefault(name, values[name])


def _summary(history: list[Any]) -> str | None:
    """Return the summary at the start of a compressed history, None if it has none."""
    # It is the user's text before the model's acknowledgement, with a request to go on at its end.
    texts = [extract_text(as_parts(as_mapping(message).get("parts")), Counter()) for message in history]
    text = next((text for text, answer in pairwise(texts) if answer.startswith(_ACKNOWLEDGEMENT)), "")
    return genai.find_snapshot(text) or text.partition(_TRAILER)[0].strip() or None


def _kind(record: dict[str, Any]) -> str:
    """Return the record's type, "" if it has none or not Qwen Code's shape."""
    kind = as_string(record.get("type"))
    if kind in _MESSAGES and not isinstance(get_object(record, "message").get("parts"), list):
        return ""
    return kind if kind in _MESSAGES or kind == "system" else ""


def _is_prompt(record: dict[str, Any]) -> bool:
    """Return whether a person typed a text: notifications, timers and goals use the user's role too."""
    subtype, provenance = as_string(record.get("subtype")), as_string(record.get("provenance"))
    return subtype in _PROMPT_SUBTYPES and provenance in _HUMAN_PROVENANCES
