"""Lessons, 17: "Two auto-pinned facts about the assistant itself caused the behaviour they described, in every later
session."

Fails where `is_self_referential` isn't asked, where extraction pins anything or puts it into a global book in use, and
where an agent can pin.
"""

from pathlib import Path

import pytest

from lineage.errors import LineageError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.books import pin_entry
from tests.support.workspace import end_session, make_turns, open_test_workspace

FACTS = (
    "Lesson: the assistant cannot read PDF files.",
    "Lesson: Claude never writes tests on its own.",
    "Decision: as an AI it always refuses to run SQL.",
    "Lição: o assistente não consegue ler PDF.",
    "Lektion: der Assistent kann keine PDF lesen.",
    "Lección: el asistente no puede leer PDF.",
    "Leçon : l’IA ne peut pas lire les PDF.",
    "教训：AI助手不能读取文件。",
)
ABOUT_THE_WORK = "Lesson: the reader drops the last line of a PDF."


def test_what_the_assistant_says_of_itself_is_remembered_nowhere(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript=make_turns("Why can't you read it?", "\n".join((*FACTS, ABOUT_THE_WORK))))
        found = [entry for ref in ws.documents.books.list() for entry in ws.documents.books.read(ref).entries]
        assert [entry.body for entry in found] == [ABOUT_THE_WORK]
        assert outcome.learned["dropped"]["self-reference"] >= 6


def test_nothing_is_pinned_but_by_the_user(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, transcript=make_turns("I prefer tabs over spaces.", ABOUT_THE_WORK))
        books = {ref: ws.documents.books.read(ref).entries for ref in ws.documents.books.list()}
        assert {ref.scope for ref in books if ref.shelf == ""} == {"project/demo"}
        entries = [entry for found in books.values() for entry in found]
        assert len(entries) == 2
        assert not any(entry.pinned for entry in entries)
        with pytest.raises(LineageError):
            pin_entry(ws, entries[-1].id, caller=Caller("claude-code", ()))
