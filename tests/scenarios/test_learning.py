"""What a captured session teaches, from the command line and over the life of a workspace.

Fails without `Step.KNOWLEDGE`, without `is_visible`, the setting or the tombstone in pipeline/knowledge/learning.py,
without the tag in pipeline/capture/building.py, and with a planner that learns again where something is missing.
"""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.config.workspace import KnowledgeSettings, Settings
from lineage.core.format.documents import Artifact, Tombstone
from lineage.core.format.turns import USER
from lineage.extraction.candidates import Candidate
from lineage.extraction.digests import build_digest
from lineage.extraction.model.port import MemoryProposals
from lineage.pipeline.capture import session_end
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.entry_writer import LearnResult, learn_from_capture, parse_quote
from lineage.workspace.book_folders import CLAIM_NOTE
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.terminals import run_on_terminal
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, read_store

pytestmark = pytest.mark.slow

LATER = "2026-11-22T12:00:00.000Z"
TALK: list[dict[str, Any]] = [
    *make_turns(
        "I prefer tabs over spaces. Why is the last line lost?",
        "We decided to keep splitlines in reader.py. Lesson: the split drops a line without a newline.",
        "I am currently working on the importer. The project uses Python 3.11.",
        "TODO: write a test for the empty file.",
    )
]
BOOKS = {
    "books/project/demo/preference.md": ["I prefer tabs over spaces."],
    "books/project/demo/decision.md": ["We decided to keep splitlines in reader.py."],
    "books/project/demo/lesson.md": ["Lesson: the split drops a line without a newline."],
    "books/project/demo/fact.md": ["The project uses Python 3.11."],
    "books/project/demo/task.md": ["TODO: write a test for the empty file."],
}


def books(ws: Workspace) -> dict[str, list[str]]:
    """The texts of the entries of every book, by path; books without one are left out."""
    found = {
        ref.path: [entry.body for entry in ws.documents.books.read(ref).entries] for ref in ws.documents.books.list()
    }
    return {path: texts for path, texts in found.items() if texts}


def expected(token: str) -> dict[str, list[str]]:
    return {path.format(token=token): texts for path, texts in BOOKS.items()}


def transcript_in(ws: Workspace, path: str | None) -> Artifact:
    artifact = ws.documents.artifacts.get(str(path))
    assert artifact
    return artifact


def test_an_end_teaches_and_says_so(lineage: LineageCommand, tmp_path: Path) -> None:
    source = tmp_path / "talk.json"
    source.write_text(json.dumps([*TALK, {"role": "user", "text": "From now on never ask before running scripts."}]))
    given = (
        "--harness",
        "generic",
        "--session-id",
        "s-1",
        "--project",
        "/home/ada/demo",
        "--transcript-path",
        str(source),
    )
    done = lineage("session-end", *given, "--json").json
    assert done["learned"] == {"kept": 5, "pending": 0, "dropped": {"permission": 1}}
    with open_test_workspace(lineage.root) as ws:
        assert books(ws) == expected(done["session_token"])
    assert lineage("session-end", *given, "--json").json["learned"] == {"kept": 0, "pending": 0, "dropped": {}}
    assert lineage("status", "--json").json["not_learned"] == {"permission": 1}
    assert "permission" in lineage("status").out
    given = (*given[:3], "s-2", *given[4:])
    said = lineage("session-end", *given).out
    assert "not learned: known 5, permission 1" in said
    assert lineage("status", "--json").json["not_learned"] == {"known": 5, "permission": 2}


def test_an_entry_links_to_the_turn_that_said_it(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript=TALK)
        (entry,) = ws.documents.books.get("project/demo", "preference").entries
        path, _, turn = str(entry.origin).removeprefix("[[").removesuffix("]]").partition("#^")
        assert path == outcome.transcript_path
        assert f"^{turn}\n" in transcript_in(ws, path).body
        assert parse_quote(entry) == entry.body == "I prefer tabs over spaces."


def test_an_answer_to_an_agent_s_question_is_told_as_one(lineage: LineageCommand) -> None:
    """Its score is below the one that a sentence needs: nothing of it is printed."""
    question, answer = "Which database should the integration tests use?", "PostgreSQL in a container"
    talk = f"User: hello\nAssistant: {question}\nUser: > {question}\n\n{answer}\nAssistant: I'll do that."
    given = ("session-end", "--harness", "generic", "--project", "/home/ada/demo", "--session-id", "s-1")
    assert lineage(*given, "--transcript", talk, "--json").json["learned"]["kept"] == 1
    (entry,) = lineage("memory", "show", "project/demo", "decision", "--json").json["entries"]
    why = lineage("memory", "why", entry["id"], "--json").json
    assert (why["question"], why["answer"], why["says_so"]) == (question, answer, True)
    assert why["score"] < why["kept_from"]
    shown = lineage("memory", "why", entry["id"]).out
    assert f"  the agent asked:\n    | {question}\n  you answered:\n    | {answer}\n" in shown
    assert shown.endswith("  your answer to the agent's question: such answers are kept without a score\n")


def test_why_an_entry_was_learned_is_told_with_the_words_of_its_features(lineage: LineageCommand) -> None:
    said = "we should use `pnpm` instead of npm in web/app.ts, because the lock file is too big otherwise"
    talk = (
        f"User: hello\nAssistant: Hi.\nUser: {said}\nAssistant: I'll do that.\nAssistant: Lesson: npm forgets. It does."
    )
    given = ("session-end", "--harness", "generic", "--project", "/home/ada/demo", "--session-id", "s-1")
    assert lineage(*given, "--transcript", talk, "--json").json["learned"]["kept"] == 2
    with open_test_workspace(lineage.root) as ws:
        entries = {
            entry.source: entry.id
            for ref in ws.documents.books.list()
            for entry in ws.documents.books.read(ref).entries
        }
    why = lineage("book", "why", entries["user_turn"], "--json").json
    assert (why["quote"], why["says_so"], why["problem"]) == (said, False, None)
    features = {feature["name"]: feature for feature in why["features"]}
    assert (features["instead"]["words"], features["cause"]["words"]) == ("instead of", "because")
    total = why["bias"] + sum(feature["weight"] for feature in features.values())
    assert why["score"] == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-3)
    assert why["score"] > why["kept_from"]
    seen = run_on_terminal(lineage.root, "memory", "why", entries["user_turn"]).text
    assert f"and {len(features) - 8} of less weight: `lineage memory why" in " ".join(seen.split())
    shown = lineage("book", "why", entries["assistant_turn"]).out
    assert "    | Lesson: npm forgets. It does.\n" in shown
    assert "kept whatever its score" in shown
    assert "\n  its score is 0." in shown
    assert "label: lesson\n" in shown
    (session,) = lineage("list", "--json").json["sessions"]
    assert f"  from `lineage show {session['session_token']} --turns 5`\n" in shown
    assert "npm forgets" in lineage("show", session["session_token"], "--turns", "5").out
    assert f"    from `lineage show {session['session_token']}`\n" in lineage("show", entries["assistant_turn"]).out
    found = run_on_terminal(lineage.root, "search", "forgets", "is:lesson").text
    assert f"from session {session['session_id']}" in found
    typed = lineage("book", "add", "global", "preference", "Prefers tabs over spaces.", "--json").json["id"]
    assert "you typed it: it was not learned by rule" in lineage("book", "why", typed).out
    for text in ("npm remembers.", "Lesson: npm forgets. It does. Always."):  # the second one holds the first words
        assert lineage("memory", "edit", entries["assistant_turn"], text).code == 0
        edited = lineage("memory", "why", entries["assistant_turn"]).out
        assert "  edited by hand since; came from [[memory/" in edited
        assert "  its words then:\n    | Lesson: npm forgets. It does.\n" in edited and "came from:" not in edited
        assert "label: lesson\n" in edited
    transcript = next((lineage.root / "memory").rglob("*--transcript.md"))
    transcript.rename(transcript.with_suffix(".away"))
    away = lineage("memory", "why", entries["assistant_turn"], "--json").json
    assert (away["quote"], away["score"], away["problem"]) == ("", None, "its sentence isn't in a capture any more")
    transcript.with_suffix(".away").rename(transcript)
    assert lineage("remove", "s-1", "--yes").code == 0
    assert lineage("book", "why", entries["user_turn"]).code != 0


def test_extraction_can_be_switched_off(lineage: LineageCommand) -> None:
    lineage("init")
    toml = lineage.root / "lineage.toml"
    assert "# extract = true" in toml.read_text()
    toml.write_text(toml.read_text().replace("# extract = true", "extract = false"))
    talk = "User: I prefer tabs over spaces.\nAssistant: We decided to keep splitlines in reader.py."
    given = ("session-end", "--harness", "generic", "--project", "/home/ada/demo", "--transcript", talk)
    assert lineage(*given, "--session-id", "s-1", "--json").json["learned"] == {"kept": 0, "pending": 0, "dropped": {}}
    toml.write_text(toml.read_text().replace("extract = false", "extract = true"))
    assert lineage(*given, "--session-id", "s-2", "--json").json["learned"]["kept"] == 2


@pytest.mark.parametrize("payload", [{"project": "/tmp/demo"}, {"session": "test-1", "project": None}])
def test_trial_sessions_are_captured_and_teach_nothing(tmp_path: Path, payload: dict[str, Any]) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws, **{"transcript": TALK, **payload})
        assert outcome.status == "captured"
        assert (outcome.learned["kept"], outcome.learned["pending"], books(ws)) == (0, 0, {})


def test_what_was_learned_from_is_never_learned_from_again(tmp_path: Path) -> None:
    """A hand deletes an entry, without a trace: no repair brings it back."""
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript=TALK)
        for path in [path for path in read_store(ws.documents.store, "books/") if "/project/" in path]:
            ws.documents.store.delete(path)
        for path in (outcome.summary_path, outcome.manifest_path, "MEMORY.md"):
            ws.documents.store.delete(str(path))
        left = books(ws)
        recover(at_time(ws, LATER))
        reindex(at_time(ws, LATER))
        assert end_session(at_time(ws, LATER), transcript=TALK).status == "unchanged"
        ws.index.reset()
        recover(at_time(ws, LATER))
        assert books(ws) == left
        assert len(left) == 0
        assert verify(at_time(ws, LATER)) == []


@pytest.mark.leaves_findings
@pytest.mark.parametrize("is_lost", [False, True])
def test_what_was_forgotten_does_not_come_back_with_a_transcript_that_was_rewritten(
    tmp_path: Path, is_lost: bool
) -> None:
    """The harness dropped the first and the last turn. The others are captured a second time only if a hand deleted
    the transcript that holds them."""
    with open_test_workspace(tmp_path) as ws:
        first = end_session(ws, transcript=TALK)
        if is_lost:
            ws.documents.store.delete(str(first.transcript_path))
        (entry,) = ws.documents.books.get("project/demo", "lesson").entries
        ws.documents.books.forget("project/demo", "lesson", entry.id)
        (known,) = ws.documents.books.get("project/demo", "decision").entries
        again = end_session(
            at_time(ws, LATER), transcript=[*TALK[1:3], *make_turns("And the tests?", start="2026-11-21T10:00")]
        )
        assert again.status == "captured"
        assert ("the split drops a line" in transcript_in(ws, again.transcript_path).body) == is_lost
        assert ws.documents.books.get("project/demo", "lesson").entries == ()
        assert ws.documents.books.get("project/demo", "decision").entries == (known,)
        dropped = {"forgotten": 1, "known": 2} if is_lost else {}
        assert again.learned == {"kept": 0, "pending": 0, "dropped": dropped}


def test_a_resumed_session_teaches_what_is_new(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        assert end_session(ws, transcript=TALK[:2]).learned["kept"] == 3
        assert end_session(at_time(ws, LATER), transcript=TALK).learned == {"kept": 2, "pending": 0, "dropped": {}}


def test_a_session_that_was_removed_meanwhile_teaches_nothing(tmp_path: Path) -> None:
    """A tombstone that a sync brought, between the manifest and the books."""
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(
            replace(ws, settings=Settings(knowledge=KnowledgeSettings(extract=False))), transcript=TALK
        )
        artifact = transcript_in(ws, outcome.transcript_path)
        tombstone = Tombstone(
            kind="tombstone",
            agent_id="default",
            session_token=outcome.session_token,
            removed_at=ws.now,
            reason="",
            removed_paths=[],
            removed_turns=[],
        )
        ws.documents.tombstones.put(tombstone)
        assert learn_from_capture(ws, artifact, MemoryProposals()) == LearnResult()
        assert [key.rpartition("/")[2] for key in read_store(ws.documents.store, "books/")] == [CLAIM_NOTE]
        ws.documents.store.delete(tombstone.path)
        assert learn_from_capture(ws, artifact, MemoryProposals()).written == 5
        publish_all(ws)


def test_findings_are_kept_where_the_session_has_data_attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules find no findings, a language model may: here one that always proposes the same."""
    found = Candidate("finding", "Sales dipped by 7 % in March.", USER, "t-0123456789", quote="Sales dipped by 7 %.")
    monkeypatch.setattr(
        session_end, "build_digest_and_candidates", lambda turns, evidence: (build_digest(turns, evidence), [found])
    )
    with open_test_workspace(tmp_path) as ws:
        assert end_session(ws, "s-1", transcript=TALK).learned == {
            "kept": 0,
            "pending": 0,
            "dropped": {"no data attached": 1},
        }
        outcome = end_session(ws, "s-2", transcript=TALK, data=True)
        assert outcome.learned == {"kept": 1, "pending": 0, "dropped": {}}
        assert "data" in transcript_in(ws, outcome.transcript_path).tags
        assert books(ws) == {f"books/session/{outcome.session_token}/finding.md": ["Sales dipped by 7 % in March."]}


def test_data_is_declared_with_an_option(lineage: LineageCommand) -> None:
    given = ("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript", "User: hello")
    path = lineage(*given, "--data", "--json").json["transcript_path"]
    assert '"data"' in (lineage.root / path).read_text()


def test_projects_of_one_name_do_not_share_a_book(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=TALK, project="/home/ada/demo")
        end_session(ws, "s-2", transcript=TALK, project="/srv/demo")
        lessons = [path for path in books(ws) if path.endswith("/lesson.md")]
        assert len(lessons) == 2
        assert "books/project/demo/lesson.md" in lessons


def test_without_a_project_only_the_session_remembers(tmp_path: Path) -> None:
    """What names no project is nobody else's; what would be everybody's waits."""
    with open_test_workspace(tmp_path) as ws:
        token = end_session(ws, transcript=TALK, project=None, agent_id="Reviewer").session_token
        kinds = ("decision", "fact", "lesson", "preference", "task")
        assert set(books(ws)) == {f"books/session/{token}/{kind}.md" for kind in kinds}
