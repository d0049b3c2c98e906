"""The provider `harness`: a harness's own program answers one prompt (lessons: 14, 40).

Its switches leave it no tools, hooks, MCP servers, instructions of the user's or stored session. A call that the model
makes all the same is refused by the program. The user's login stays.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, cast

from lineage.core.base.naming import MODEL_FOLDER
from lineage.extraction.model.command import CANNOT_RUN, CommandProvider
from lineage.extraction.model.port import UNREADABLE, ModelAnswer, ModelError, check_answer

REFUSED = "refused by the program"

_INSTRUCTIONS = "You answer one prompt, in text. You have no tools.\n"
_CODEX_FEATURES = ("apps", "goals", "hooks", "multi_agent", "plugins", "shell_tool", "unified_exec", "view_image")
_GEMINI_DENIES = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
_GEMINI_FILES = (".env", "gemini-credentials.json", "google_accounts.json", "oauth_creds.json", "settings.json")
WORK_FOLDER = "work"

Variables = Mapping[str, str]
Printed = tuple[object, object]
"""The text and the count of tokens in a program's output, as it printed them."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """The words that start a program, and what is added to its environment."""

    arguments: tuple[str, ...]
    variables: Variables


@dataclass(frozen=True, slots=True)
class HarnessProvider:
    """The program of the harness `name`, with the bounds of `CommandProvider`; `model` is its default if empty."""

    name: str
    model: str
    environment: Variables
    seconds: float
    max_bytes: int
    kind: ClassVar[str] = "harness"

    def answer(self, prompt: str) -> ModelAnswer:
        """Ask the program, see `ModelProvider.answer`."""
        build, read = HARNESS_PROGRAMS[self.name]
        with TemporaryDirectory(prefix=MODEL_FOLDER, ignore_cleanup_errors=True) as name:
            folder, work = Path(name), Path(name, WORK_FOLDER)
            work.mkdir()
            try:
                call = build(folder, self.environment)
            except OSError as error:
                raise ModelError(CANNOT_RUN) from error
            arguments = (*call.arguments, f"--model={self.model}") if self.model else call.arguments
            environment = {**self.environment, **call.variables}
            output = CommandProvider(arguments, environment, self.seconds, self.max_bytes).run_in(work, prompt)
        try:
            return check_answer(*read(output))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ModelError(UNREADABLE) from error


def _build_claude(folder: Path, _: Variables) -> Invocation:
    switches = ("--strict-mcp-config", "--no-session-persistence", "--disable-slash-commands")
    settings = ("--settings", '{"disableAllHooks": true}', "--system-prompt", _INSTRUCTIONS)
    return Invocation(("claude", "-p", "--output-format", "json", "--tools", "", *switches, *settings), {})


def _read_claude(output: str) -> Printed:
    result = _read_object(output)
    if result["is_error"]:
        raise ModelError(REFUSED)
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return result["result"], _count(lambda: sum(result["usage"].get(name) or 0 for name in counts))


def _build_codex(folder: Path, environment: Variables) -> Invocation:
    instructions = folder / "instructions.md"
    instructions.write_text(_INSTRUCTIONS, encoding="utf-8")
    settings = [f"features.{name}=false" for name in _CODEX_FEATURES]
    settings += [f"mcp_servers.{name}.enabled=false" for name in _list_codex_servers(environment)]
    settings += [f"model_instructions_file={json.dumps(str(instructions))}", 'web_search="disabled"']
    settings += ["skills.include_instructions=false", "project_doc_max_bytes=0"]
    switches = ("--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only", "--json")
    words = ("codex", "exec", *switches, *(word for setting in settings for word in ("-c", setting)))
    return Invocation(words, {})


def _list_codex_servers(environment: Variables) -> list[str]:
    """Return the names of the user's MCP servers: no switch turns all of them off."""
    home = environment.get("CODEX_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".codex"
    servers: list[str] = []
    for path in (Path(home, "config.toml"), Path("/etc/codex/config.toml")):
        try:
            servers += tomllib.loads(path.read_text(encoding="utf-8")).get("mcp_servers", {})
        except (FileNotFoundError, ValueError, TypeError, AttributeError):  # Codex says what is wrong with its file
            continue
    return servers


def _read_codex(output: str) -> Printed:
    events = _read_events(output)
    texts = [item["text"] for event in events if (item := event.get("item", {})).get("type") == "agent_message"]
    usages = [event["usage"] for event in events if event.get("type") == "turn.completed" and "usage" in event]
    tokens = _count(lambda: sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages))
    return texts[-1] if texts else "", tokens


def _build_gemini(folder: Path, environment: Variables) -> Invocation:
    """Give it a home of its own, with the user's settings and login: no switch keeps it from storing sessions."""
    home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME", "~")
    for name in _GEMINI_FILES:
        if (mine := Path(home).expanduser() / ".gemini" / name).exists():
            # A link: a login that is renewed is written back.
            _make_parent(folder / ".gemini" / name).symlink_to(mine)
    denies, instructions = folder / "denies.toml", folder / "instructions.md"
    denies.write_text(_GEMINI_DENIES, encoding="utf-8")
    instructions.write_text(_INSTRUCTIONS, encoding="utf-8")
    # The settings of its project come before the user's.
    _make_parent(folder / WORK_FOLDER / ".gemini" / "settings.json").write_text('{"hooksConfig": {"enabled": false}}')
    words = ("gemini", "--skip-trust", "--policy", str(denies), "--extensions", "none", "--output-format", "json")
    variables = {"GEMINI_CLI_HOME": str(folder), "GEMINI_SYSTEM_MD": str(instructions)}
    return Invocation((*words, "--allowed-mcp-server-names", "none", "--prompt", ""), variables)


def _make_parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _read_gemini(output: str) -> Printed:
    result = _read_object(output)
    tokens = _count(lambda: sum(model["tokens"]["total"] for model in result["stats"]["models"].values()))
    return result["response"], tokens


def _build_opencode(folder: Path, _: Variables) -> Invocation:
    agent = {"mode": "primary", "prompt": _INSTRUCTIONS}
    variables = {
        "OPENCODE_DB": ":memory:",
        "OPENCODE_PERMISSION": '{"*": "deny"}',
        "OPENCODE_CONFIG_CONTENT": json.dumps({"agent": {"lineage": agent}}),
    }
    # with a title it asks no model for one
    words = ("opencode", "run", "--pure", "--agent", "lineage", "--title", "lineage", "--format", "json")
    return Invocation(words, variables)


def _read_opencode(output: str) -> Printed:
    parts = [event["part"] for event in _read_events(output) if "part" in event]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    tokens = _count(lambda: sum(part["tokens"]["total"] for part in parts if part["type"] == "step-finish"))
    return texts[-1] if texts else "", tokens


def _read_object(output: str) -> dict[str, Any]:
    """Return the object at the end of an output; a program may say something before it."""
    start = 0 if output.startswith("{") else output.rindex("\n{") + 1
    return cast("dict[str, Any]", json.loads(output[start:]))


def _read_events(output: str) -> list[dict[str, Any]]:
    # JSON may hold what `splitlines` takes for a line's end.
    return [json.loads(line) for line in output.split("\n") if line.startswith("{")]


def _count(count: Callable[[], int]) -> int | None:
    """Return a program's own count, None where it has none, or another form of it: the answer is good all the same."""
    try:
        return count()
    except (LookupError, TypeError, AttributeError):
        return None


HARNESS_PROGRAMS: Mapping[str, tuple[Callable[[Path, Variables], Invocation], Callable[[str], Printed]]] = {
    "claude-code": (_build_claude, _read_claude),
    "codex": (_build_codex, _read_codex),
    "gemini": (_build_gemini, _read_gemini),
    "opencode": (_build_opencode, _read_opencode),
}
"""How each is called, and how its output is read."""
