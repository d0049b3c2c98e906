"""Files of Claude Code and records of its transcripts: kinds, human prompts, session ids. (harnesses.md, section 1)."""

import codecs
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from lineage.core.format.turns import SYSTEM, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import claude_history
from lineage.harness.adapter import BOOKKEEPING, SessionLocation, list_files
from lineage.harness.json_values import as_mapping, as_string, measure_base64
from lineage.harness.jsonl import read_records
from lineage.harness.text import format_omission
from lineage.harness.words import build_answer_turn

CHAINED_KINDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
BOOKKEEPING_KINDS = frozenset({
    "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "mode", "permission-mode",
    "last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta", "cost-state", "pr-link",
    "bridge-session", "tag", "worktree-state", "content-replacement", "speculation-accept", "fork-context-ref",
    "api-request", "api-request-blob", "api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
    "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "continued-in", "data-flow-incomplete",
    "data-flow-records", "derived-from", "dev-mods", "ended-by-model", "frame-link", "history-suppression",
    "hybrid-organization", "isolation-latch", "memory-mode", "observer-ref", "relocated", "repl-mode",
    "resume-head-vouch", "session-owner", "tools-used",
})  # fmt: skip
TITLE_KEYS = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
# The model of messages that Claude Code writes itself.
SYNTHETIC_MODEL = "<synthetic>"

API_ERROR = "API errors"
HOOK = "hooks"
VOICE_CALL = "voice_call_talk"
MISSING_RESULT = "tool results not found"

SYSTEM_REASONS = {"api_error": API_ERROR, "stop_hook_summary": HOOK} | dict.fromkeys(
    (
        "compact_boundary", "microcompact_boundary", "turn_duration", "local_command", "informational", "away_summary",
        "init", "status", "permission_retry", "bridge_status", "scheduled_task_fire", "agents_killed", "memory_saved",
        "cloud_session_status", "file_snapshot", "model_consent_fallback", "model_fallback", "model_refusal_fallback",
        "model_refusal_no_fallback", "rewind_stand_in",
    ),
    BOOKKEEPING,
)  # fmt: skip
INTERRUPTED = "[Request interrupted by user"
_REFUSAL = "To tell you how to proceed, the user said:\n"
_REFUSAL_NOTE = "\n\nNote: The user's next message"
# What older versions wrote, without the plan beside it.
_PLAN = "Implement the following plan:\n\n#"
_TEAMMATE = "<teammate-message"  # of another agent of a team
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>.*?<command-args>(.*?)</command-args>", re.DOTALL)
# Texts in the user's role that the harness wrote.
_WRAPPERS = (
    "<local-command-caveat>", "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>", INTERRUPTED, "Tool loaded.",
)  # fmt: skip
# What older versions queued of a task that went on in the background.
QUEUED_NOTICE = '{"task_id":'
# What Claude Code puts round a compaction's summary: words to the model, others for its hook than in its file.
_THOUGHTS = re.compile(r"\A\s*<analysis>.*?</analysis>", re.DOTALL)
_TAGGED = re.compile(r"<summary>(.*)</summary>", re.DOTALL)
_HEAD = re.compile(
    r"\AThis session is being continued from a previous conversation.*\n+"
    r"(?:<system-reminder>\n<tools-used-before-summary>[\s\S]*?</system-reminder>\n+)?(?:Summary:\n)?"
)
_ORDERS = re.compile(
    r"(?:\n+(?:If you need specific details from before compaction|(?:Please c|C)ontinue the conversation from where"
    r"|Recent messages are preserved|The messages after this summary are the most recent).*)+\s*\Z"
)
SUB_AGENTS = "subagents"
AGENT_PREFIX = "agent-"
_HEAD_RECORDS = 5  # of an older sub-agent's file, one of which names its session
# Claude Code's own helpers: compaction and prompt suggestion.
_INTERNAL = ("agent-acompact-", "agent-aprompt_suggestion-")
_NO_TRANSCRIPTS = frozenset({"journal.jsonl"})
# `memory/` is Claude Code's own, `tool-results/` belongs to a transcript.
_NO_FOLDERS = frozenset({"memory", "tool-results"})

_RESULTS_FOLDER = "tool-results"
# The second is that of an MCP server's result.
_PREVIEW_PREFIXES = ("<persisted-output>", "Error: result (")
_SAVED_TO = re.compile(r"saved to:? [^\n]*tool-results[/\\]([A-Za-z0-9_][A-Za-z0-9_.-]*\.(?:txt|json))\b")
# Bounds on untrusted input: a preview is short, and a session may point to any number of large files.
_MAX_POINTER_CHARS = 8192
_MAX_FILE_BYTES = 1 << 20
_MAX_TOTAL_BYTES = 32 << 20


class ClaudeSessionIds:
    """The ids of a file's session, learned record by record.

    A sub-agent's file is known by its name or by its first chained record. A file of copied records names several
    sessions: its own is the one in the file's name, else the last one.
    """

    def __init__(self, path: Path) -> None:
        self._stem = path.stem
        folder = _find_session_folder(path)
        self._folder_id = folder.name if folder else None
        self._is_sub_agent = True if path.stem.startswith(AGENT_PREFIX) else None
        self._agent_id = path.stem.removeprefix(AGENT_PREFIX) if self._is_sub_agent else ""
        self._seen_ids: dict[str, None] = {}
        self._root_id = ""
        self._fork_id = ""

    def detect_sub_agent(self, record: dict[str, Any]) -> bool:
        """Return whether the file is a sub-agent's; `record` is its next chained record."""
        if self._is_sub_agent is None:
            self._is_sub_agent = bool(record.get("isSidechain"))
        if self._is_sub_agent:
            self._agent_id = self._agent_id or as_string(record.get("agentId"))
        return self._is_sub_agent

    def update(self, record: dict[str, Any]) -> None:
        """Note the ids in a record."""
        session = as_string(record.get("sessionId"))
        if session:
            # Moved to the end: the session of the last record counts.
            self._seen_ids.pop(session, None)
            self._seen_ids[session] = None
        self._root_id = self._root_id or as_string(record.get("session_id"))
        self._fork_id = as_string(as_mapping(record.get("forkedFrom")).get("sessionId")) or self._fork_id

    @property
    def session_id(self) -> str | None:
        """The main session's id, a sub-agent's as `agent-…`; None if no record names it."""
        return (f"{AGENT_PREFIX}{self._agent_id}" if self._agent_id else None) if self._is_sub_agent else self._main_id

    @property
    def parent_session(self) -> str | None:
        """The main session's id in a sub-agent's file, else its folder's name."""
        return (self._main_id or self._folder_id) if self._is_sub_agent else None

    @property
    def forked_from(self) -> str | None:
        """The session that the records were copied from.

        It is in `forkedFrom`, in records that kept their old id, or the root of the lineage. For a fork's fork the root
        is not its parent.
        """
        others = [name for name in (self._fork_id, *self._seen_ids, self._root_id) if name and name != self._main_id]
        return others[0] if others and self._main_id and not self._is_sub_agent else None

    @property
    def _main_id(self) -> str | None:
        return self._stem if self._stem in self._seen_ids else next(reversed(self._seen_ids), None)


def classify_record(record: dict[str, Any]) -> str:
    """Return the record's type, "" if it has none or not Claude Code's shape."""
    kind = as_string(record.get("type"))
    message = record.get("message")
    if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
        return ""
    return kind


def is_prompt(record: dict[str, Any], text: str) -> bool:
    """Return whether a person typed the text. (harnesses.md 1.7, human prompt rule)."""
    kind = as_mapping(record.get("origin")).get("kind")
    return not record.get("isMeta") and kind in (None, "human") and not text.lstrip().startswith(_WRAPPERS)


def build_prompt(record: dict[str, Any], text: str) -> Turn:
    """Return the turn of a prompt. An agent wrote the plan that a person accepted, and what a teammate sends."""
    if as_string(record.get("planContent")) or text.startswith(_PLAN):
        return Turn(SYSTEM, text, name="plan")
    return Turn(SYSTEM, text, name="prompt") if text.lstrip().startswith(_TEAMMATE) else Turn(USER, text)


def unwrap_summary(text: str) -> str:
    r"""Return a compaction's summary without the harness's words to the model: from hook and file the same text.

    >>> unwrap_summary("<analysis>Hm.</analysis>\n<summary>\nThe tide is 42.\n</summary>")
    'The tide is 42.'
    """
    text = _THOUGHTS.sub("", text)
    if tagged := _TAGGED.search(text):
        text = tagged[1]
    text = _ORDERS.sub("", _HEAD.sub("", text.lstrip(), count=1))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def parse_command(text: str) -> str:
    """Return a slash command with the words typed behind it, "" for one without."""
    command = _COMMAND.search(text) if text.lstrip().startswith("<command-") else None
    return f"/{command[1].removeprefix('/')} {command[2].strip()}" if command and command[2].strip() else ""


def parse_refusal(text: str) -> str:
    """Return the reason that a person gave for refusing a tool call, "" without one."""
    reason = text.partition(_REFUSAL)[2] if _REFUSAL in text[:_MAX_POINTER_CHARS] else ""
    return reason.partition(_REFUSAL_NOTE)[0].strip()


def list_answers(record: dict[str, Any]) -> Iterator[Turn]:
    """Yield the person's answers in a record of the agent's questions, each below its question."""
    result = as_mapping(record.get("toolUseResult"))
    notes = as_mapping(result.get("annotations"))
    for question, answer in as_mapping(result.get("answers")).items():
        note = as_string(as_mapping(notes.get(question)).get("notes"))
        if text := "\n".join(filter(str.strip, (as_string(answer), note))):
            yield build_answer_turn(question, text)


def extract_block_text(block: Any) -> str | None:
    """Return a content block as text, a note for an image or document, None for blocks of other kinds."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    source = block.get("source")
    if isinstance(source, dict):
        label = f"{as_string(block.get('type'))} {as_string(source.get('media_type'))}".strip()
        return format_omission(label, measure_base64(source.get("data")))
    return block["text"] if isinstance(block.get("text"), str) else None


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every main transcript and every sub-agent's, without the harness's internal helpers and journals.

    Of a prompt history it yields the sessions without transcripts.
    """
    for item in list_files(root, (".jsonl",)):
        if item.path.name == claude_history.NAME and (item.path != root or claude_history.holds_prompts(root)):
            yield from claude_history.discover(item.path)
            continue
        name, folders = item.path.name, item.path.relative_to(root).parts[:-1]
        is_transcript = not name.startswith(_INTERNAL) and name not in _NO_TRANSCRIPTS
        if item.path == root or (is_transcript and not _NO_FOLDERS.intersection(folders)):
            yield replace(item, parent=_find_parent(item.path)) if name.startswith(AGENT_PREFIX) else item


def _find_parent(path: Path) -> str | None:
    """Return the session of a sub-agent's file: its folder's or, for files of older versions, its records'."""
    if folder := _find_session_folder(path):
        return folder.name
    with suppress(TranscriptError):
        ids = (as_string(record.get("sessionId")) for record in islice(read_records(path, Counter()), _HEAD_RECORDS))
        return next(filter(None, ids), None)
    return None


def _find_session_folder(path: Path) -> Path | None:
    """Return the folder of the main session: it holds a sub-agent's file in `subagents/`."""
    return next((folder.parent for folder in path.parents if folder.name == SUB_AGENTS), None)


class SpilledResults:
    """The tool results of one session in files of their own; the transcript holds a preview of each.

    Reads regular files in the session's own folder only, without following links: at most 1 MiB of each file and 32 MiB
    in total.
    """

    def __init__(self, transcript: Path) -> None:
        # A sub-agent's results lie in the folder of its main session.
        main = _find_session_folder(transcript) if transcript.name.startswith(AGENT_PREFIX) else None
        self._folder = (main or transcript.parent / transcript.stem) / _RESULTS_FOLDER
        self._remaining_bytes = _MAX_TOTAL_BYTES

    def read(self, preview: str) -> str | None:
        """Return the whole text behind `preview`, None if it is not available."""
        name = parse_spilled_name(preview)
        if name is None or self._remaining_bytes <= 0:
            return None
        file = self._folder / name
        # A transcript is untrusted: it must not lead to a file outside of its session.
        if any(part.is_symlink() for part in (self._folder.parent, self._folder, file)):
            return None
        try:
            data, size = _read_head(file)
        except OSError:
            return None
        self._remaining_bytes -= len(data)
        return _decode_head(data, size)


def parse_spilled_name(text: str) -> str | None:
    """Return the name of the file that a tool result points to, None for a result in full."""
    if not text.lstrip().startswith(_PREVIEW_PREFIXES):
        return None
    match = _SAVED_TO.search(text[:_MAX_POINTER_CHARS])
    return match[1] if match else None


def _read_head(path: Path) -> tuple[bytes, int]:
    """Return the first 1 MiB of a regular file, and its size. Raise OSError for anything else."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a file")
        return file.read(_MAX_FILE_BYTES), status.st_size


def _decode_head(data: bytes, size: int) -> str:
    if size <= len(data):
        return data.decode("utf-8", "replace")
    # Cut between words: the sanitizer would not recognize half of a secret.
    head = data[: 1 + max(data.rfind(separator) for separator in (b"\n", b" ", b'"'))] or data
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    return f"{text.rstrip()}\n{format_omission('rest of the output', size - len(head))}"
