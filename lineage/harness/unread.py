"""Sessions that agents keep on this machine and that no adapter reads: found by their paths, never opened."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lineage.core.base.plural import pluralize

# Where programs keep their data, on Linux, macOS and Windows; names of variables may move the first of them.
_BASES = {
    "~": (("HOME", ""),),
    "CONFIG": (
        ("XDG_CONFIG_HOME", ".config"), ("", "Library/Application Support"), ("APPDATA", "AppData/Roaming"),
    ),
    "DATA": (
        ("XDG_DATA_HOME", ".local/share"), ("", "Library/Application Support"), ("LOCALAPPDATA", "AppData/Local"),
    ),
}  # fmt: skip
_EDITOR = "CONFIG/*/User/globalStorage"
_SERVER = "~/.*-server*/data/User/globalStorage"
_ANTIGRAVITY_LOGS = ("transcript.jsonl", "transcript_full.jsonl", "overview.txt")
# An agent, what it keeps, and where: behind `//` the files below a place. (harnesses.md 5 to 13, and public sources)
_TASKS = "tasks//*/api_conversation_history.json"
_STORES = (
    ("Amazon Q", "database", "DATA/amazon-q//data.sqlite3"),
    ("Amp", "thread", "DATA/amp/threads//T-*.json"),
    ("Antigravity", "conversation", "~/.gemini/antigravity*/conversations//*.db"),
    ("Antigravity", "older conversation", "~/.gemini/antigravity*/conversations//*.pb"),
    ("Cline", "session", "~/.cline/data/sessions//*/*.messages.json"),
    ("Cline", "task", f"{_EDITOR}/saoudrizwan.claude-dev/{_TASKS}"),
    ("Cline", "task", f"{_SERVER}/saoudrizwan.claude-dev/{_TASKS}"),
    ("Continue", "session", "~/.continue/sessions//*-*.json"),
    ("Copilot in an editor", "chat", "CONFIG/*/User/workspaceStorage//*/chatSessions/*.json*"),
    ("Crush", "database", "DATA/crush//crush.db"),
    ("Crush", "database", "~/.crush//crush.db"),
    ("Cursor", "chat", "~/.cursor/chats//*/*/store.db"),
    ("Cursor", "database", "CONFIG/Cursor/User/globalStorage//state.vscdb"),
    ("Cursor", "text transcript", "~/.cursor/projects//*/agent-transcripts/*.txt"),
    ("DeepSeek Harness", "session", "~/.dsh/sessions//*/*/session.jsonl*"),
    ("Droid", "session", "~/.factory/sessions//*/*.jsonl"),
    ("Goose", "older session", "DATA/goose/sessions//*.jsonl"),
    ("Grok", "session", "~/.grok/sessions//*/*/updates.jsonl"),
    ("Hermes", "database", "~/.hermes//state.db"),
    ("Hermes", "database", "~/.hermes/profiles//*/state.db"),
    ("Kilo Code", "database", "DATA/kilo//kilo.db"),
    ("Kilo Code", "task", f"{_EDITOR}/kilocode.kilo-code/{_TASKS}"),
    ("Kilo Code", "task", f"{_SERVER}/kilocode.kilo-code/{_TASKS}"),
    ("Kimi", "session", "~/.kimi/sessions//*/*/context.jsonl"),
    ("Kimi", "session", "~/.kimi-code/sessions//*/*/agents/main/wire.jsonl"),
    ("Kiro", "database", "DATA/kiro-cli//data.sqlite3"),
    ("Kiro", "session", f"{_EDITOR}/kiro.kiroagent/workspace-sessions//*/*-*.json"),
    ("Mistral Vibe", "session", "~/.vibe/logs/session//*"),
    ("Oh My Pi", "session", "~/.omp/agent/sessions//*/*.jsonl"),
    ("Roo Code", "task", f"{_EDITOR}/rooveterinaryinc.roo-cline/{_TASKS}"),
    ("Roo Code", "task", f"{_SERVER}/rooveterinaryinc.roo-cline/{_TASKS}"),
    ("Windsurf", "conversation", "~/.codeium/windsurf*/cascade//*.pb"),
    ("Zed", "database", "DATA/[Zz]ed/threads//threads.db"),
)


@dataclass(frozen=True, slots=True)
class UnreadStore:
    """What an agent keeps below a folder, `count` files of it; the field names are JSON keys."""

    agent: str
    path: str
    count: int
    noun: str

    def describe(self) -> str:
        """Return a line for people."""
        return f"{self.agent}: {pluralize(self.count, self.noun)} in {self.path}, which lineage doesn't read"


def list_unread_stores(home: Path, environment: Mapping[str, str]) -> list[UnreadStore]:
    """Return the places of sessions that lineage can't read, by agent. Files are counted, none is opened."""
    stores = []
    for agent, noun, pattern in _STORES:
        base, _, below = pattern.partition("/")
        place, _, files = below.partition("//")
        for folder in (found for root in _list_bases(base, home, environment) for found in _find(root, place)):
            if count := sum(1 for path in _find(folder, files) if not _is_read(path)):
                stores.append(UnreadStore(agent, str(folder), count, noun))
    return list(dict.fromkeys(stores))


def _list_bases(base: str, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for variable, below in _BASES[base]:
        moved = environment.get(variable) if variable != "HOME" else None
        yield Path(moved) if moved else home / below


def _find(folder: Path, pattern: str) -> Iterator[Path]:
    with suppress(OSError, ValueError):  # a folder that nobody may list, a loop of links
        yield from folder.glob(pattern)


def _is_read(path: Path) -> bool:
    """Return whether Antigravity's adapter reads a conversation by the logs beside its database."""
    logs = path.parents[1] / "brain" / path.stem / ".system_generated/logs"
    return path.suffix in (".db", ".pb") and any((logs / name).is_file() for name in _ANTIGRAVITY_LOGS)
