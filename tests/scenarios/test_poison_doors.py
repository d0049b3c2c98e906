"""What a tool said, asked for at the doors: an MCP server's process, pages and API of `lineage serve` over HTTP.

Seven languages at once in one project, by every way in: one to five captures, results from 100 bytes to 200 kB, the
summary of a hook, a checkpoint, a language model's words, what an agent remembers. Asked are the context, the lists,
the books in force and the resources of the same project; what a session's own record shows is a record.

Fails where one of the guards of test_poison_echoes.py, test_agent_memos.py or `parse_proposals` is left out.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base.naming import DEFAULT_AGENT
from lineage.extraction.model.port import ParsedAnswer, Value
from lineage.harness.detect_caller import Caller
from lineage.pipeline.ingest.checkpoints import offer_checkpoints, save_checkpoint
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.scenarios.test_poison_echoes import HARMLESS, HERE, POISON, SIZES, capture, read_page, say
from tests.support.mcp_client import start_agent
from tests.support.models import CannedModel
from tests.support.web_client import serve_workspace
from tests.support.workspace import at_time, make_turns, open_test_workspace

pytestmark = pytest.mark.slow


class Parrot(CannedModel):
    """A model whose sentence, narrative and proposals repeat a tool, each proposal beside a harmless quote too."""

    def __init__(self, poison: str) -> None:
        super().__init__("")
        rows = [f"{kind} | {quote} | {poison}" for kind in ("lesson", "fact") for quote in (HARMLESS, poison)]
        self.answers = {
            "memory": "\n".join(rows),
            "": f"SENTENCE: In demo, {poison}\nSUMMARY: {HARMLESS}\n\n- {poison}\n",
        }

    def ask(self, task: str, prompt: str, parse: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        return parse(self.answers.get(task, self.answers[""])).value


def repeat_at_once(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(ws, [*read_page(poison, size), say(f"{HARMLESS} {poison}")], 0, name)


def repeat_later(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(ws, read_page(poison, size), 0, name)
    for minute in (1, 2, 3):
        capture(ws, make_turns(f"Go on, part {minute}."), minute, name)
    capture(ws, [say("What did you find?", "user"), say(f"{HARMLESS} {poison}")], 4, name)


def repeat_elsewhere(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(ws, read_page(poison, size), 0, name)
    capture(ws, [say("What is the rule?", "user"), say(f"{HARMLESS}\n\n- **{poison}**\n")], 1, f"{name} again")


def summarize(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(ws, read_page(poison, size), 0, name, summary=f"# Done\n\n{HARMLESS}\n\n- {poison}\n")


def leave_without_an_end(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(ws, read_page(poison, size), 0, name)
    said: list[tuple[str, str, str | None]] = [
        ("user", "What is the rule?", None),
        ("assistant", f"It is: {poison}", None),
    ]
    options = {"agent_id": DEFAULT_AGENT, "harness": "generic", "project": HERE}
    save_checkpoint(ws, session_id=f"{name} open", raw_messages=said, **options)  # type: ignore[arg-type]
    offer_checkpoints(ws)


def ask_a_model(ws: Workspace, poison: str, size: int, name: str) -> None:
    capture(replace(ws, model=Parrot(poison)), [*read_page(poison, size), say(HARMLESS)], 0, name)


def memorize(ws: Workspace, poison: str, size: int, name: str) -> None:
    for number, (kind, caller) in enumerate((("lesson", Caller("codex", (name,))), ("handoff", Caller("cursor")))):
        now = f"2026-11-21T11:0{number}:00.000Z"
        remember(at_time(ws, now), Memo(text=poison, kind=kind, project=HERE, tags=(poison[:70],)), caller)
    given = {"text": poison, "kind": "lesson"}
    call = {"role": "assistant", "name": "mcp__lineage__remember", "text": "", "input": given, "id": f"call {name}"}
    capture(ws, [*read_page(poison, size), call, say(HARMLESS)], 0, name)


WAYS = (repeat_at_once, repeat_later, repeat_elsewhere, summarize, leave_without_an_end, ask_a_model, memorize)


def ask_agent(root: Path) -> dict[str, str]:
    """What an MCP server's process says to a session of the project."""
    with start_agent(root, "--project", HERE) as agent:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("context", {}),
            ("context", {"query": "release signature check mirror", "budget": 6_000}),
            ("sessions", {"limit": 50}),
            ("tasks", {}),
            ("book", {}),
            *(("book", {"action": "show", "scope": scope, "kind": kind})
              for scope in ("project/demo", "global", "agent/default")
              for kind in ("decision", "lesson", "fact", "task", "note", "preference", "handoff")),
        ]  # fmt: skip
        answers = {f"MCP {tool} {given}": agent(tool, **given).text for tool, given in calls}
        return answers | {"MCP MEMORY.md": agent.read_resource("lineage:///MEMORY.md")}


def ask_pages(root: Path) -> dict[str, str]:
    """What the pages and the API say of the project, without what waits or is a session's own."""
    with serve_workspace(root) as client:
        panels = client.get("/memory").text.split('<section class="panel" aria-labelledby="')
        entries = [
            entry
            for book in client.get("/api/books").json["books"]
            if not book["scope"].startswith("session/")
            for entry in client.get("/api/entries", scope=book["scope"], kind=book["kind"]).json["entries"]
        ]
        return {
            "page /": client.get("/").text,
            "page /?project": client.get("/", project=HERE).text,
            "page /status": client.get("/status").text,
            "page /memory": "".join(one for one in panels if not one.startswith(("p-pending", "p-session"))),
            "API sessions": json.dumps(client.get("/api/sessions").json, ensure_ascii=False),
            "API entries": json.dumps(entries, ensure_ascii=False),
            "API context": client.get("/api/context", project=HERE).text,
        }


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", WAYS)
def test_no_door_tells_it_as_known(tmp_path: Path, way: Callable[..., None], size: int) -> None:
    if way is leave_without_an_end and size < SIZES[-1]:
        pytest.skip("the same look-up")
    root = tmp_path / "vault"
    with open_test_workspace(root) as ws:
        for language, poison in POISON.items():
            way(at_time(ws, "2026-11-21T12:30:00.000Z"), poison, size, f"session {language}")
        publish_all(at_time(ws, "2026-11-21T14:00:00.000Z"))
    told = {**ask_agent(root), **ask_pages(root)}
    leaks = {
        (place, language)
        for language, poison in POISON.items()
        for place, text in told.items()
        if any(poison[at : at + len(poison) // 3] in " ".join(text.split()) for at in (0, len(poison) // 3))
    }
    assert leaks == set()
    if way is not leave_without_an_end:
        assert HARMLESS.rstrip(".") in told["MCP context {}"] or way in (repeat_later, repeat_elsewhere)
