"""Sessions of agents that no adapter reads: named by where they lie, counted, never opened."""

import os
from pathlib import Path

import pytest

from lineage.harness import unread
from lineage.harness.unread import UnreadStore, list_unread_stores


def put(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"")


def test_what_agents_keep_is_named_and_counted(tmp_path: Path) -> None:
    roo = ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks"
    put(
        tmp_path,
        ".cursor/chats/a/1/store.db",
        ".cursor/chats/a/2/store.db",
        ".cursor/projects/p/agent-transcripts/t/t.jsonl",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
        f"{roo}/1/api_conversation_history.json",
        "Library/Application Support/Zed/threads/threads.db",
        ".codeium/windsurf/cascade/1.pb",
        ".continue/sessions/sessions.json",
        ".continue/sessions/1a-2b.json",
    )
    assert [store.describe().replace(str(tmp_path), "~") for store in list_unread_stores(tmp_path, {})] == [
        "Cline: 1 task in ~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks, which lineage doesn't read",
        "Continue: 1 session in ~/.continue/sessions, which lineage doesn't read",
        "Cursor: 2 chats in ~/.cursor/chats, which lineage doesn't read",
        f"Roo Code: 1 task in ~/{roo}, which lineage doesn't read",
        "Windsurf: 1 conversation in ~/.codeium/windsurf/cascade, which lineage doesn't read",
        "Zed: 1 database in ~/Library/Application Support/Zed/threads, which lineage doesn't read",
    ]


def test_a_conversation_of_antigravity_counts_where_no_log_lies_beside_it(tmp_path: Path) -> None:
    root = ".gemini/antigravity-cli"
    put(tmp_path, f"{root}/conversations/read.db", f"{root}/conversations/closed.db", f"{root}/conversations/old.pb")
    put(tmp_path, f"{root}/brain/read/.system_generated/logs/transcript.jsonl")
    assert [(store.agent, store.count) for store in list_unread_stores(tmp_path, {})] == [("Antigravity", 1)] * 2


def test_the_environment_moves_the_folders(tmp_path: Path) -> None:
    put(tmp_path, "moved/amp/threads/T-1.json")
    assert list_unread_stores(tmp_path, {}) == []
    stores = list_unread_stores(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "moved"), "HOME": "/nowhere"})
    assert stores == [UnreadStore("Amp", str(tmp_path / "moved/amp/threads"), 1, "thread")]


def test_nothing_is_opened_and_a_folder_that_cannot_be_listed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, ".cursor/chats/a/1/store.db")
    (tmp_path / ".kimi/sessions").mkdir(parents=True)
    (tmp_path / ".kimi/sessions/loop").symlink_to(tmp_path / ".kimi/sessions/loop")
    os.mkfifo(tmp_path / ".cursor/chats/a/2")
    monkeypatch.setattr(Path, "open", None)
    assert [store.count for store in list_unread_stores(tmp_path, {"XDG_DATA_HOME": "/" + "x" * 300})] == [1]


def test_no_place_is_named_that_an_adapter_reads() -> None:
    data = Path(__file__).parents[2] / "data"
    homes = {"cursor": ".cursor", "goose": ".local/share/goose/sessions", "gemini": ".gemini", "pi": ".pi/agent"}
    read = [Path(homes[name], path.relative_to(data / name)) for name in homes for path in (data / name).rglob("*")]
    patterns = [
        pattern.replace("~/", "").replace("DATA/", ".local/share/").replace("//", "/") for *_, pattern in unread._STORES
    ]
    assert [(path, pattern) for path in read for pattern in patterns if path.match(pattern)] == []
