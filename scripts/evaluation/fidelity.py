"""Say how much of harnesses' own files lineage keeps: every word of a person, every character of tools' input.

Usage: scripts/fidelity PATH…. Reads each file naively, with nothing of lineage's readers, captures it into a temporary
workspace, and looks for what it found in the transcripts. A person's words count as kept in a turn of the user only.
Fails if anything is missing.
"""

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from lineage import api

ROOT = Path(__file__).parents[2]
MAX_CALL_CHARS = 200_000
_SHOWN_CHARS = 110
_INJECTED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|session_context|hook_context|untrusted_context"
    r"|qwen:user-prompt-submit-context|timestamp|system_notification|attached_files|open_and_recently_viewed_files)>"
    r".*?</\1>|<!-- lineage:context.*?/lineage:context -->|</?user_query>",
    re.DOTALL,
)
_COMMAND = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_REFUSAL = re.compile(r"the user said:\s*\n(.*?)(?:\n\nNote: The user's next message|\Z)", re.DOTALL)
_REQUEST = re.compile(r"^## My request[^\n]*\n", re.MULTILINE)
_REDACTED = re.compile(r"\[REDACTED[^\]]*\]?")
_NO_PERSON = (
    "<command-name>", "<command-message>", "<local-command", "<bash-", "<task-notification>", "<teammate-message",
    "[Request interrupted", "Caveat: The messages below", "<environment_context>", "<user_instructions>",
    "# AGENTS.md instructions", "<turn_aborted>", "<state_snapshot>", "<skill-context", "<INSTRUCTIONS>", "<skill>",
    "Tool loaded.", "Implement the following plan:\n\n#",
    "This session is being continued from a previous conversation",
)  # fmt: skip


@dataclass
class Found:
    """What the naive reading of one file finds: (kind, words) of people, and the arguments of calls."""

    words: list[tuple[str, str]] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def say(self, kind: str, text: Any) -> None:
        text = _INJECTED.sub("", text).strip() if isinstance(text, str) else ""
        if text and not text.startswith(_NO_PERSON):
            self.words.append((kind, text))

    def call(self, name: Any, arguments: Any) -> None:
        if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
            arguments = decode(arguments) or arguments
        self.calls.append((str(name), arguments))


def get_dict(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object at a key, an empty one for anything else."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def decode(text: Any) -> Any:
    """Return the value of a JSON text, None for anything else."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(item)


def join_text(content: Any) -> str:
    """Return the plain texts of a content: a string, or blocks with `text`."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def list_blocks(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a content that are objects."""
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


# What each harness's files hold


def read_claude(records: list[dict[str, Any]], found: Found) -> None:
    """Read a transcript of Claude Code, or a sub-agent's, in which nobody speaks."""
    by_id = {record.get("uuid") or index: record for index, record in reversed(list(enumerate(records)))}
    chained = [record for record in reversed(by_id.values()) if isinstance(record.get("message"), dict)]
    is_sub_agent = bool(chained) and bool(chained[0].get("isSidechain"))
    for record in chained:
        if is_sub_agent or not record.get("isSidechain"):
            for block in list_blocks(record["message"].get("content")):
                if block.get("type") in ("tool_use", "server_tool_use"):
                    found.call(block.get("name"), block.get("input"))
    if not is_sub_agent:
        for record in chained:
            is_hidden = record.get("isMeta") or record.get("isCompactSummary") or record.get("isSidechain")
            if record.get("type") == "user" and not is_hidden:
                read_claude_user(record, found)
        read_claude_queue(records, found)


def read_claude_user(record: dict[str, Any], found: Found) -> None:
    """Read a record in the user's role: results of tools, and words of a person beside them or alone."""
    content, outcome, origin = record["message"].get("content"), record.get("toolUseResult"), record.get("origin")
    results = [block for block in list_blocks(content) if block.get("type") == "tool_result"]
    for result in results:
        for reason in _REFUSAL.findall(join_text(result.get("content"))) if result.get("is_error") else ():
            found.say("refusal", reason)
    for key in ("answers", "annotations") if results and isinstance(outcome, dict) else ():
        for answer in get_dict(outcome or {}, key).values():
            found.say("answer", answer.get("notes") if isinstance(answer, dict) else answer)
    text = join_text([block for block in content if block not in results] if isinstance(content, list) else content)
    for arguments in _COMMAND.findall(text) if "<command-name>" in text else ():
        found.say("command", arguments)
    if not record.get("planContent") and (not isinstance(origin, dict) or origin.get("kind") == "human"):
        found.say("beside a result" if results else "prompt", text)


def read_claude_queue(records: list[dict[str, Any]], found: Found) -> None:
    """Read what was typed while the agent worked, and given to it."""
    waiting, given = list[str](), list[str]()
    for record in records:
        attachment = record.get("attachment")
        match record.get("operation"):
            case "enqueue" if isinstance(record.get("content"), str):
                waiting.append(record["content"])
            case "remove" if waiting:
                given.append(waiting.pop(0))
            case "dequeue" if waiting:
                waiting.pop(0)
            case "popAll":
                waiting.clear()
            case _ if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
                is_typed = attachment.get("commandMode") in (None, "prompt") and not attachment.get("isMeta")
                found.say("queued", join_text(attachment.get("prompt")) if is_typed else "")
    said = {words for _, words in found.words}
    for text in given:
        if text.strip() not in said and not re.fullmatch(r"/\S+", text.strip()):
            found.say("queued", text)


def read_codex(records: list[dict[str, Any]], found: Found) -> None:
    """Read a rollout. Prompts are in events; files without any have the user's items."""
    metas = [each["payload"] for each in records if each.get("type") == "session_meta"]
    is_sub_agent = bool(metas) and ("subagent" in str(metas[0].get("source")) or bool(metas[0].get("parent_thread_id")))
    first = metas[0].get("subagent_history_start_ordinal", 0) if metas else 0
    records = [each for each in records if not isinstance(each.get("ordinal"), int) or each["ordinal"] >= first]
    payloads = [get_dict(each, "payload") or each for each in records]
    payloads = [dict(each, _outer=record.get("type")) for each, record in zip(payloads, records, strict=True)]
    typed = [each for each in payloads if each.get("type") == "user_message" and each.get("kind") in (None, "plain")]
    items = [each["item"] for each in payloads if each.get("type") == "item_completed"]
    asked = set()
    for payload in payloads:
        kind = payload.get("type")
        if kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"):
            given = (payload.get(key) for key in ("arguments", "input", "action"))
            found.call(payload.get("name") or kind, next(filter(None, given), None))
            if payload.get("name") == "request_user_input":
                asked.add(payload.get("call_id"))
        elif kind == "function_call_output" and payload.get("call_id") in asked:
            for answer in walk(decode(payload.get("output"))):
                for text in answer.get("answers") or () if isinstance(answer.get("answers"), list) else ():
                    found.say("answer", re.sub(r"^user_note: ", "", str(text)))
    for text in (
        [each.get("message") for each in typed]
        or [join_text(item.get("content")) for item in items if item.get("type") == "UserMessage"]
        or [join_text(each.get("content")) for each in payloads if each.get("role") == "user"]
    ):
        found.say("prompt", _REQUEST.split(str(text))[-1] if not is_sub_agent else "")


def read_gemini(records: list[dict[str, Any]], found: Found) -> None:
    """Read a log or a document of Gemini CLI: the last version of every message."""
    messages, calls = dict[str, Any](), dict[str, Any]()
    is_sub_agent = any(record.get("kind") == "subagent" for record in records)
    for each in walk(records):
        if isinstance(each.get("id"), str) and each.get("type") in ("user", "gemini"):
            messages[each["id"]] = each
            for call in each.get("toolCalls") or ():
                calls[call["id"]] = call
    for call in calls.values():
        found.call(call.get("name"), call.get("args"))
        result = json.dumps(call.get("result"))
        for reason in re.findall(r"User feedback: (.*?)(?:\\n\\nThe plan is stored|\")", result):
            found.say("refusal", decode(f'"{reason}"'))
        for answers in re.findall(r'{\\"answers\\":.*?}}', result) if call.get("name") == "ask_user" else ():
            for answer in (decode(decode(f'"{answers}"')) or {}).get("answers", {}).values():
                found.say("answer", answer)
    for message in messages.values():
        parts = message.get("content") if isinstance(message.get("content"), list) else [message.get("content")]
        is_result = any(isinstance(part, dict) and "functionResponse" in part for part in parts)
        if message["type"] == "user" and not is_result and not is_sub_agent:
            found.say("prompt", join_text(message.get("displayContent")) or join_text(parts))


def read_qwen(records: list[dict[str, Any]], found: Found) -> None:
    """Read a transcript of Qwen Code."""
    for record in records:
        message = record.get("message")
        for part in message.get("parts") or () if isinstance(message, dict) else ():
            if isinstance(part, dict) and isinstance(part.get("functionCall"), dict):
                found.call(part["functionCall"].get("name"), part["functionCall"].get("args"))
            listed = re.search(r"provided the following answers:\\n\\n(.*?)\"[,}]", json.dumps(part))
            for answer in re.split(r"(?:^|\n)\*\*.*?\*\*: ", decode(f'"{listed[1]}"'))[1:] if listed else ():
                found.say("answer", answer)
        if record.get("type") == "user" and record.get("provenance") in (None, "real_user"):
            typed = get_dict(record, "systemPayload").get("displayText")
            found.say("prompt", typed or join_text(get_dict(record, "message").get("parts")))


def read_blocks(records: list[dict[str, Any]], found: Found) -> None:
    """Read messages with content blocks, as Cursor, pi and goose keep them."""
    for record in records:
        message = get_dict(record, "message") or record
        role, content = message.get("role") or record.get("role"), message.get("content")
        metadata = record.get("metadata")
        is_hidden = isinstance(metadata, dict) and metadata.get("userVisible") is False
        blocks = content if isinstance(content, list) else [content]
        for block in (each for each in blocks if isinstance(each, dict)):
            call = block.get("toolCall")
            if block.get("type") in ("tool_use", "toolCall"):
                found.call(block.get("name"), block.get("input") or block.get("arguments"))
            elif isinstance(call, dict) and isinstance(call.get("value"), dict) and not is_hidden:
                found.call(call["value"].get("name"), call["value"].get("arguments"))
            data = block.get("data")
            if isinstance(data, dict) and data.get("actionType") == "elicitationResponse":
                for answer in data["user_data"].values():
                    found.say("answer", answer)
        if role == "user" and not is_hidden:
            found.say("prompt", join_text(content))
        elif role == "toolResult" and message.get("toolName") in ("question", "ask_user"):
            found.say("answer", re.sub(r"^User (?:selected|wrote): (?:\d+\. )?", "", join_text(content)))
        elif role == "bashExecution" and not message.get("excludeFromContext"):
            found.call("bash", message.get("command"))


def read_copilot(records: list[dict[str, Any]], found: Found) -> None:
    """Read an event log of Copilot CLI."""
    asked, known = set(), set()
    for record in records:
        data = get_dict(record, "data")
        if record.get("agentId") or data.get("parentToolCallId"):
            continue
        calls = [data] if record.get("type") == "tool.execution_start" else data.get("toolRequests") or []
        for call in calls:
            name = call.get("name") or call.get("toolName")
            if call.get("toolCallId") not in known:
                found.call(name, call.get("arguments"))
            known.add(call.get("toolCallId"))
            if name == "ask_user":
                asked.add(call.get("toolCallId"))
        if record.get("type") == "user.message" and data.get("source") in (None, "user"):
            found.say("prompt", data.get("content"))
        elif record.get("type") in ("permission.completed", "exit_plan_mode.completed"):
            found.say("refusal", data.get("feedback") or (data.get("result") or {}).get("feedback"))
        elif record.get("type") == "tool.execution_complete" and data.get("toolCallId") in asked:
            answer = re.sub(r"^User (?:selected|responded): ", "", (data.get("result") or {}).get("content") or "")
            found.say("answer", answer)


def read_opencode(messages: list[dict[str, Any]], found: Found) -> None:
    """Read messages of OpenCode, each with its parts."""
    for message in messages:
        role = message.get("role") or message.get("type")
        if role == "user" and isinstance(message.get("text"), str):
            found.say("prompt", message["text"])
        for part in message.get("parts") or message.get("content") or ():
            state = part.get("state") if isinstance(part.get("state"), dict) else {}
            if part.get("type") == "tool":
                found.call(part.get("tool") or part.get("name"), state.get("input"))
                for reason in re.findall(r"with the following feedback: ([^\0]*)", str(state.get("error"))):
                    found.say("refusal", reason)
                for answers in (state.get("metadata") or {}).get("answers") or ():
                    for answer in answers:
                        found.say("answer", answer)
            elif part.get("type") == "text" and role == "user" and not (part.get("synthetic") or part.get("ignored")):
                found.say("prompt", re.sub(r'\A"([^"]* [^"]*)"\Z', r"\1", str(part.get("text"))))


def read_antigravity(records: list[dict[str, Any]], found: Found) -> None:
    """Read a log of Antigravity; the cut one has each argument as a JSON text."""
    for record in records:
        if record.get("source") == "USER_EXPLICIT":
            found.say("prompt", re.sub(r"(?s)\A<USER_REQUEST>|</USER_REQUEST>.*", "", record["content"]))
        for call in record.get("tool_calls") or ():
            values = {key: decode(value) or value for key, value in (call.get("args") or {}).items()}
            found.call(call.get("name"), values)


def read_aider(text: str, found: Found) -> None:
    """Read a history of aider: the lines of prompts, but not of a last one: it may still grow."""
    for prompt in re.findall(r"((?:^#### .*\n)+)(?=\s*\S)", text, re.MULTILINE):
        found.say("prompt", re.sub(r"^#### ?|  $", "", prompt, flags=re.MULTILINE))


def read_database(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the harness of a database and its messages."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "session_message" in tables:
            rows = database.execute("SELECT type, data FROM session_message ORDER BY seq").fetchall()
            return "opencode", [{**json.loads(data), "type": kind} for kind, data in rows]
        if "part" in tables:
            parts = database.execute("SELECT message_id, data FROM part ORDER BY id").fetchall()
            rows = database.execute("SELECT id, data FROM message ORDER BY time_created").fetchall()
            own = {key: [json.loads(data) for message, data in parts if message == key] for key, _ in rows}
            return "opencode", [{**json.loads(data), "parts": own[key]} for key, data in rows]
        if "transcript_events" in tables:
            unpack = zstandard.ZstdDecompressor().decompressobj
            query = "SELECT event_json, event_zstd FROM transcript_events ORDER BY session_id, seq"
            return "openclaw", [json.loads(text or unpack().decompress(data)) for text, data in database.execute(query)]
        rows = database.execute("SELECT role, content_json FROM messages ORDER BY id").fetchall()
        return "goose", [{"role": role, "content": json.loads(content)} for role, content in rows]


READERS: dict[str, Callable[[list[dict[str, Any]], Found], None]] = {
    "claude-code": read_claude, "codex": read_codex, "gemini": read_gemini, "qwen": read_qwen, "cursor": read_blocks,
    "pi": read_blocks, "goose": read_blocks, "copilot": read_copilot, "opencode": read_opencode,
    "antigravity": read_antigravity, "openclaw": read_blocks,
}  # fmt: skip


MARKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "antigravity": lambda record: "step_index" in record,
    "codex": lambda record: record.keys() & {"payload", "record_type", "git"},
    "gemini": lambda record: "projectHash" in record,
    "qwen": lambda record: isinstance(record.get("message"), dict) and "parts" in record["message"],
    "pi": lambda record: record.get("type") == "session" and "cwd" in record,
    "copilot": lambda record: isinstance(record.get("data"), dict) and "." in str(record.get("type")),
    "cursor": lambda record: isinstance(record.get("message"), dict) and "role" in record and "type" not in record,
    "claude-code": lambda record: record.keys() & {"sessionId", "leafUuid"},
    "goose": lambda record: "conversation" in record,
    "opencode": lambda record: "info" in record and "messages" in record,
}
"""By harness, in this order: what only its records have."""


def choose_harness(records: list[dict[str, Any]]) -> str:
    """Return the harness that writes such records, "" for none that is known."""
    return next((name for record in records for name, is_of in MARKS.items() if is_of(record)), "")


def read_naively(path: Path) -> tuple[str, Found]:
    """Return the harness of a file and what it holds."""
    found = Found()
    if path.suffix in (".db", ".sqlite"):
        harness, records = read_database(path)
    else:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data.decode("utf-8", "replace")
        if path.name.endswith(".md"):
            read_aider(text, found)
            return "aider", found
        whole = decode(text)
        lines = [decode(line.strip("\x00\ufeff \r")) for line in text.split("\n")]
        records = [each for each in ([whole] if whole else lines) if isinstance(each, dict)]
        harness = choose_harness(records)
        if harness == "goose":
            records = whole["conversation"]
        elif harness == "opencode":
            records = [{**each["info"], "parts": each["parts"]} for each in whole["messages"]]
    if not harness:
        print(f"{path}: no reader here knows its records: see READERS and MARKS", file=sys.stderr)
    else:
        READERS[harness](records, found)
    if "subagents" in path.parts:
        found.words.clear()  # nobody speaks to a sub-agent but the agent that started it
    return harness, found


# What lineage keeps


def capture(harness: str, path: Path, folder: Path) -> list[Any]:
    """Return the turns of all transcripts that lineage makes of a file."""
    if path.suffix == ".gz":
        source = folder / path.name.removesuffix(".gz")
        source.write_bytes(gzip.decompress(path.read_bytes()))
        path = source
    workspace = folder / "workspace"
    (workspace / ".lineage").mkdir(parents=True)  # what makes a folder a workspace
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", "lineage", "import", harness, str(path), "-w", str(workspace), "--jobs", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not (workspace / "memory").is_dir():
        print(f"{path}: {done.stdout}{done.stderr}", file=sys.stderr)
        return []
    names = [name for name in api.list_documents(workspace) if name.endswith("--transcript.md")]
    documents = (api.read_document(workspace, name) for name in names)
    return [turn for document in documents if isinstance(document, api.Artifact) for turn in api.read_turns(document)]


def list_strings(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the strings of a value: ("leaf", text), and ("key", name) of members with another value."""
    if isinstance(value, str):
        yield "leaf", value
    elif isinstance(value, dict):
        for key, item in value.items():
            texts = item if isinstance(item, list) else [item]
            if not texts or not all(isinstance(text, str) for text in texts):
                yield "key", key  # that of a text is told by the form of the transcript
            yield from list_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_strings(item)


def list_kept_texts(turn: Any) -> list[str]:
    """Return the texts in which the input of a call stands."""
    texts = [turn.name, turn.input, turn.text]
    for part in turn.parts:
        texts += [part.label, part.text, part.old or ""]
        texts += [text for _, text in list_strings(decode(part.text))] if part.language == "json" else []
    return texts


def fold(text: str) -> str:
    """Return a text as both sides are compared: without the ends of lines."""
    text = text.encode("utf-8", "replace").decode().replace("\ufffd", "?")
    return re.sub(r"[ \t\r]*\n", "\n", text).strip()


def count_missing(strings: list[tuple[str, str]], kept: list[str]) -> tuple[int, list[str], int]:
    """Return how many characters of a call stand nowhere in the kept texts, these strings, and the redacted ones."""
    whole = "\n".join(map(fold, kept))
    missing, lost, redacted = 0, list[str](), 0
    for _, text in strings:
        words = fold(text)
        if words in whole:
            continue
        if any(is_redaction(words, each) for each in kept):
            redacted += len(text)
        else:
            missing += len(text)
            lost.append(text)
    return missing, lost, redacted


def is_redaction(text: str, kept: str) -> bool:
    """Return whether a kept text is this one but for redacted secrets."""
    if "[REDACTED" not in kept:
        return False
    pattern = ".*?".join(re.escape(fold(piece)) for piece in _REDACTED.split(kept))
    return re.fullmatch(rf"\s*{pattern}\s*", text, re.DOTALL) is not None


@dataclass
class Tally:
    """Counts by kind, and what is missing: (file, kind, text)."""

    words: Counter[str] = field(default_factory=Counter)
    kept_words: Counter[str] = field(default_factory=Counter)
    chars: Counter[str] = field(default_factory=Counter)
    missing_chars: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    missing: list[tuple[str, str, str]] = field(default_factory=list)
    extra: list[tuple[str, str, str]] = field(default_factory=list)

    def compare(self, label: str, harness: str, found: Found, turns: list[Any]) -> None:
        """Look for everything that a file holds in the turns of its transcripts."""
        said = [fold(turn.text) for turn in turns if turn.role == "user"]
        unused = Counter(said)
        for kind, text in sorted(found.words, key=lambda item: -len(item[1])):
            words = fold(text)
            match = next((each for each in unused if each == words or words in each or is_redaction(words, each)), None)
            self.words[f"{harness}: {kind}"] += 1
            if match is None:
                self.missing.append((label, kind, text))
                continue
            self.kept_words[f"{harness}: {kind}"] += 1
            unused[match] -= 1
            if not unused[match] and match == words:
                del unused[match]
        known = "\n".join(fold(text) for _, text in found.words)
        self.extra += [(label, "turn of nobody", text) for text in said if text not in known and unused[text] > 0]
        self._compare_calls(label, harness, found, [turn for turn in turns if turn.role != "user" and turn.name])

    def _compare_calls(self, label: str, harness: str, found: Found, turns: list[Any]) -> None:
        kept = [list_kept_texts(turn) for turn in turns if turn.input or turn.parts]
        for name, arguments in found.calls:
            strings = list(list_strings(arguments))
            size = sum(len(text) for _, text in strings)
            self.chars[harness] += min(size, MAX_CALL_CHARS)
            best, best_at = (size, [text for _, text in strings], 0), None
            for at, texts in enumerate(kept):
                if (result := count_missing(strings, texts))[0] < best[0] or best_at is None:
                    best, best_at = result, at
                if not best[0]:
                    break
            missing = max(0, best[0] - max(0, size - MAX_CALL_CHARS))
            self.missing_chars[harness] += missing
            self.redacted[harness] += best[2]
            if missing:
                self.missing += [(label, f"input of {name}", text) for text in best[1]]
            elif best_at is not None and size:
                del kept[best_at]


def main() -> int:
    """Print the shares by harness and kind, then what is missing."""
    roots = [Path(name) for name in sys.argv[1:]]
    if not roots:
        sys.exit(__doc__)
    endings = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".db", "openclaw-agent.sqlite", ".aider.chat.history.md")
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*")))]
    files = [file for file in files if file.is_file() and file.name.endswith(endings)]
    tally = Tally()

    def read_one(path: Path) -> tuple[Path, str, Found, list[Any]]:
        harness, found = read_naively(path)
        if not found.words and not found.calls:
            return path, "", found, []
        # Outside of temporary folders, whose sessions lineage hides.
        with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
            return path, harness, found, capture(harness, path, Path(folder))

    with ThreadPoolExecutor(2) as pool:
        for path, harness, found, turns in pool.map(read_one, files):
            if harness:
                tally.compare(str(path), harness, found, turns)
    print_tally(tally)
    if not (tally.words or tally.chars):
        print(
            f"nothing to compare in {len(files)} files: {Path(__file__).name} knows {', '.join(READERS)}",
            file=sys.stderr,
        )
        return 1
    return 1 if tally.missing else 0


def print_tally(tally: Tally) -> None:
    """Print the figures, then what is missing by file and kind, and user turns that the count doesn't know."""
    for kind, count in sorted(tally.words.items()):
        print(f"{kind:32} {tally.kept_words[kind]:7,} of {count:7,} utterances  {tally.kept_words[kind] / count:7.1%}")
    for harness, count in sorted(tally.chars.items()):
        kept = count - tally.missing_chars[harness]
        print(f"{harness + ': tool input':32} {kept:7,} of {count:7,} characters  {kept / max(1, count):7.2%}", end="")
        print(f"  ({tally.redacted[harness]:,} in texts with a redaction)" if tally.redacted[harness] else "")
    for title, rows in (("missing", tally.missing), ("turns of the user beyond the count", tally.extra)):
        if rows:
            print(f"\n{title}:")
        for label, kind, text in rows:
            print(f"  {label}\n    {kind}: {len(text):,} characters: {text[:_SHOWN_CHARS]!r}")


if __name__ == "__main__":
    sys.exit(main())
