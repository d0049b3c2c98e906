"""A model that follows a script in the prompt, spoken to by four protocols over loopback HTTP.

It keeps nothing between requests: what it answers follows from the last text that a person typed, or, where lineage
asks about a session's record, from the file `record-script` beside the requests. `RUN(command)` asks for the harness's
own shell, `CALL(tool key=value)` or `CALL(tool {json})` for a tool of lineage by the end of its name, once it is there,
and `FORCE(tool {json})` for a tool whether or not there is such a one.
`SAY(text)` is answered with that text, `SHOUT(text)` with it in capitals, also after a tool's result; `FILL(n)` puts n
words before it, and `HANG()` is never answered. Every request is appended to a file as a line of JSON before it is
answered. It imports the standard library alone: it runs in the network namespace of the harness, by whichever Python is
there.
"""

import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LINEAGE_BLOCK = re.compile(r"(?:<|&lt;)lineage-context(?:>|&gt;).*?(?:<|&lt;)/lineage-context(?:>|&gt;)", re.DOTALL)
OPENCLAW_BLOCK = re.compile(r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", re.DOTALL)
RECORD = re.compile(r"<record-[0-9a-f]{12}>")  # how lineage opens what it asks about
SHELLS = ("Bash", "bash", "shell", "exec", "exec_command", "shell_command", "run_shell_command", "local_shell")
PAUSE, MAX_PAUSES = "timeout 1 tail -f /dev/null; echo waited", 30
# What a program adds behind a prompt: words of its own, and what hooks told it.
ADDED = re.compile(r"<(system[-_]reminder|qwen:user-prompt-submit-context)>.*?</\1>", re.DOTALL)
SUMMARY = re.compile(r"summar|compact|compress|handoff|state_snapshot|checkpoint", re.IGNORECASE)


@dataclass(frozen=True)
class Message:
    """One part of a conversation: what a user or the model said, a tool call, or a tool's result."""

    kind: str  # user, agent, call, result, system
    text: str


@dataclass(frozen=True)
class Answer:
    """What the model says, and the call it then makes."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] | None = None
    hangs: bool = False


@dataclass(frozen=True)
class Asked:
    """A request of any protocol, in one shape."""

    messages: list[Message]
    tools: dict[str, dict[str, Any]]  # name → JSON schema of the arguments


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a message's content: a string, or parts of any protocol."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for key in ("text", "output", "content"):
            yield from _texts(content.get(key))
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)


def _join(content: Any) -> str:
    return "\n".join(_texts(content))


def read_anthropic(body: dict[str, Any]) -> Asked:
    messages = [Message("system", _join(body.get("system")))]
    for message in body.get("messages", []):
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = {"tool_use": "call", "tool_result": "result"}.get(part["type"])
            spoken = "user" if message["role"] == "user" else "agent"
            messages.append(Message(kind or spoken, json.dumps(part) if kind == "call" else _join(part)))
    return Asked(messages, {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or []})


def read_responses(body: dict[str, Any]) -> Asked:
    messages = [Message("system", _join(body.get("instructions")))]
    given = body.get("input", [])
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind.endswith("_call"):
            messages.append(Message("call", json.dumps(item)))
        elif kind.endswith("_output"):
            messages.append(Message("result", _join(item.get("output"))))
        elif kind == "message":
            role = {"user": "user", "assistant": "agent"}.get(item.get("role", ""), "system")
            messages.append(Message(role, _join(item.get("content"))))
    tools = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            tools.update({f"{tool['name']}.{inner['name']}": inner.get("parameters", {}) for inner in tool["tools"]})
        elif "name" in tool:
            tools[tool["name"]] = tool.get("parameters", {})
    return Asked(messages, tools)


def read_chat(body: dict[str, Any]) -> Asked:
    kinds = {"user": "user", "assistant": "agent", "tool": "result"}
    messages = []
    for message in body.get("messages", []):
        messages.append(Message(kinds.get(message["role"], "system"), _join(message.get("content"))))
        messages += [Message("call", json.dumps(call)) for call in message.get("tool_calls") or []]
    tools = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    return Asked(messages, {tool["name"]: tool.get("parameters", {}) for tool in tools})


def read_gemini(body: dict[str, Any]) -> Asked:
    messages = [Message("system", _join((body.get("systemInstruction") or {}).get("parts")))]
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if "functionCall" in part:
                messages.append(Message("call", json.dumps(part["functionCall"])))
            elif "functionResponse" in part:
                messages.append(Message("result", json.dumps(part["functionResponse"])))
            else:
                messages.append(Message("agent" if content.get("role") == "model" else "user", _join(part)))
    tools = [tool for group in body.get("tools") or [] for tool in group.get("functionDeclarations", [])]
    return Asked(messages, {tool["name"]: tool.get("parametersJsonSchema") or {} for tool in tools})


def _fill_shell(schema: dict[str, Any], command: str) -> dict[str, Any]:
    """Return the arguments with which a shell tool of this schema runs `command`."""
    properties = schema.get("properties", {})
    name = next((key for key in ("command", "cmd") if key in properties), "command")
    listed = properties.get(name, {}).get("type") == "array"
    arguments: dict[str, Any] = {name: ["sh", "-c", command] if listed else command}
    for key in schema.get("required", []):
        kind = properties.get(key, {}).get("type")
        arguments.setdefault(key, {"boolean": False, "number": 0, "integer": 0}.get(kind, "test"))
    return arguments


def answer(asked: Asked, record_script: str = "") -> Answer:
    """Return what the script in the last words of a person asks for, `record_script` for words that hold a record.

    >>> answer(Asked([Message("user", "SAY(All is well.)")], {})).text
    'All is well.'
    >>> answer(Asked([Message("user", "RUN(ls) SAY(Done.)")], {"Bash": {}})).arguments
    {'command': 'ls'}
    >>> answer(Asked([Message("user", "SAY(Compacted.) <system_reminder>Be brief.</system_reminder>")], {})).text
    'Compacted.'
    """
    spoken = [
        (n, ADDED.sub("", OPENCLAW_BLOCK.sub("", LINEAGE_BLOCK.sub("", message.text))))
        for n, message in enumerate(asked.messages)
        if message.kind == "user"
    ]
    spoken = [(n, record_script if RECORD.search(text) else text) for n, text in spoken]
    if spoken and SUMMARY.search(spoken[-1][1]) and not re.search(r"\b(SAY|SHOUT|HANG)\([^)]*\)\W*$", spoken[-1][1]):
        tag = "state_snapshot" if "<state_snapshot>" in spoken[-1][1] else "summary"
        return Answer(f"<{tag}>\nThe summary of the scripted model.\n</{tag}>")
    scripted = [(n, text) for n, text in spoken if re.search(r"\b(?:RUN|CALL|FORCE|SAY|SHOUT|HANG)\(", text)]
    if not scripted:
        return Answer("Nothing was asked.")
    place, text = scripted[-1]
    if "HANG()" in text:
        return Answer(hangs=True)
    said = [words.upper() if how == "SHOUT" else words for how, words in re.findall(r"\b(SAY|SHOUT)\(([^)]*)\)", text)]
    # no word twice: some harnesses stop a model that repeats itself
    filling = "".join(f"word{n} " for count in re.findall(r"\bFILL\((\d+)\)", text) for n in range(int(count)))
    return _answer_with_call(asked, place, text) or Answer(filling + (said[-1] if said else "Done."))


def _answer_with_call(asked: Asked, place: int, text: str) -> Answer | None:
    """Return the next call that the text at a place asks for, None when all were made."""
    behind = asked.messages[place:]
    pauses = sum(message.kind == "call" and PAUSE in message.text for message in behind)
    done = sum(message.kind == "result" for message in behind) - pauses
    calls = re.findall(r"\b(RUN|CALL|FORCE)\(([^)]*)\)", text)
    if done >= len(calls):
        return None
    word, what = calls[done]
    if word != "RUN":
        what = what.replace('\\"', '"')  # OpenCode escapes the quotes of an argument
    if word == "FORCE":
        name, _, arguments = what.partition(" ")
        return Answer("", name, json.loads(arguments))
    if not asked.tools:
        return None
    shell = next((name for name in SHELLS if name in asked.tools), "")
    if word == "CALL":
        name, _, argument = what.partition(" ")
        key, _, value = argument.partition("=")
        if found := next((tool for tool in sorted(asked.tools) if "lineage" in tool and tool.endswith(name)), ""):
            return Answer("", found, json.loads(argument) if argument[:1] == "{" else {key: value} if key else {})
        if pauses >= MAX_PAUSES:
            return Answer(f"There is no tool {name}.")
        what = f"{PAUSE} {pauses}"  # some harnesses ask before they know a server's tools; no pause is like the other
    return Answer("", shell, _fill_shell(asked.tools[shell], what)) if shell else Answer("There is no shell.")


def _sse(events: Iterable[Any], named: bool = False) -> bytes:
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
    return "".join(lines).encode()


def write_anthropic(said: Answer, body: dict[str, Any]) -> bytes:
    block: dict[str, Any] = {"type": "text", "text": said.text}
    if said.tool:
        block = {"type": "tool_use", "id": f"toolu_{_count(body)}", "name": said.tool, "input": said.arguments}
    usage = {"input_tokens": _estimate(body), "output_tokens": _estimate(said.text)}
    reason = "tool_use" if said.tool else "end_turn"
    whole = {
        "id": f"msg_{_count(body)}", "type": "message", "role": "assistant", "model": body.get("model", "scripted"),
        "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        return json.dumps(whole).encode()
    if said.tool:
        opening = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
    else:
        opening, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said.text}
    return _sse(
        [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": opening},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ],
        named=True,
    )


def write_responses(said: Answer, body: dict[str, Any]) -> bytes:
    number = _count(body)
    item: dict[str, Any] = {
        "id": f"item_{number}", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": said.text, "annotations": []}],
    }  # fmt: skip
    if said.tool:
        namespace, _, name = said.tool.rpartition(".")
        item = {
            "id": f"item_{number}", "type": "function_call", "call_id": f"call_{number}", "name": name,
            "arguments": json.dumps(said.arguments), "status": "completed",
        }  # fmt: skip
        if namespace:
            item["namespace"] = namespace
    asked, spoken = _estimate(body), _estimate(said.text)
    usage = {
        "input_tokens": asked, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": spoken,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": asked + spoken,
    }  # fmt: skip
    whole = {
        "id": f"resp_{number}", "object": "response", "model": body.get("model", "scripted"), "created_at": 0,
        "status": "completed", "output": [item], "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        return json.dumps(whole).encode()
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
    ]
    if not said.tool:
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_text.delta", **place, "delta": said.text})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return _sse([{**event, "sequence_number": n} for n, event in enumerate(events)], named=True)


def write_chat(said: Answer, body: dict[str, Any]) -> bytes:
    number = _count(body)
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.tool:
        function = {"name": said.tool, "arguments": json.dumps(said.arguments)}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
    reason = "tool_calls" if said.tool else "stop"
    head = {"id": f"chat_{number}", "created": 0, "model": body.get("model", "scripted")}
    asked, spoken = _estimate(body), _estimate(said.text)
    usage = {"prompt_tokens": asked, "completion_tokens": spoken, "total_tokens": asked + spoken}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    head["object"] = "chat.completion.chunk"
    return _sse(
        [
            {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**head, "choices": [], "usage": usage},
            "[DONE]",
        ]
    )


def write_gemini(said: Answer, body: dict[str, Any]) -> bytes:
    part: dict[str, Any] = {"text": said.text}
    if said.tool:
        part = {"functionCall": {"name": said.tool, "args": said.arguments}}
    asked, spoken = _estimate(body), _estimate(said.text)
    whole = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": asked, "candidatesTokenCount": spoken, "totalTokenCount": asked + spoken},
    }
    return _sse([whole]) if body.get("stream") else json.dumps(whole).encode()


def _estimate(content: Any) -> int:
    """Return about how many tokens this is: some harnesses compact only where that makes the conversation shorter."""
    return len(json.dumps(content)) // 4


def _count(body: dict[str, Any]) -> int:
    """Return a number for ids that differ within a conversation: how much of it there is."""
    return len(body.get("messages") or body.get("input") or body.get("contents") or [])


PROTOCOLS = (
    (re.compile(r"/messages$"), read_anthropic, write_anthropic),
    (re.compile(r"/responses$"), read_responses, write_responses),
    (re.compile(r"/chat/completions$"), read_chat, write_chat),
    (re.compile(r":(?:stream)?[gG]enerateContent$"), read_gemini, write_gemini),
)


def read_request(path: str, body: dict[str, Any]) -> Asked | None:
    """Return what a request asks, in the one shape; None for one of no protocol that is spoken here."""
    readers = (read for pattern, read, _ in PROTOCOLS if pattern.search(path.partition("?")[0]))
    return next((read(body) for read in readers), None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: Path
    lock = threading.Lock()

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._note({})
        model = {
            "id": "scripted",
            "object": "model",
            "name": "models/scripted",
            "type": "model",
            "display_name": "scripted",
        }
        self._send(json.dumps({"object": "list", "data": [model], "models": [model]}).encode(), "application/json")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"unread": len(raw)}
        self._note(body)
        path = self.path.partition("?")[0]
        for pattern, read, write in PROTOCOLS:
            if pattern.search(path):
                body["stream"] = body.get("stream") or "streamGenerate" in path
                script = self.requests.with_name("record-script")
                said = answer(read(body), script.read_text(encoding="utf-8") if script.exists() else "")
                if said.hangs:
                    self.rfile.read(1)  # until whoever asked goes away
                    self.close_connection = True
                    return
                self._send(write(said, body), "text/event-stream" if body["stream"] else "application/json")
                return
        counted = path.endswith(("count_tokens", ":countTokens"))
        self._send(b'{"input_tokens": 9, "totalTokens": 9}' if counted else b"{}", "application/json")

    def _note(self, body: Any) -> None:
        with self.lock, self.requests.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"path": self.path, "body": body}) + "\n")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet: the requests stand in their file."""


def serve(port: int, requests: Path) -> ThreadingHTTPServer:
    """Return a server on loopback, begun in a thread of its own."""
    handler = type("Handler", (_Handler,), {"requests": requests})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main(port: int, requests: Path) -> None:
    """Serve until stdin ends; a line there stops a server that runs, and starts one that doesn't."""
    running: ThreadingHTTPServer | None = serve(port, requests)
    assert running
    port = running.server_address[1]
    print(port, flush=True)
    for _ in sys.stdin:
        if running:
            running.shutdown()
            running.server_close()
            running = None
        else:
            running = serve(port, requests)
        print("stopped" if running is None else "serving", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
