"""An outcome that names a task closes it; what is left, planned or failed closes none: `_LEFT`, `names`, shares."""

import pytest

from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.extraction.tasks import find_sentence_that_closes, read_outcome

FILE = ("file:src/reader.py",)
EDIT = Turn(ASSISTANT, "", name="Edit", input="/home/ada/demo/src/reader.py")


def closes(task: str, said: str, about: tuple[str, ...] = (), *before: Turn) -> bool:
    return bool(find_sentence_that_closes(task, about, read_outcome([*before, Turn(ASSISTANT, said)])))


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("TODO: write a test for the empty file.", "Added a test for the empty file."),
        ("Update the stale comment on retries.", "Done: I updated the stale comment on retries, and pushed."),
        ("Document the new --about option in the README.", "All green. README documents the --about option now."),
        (
            "Noch offen: Migration für die Tabelle Rechnungen.",
            "Die Migration für die Tabelle Rechnungen ist geschrieben.",
        ),
        ("TODO : documenter l'option de tri.", "Option de tri documentée dans le README."),
        ("TODO: write a test for the empty file.", "The test for the empty file is in place."),
        ("TODO: write a test for the empty file.", "As you asked, I added the test for the empty file."),
        ("TODO: write a test for the empty file.", "Added the test for the empty file; coverage is 100% again."),
        ("TODO: write a test for the empty file.", "I added the test for the empty file and removed the old helper."),
        (
            "TODO: write a test for the empty file.",
            "I added the test for the empty file and started the server to verify.",
        ),
        ("Noch offen: Test für die leere Datei.", "Der Test für die leere Datei ist fertig."),
        ("Noch offen: Test für die leere Datei.", "Test für die leere Datei ergänzt, keine Fehler."),
        ("TODO : écrire un test pour le fichier vide.", "Le test pour le fichier vide est écrit."),
        ("TODO: escrever um teste para o arquivo vazio.", "Adicionei um teste para o arquivo vazio."),
        ("TODO: escribir una prueba para el archivo vacío.", "Añadí una prueba para el archivo vacío."),
    ],
)
def test_an_outcome_that_names_a_task_closes_it(task: str, said: str) -> None:
    assert closes(task, said)


@pytest.mark.parametrize(
    "said",
    [
        "Added a test for the truncated header.",
        "The test for the empty file is still missing.",
        "Next: a test for the empty file.",
        "Shall I write a test for the empty file?",
        "I couldn't write the test for the empty file.",
        "- [ ] a test for the empty file",
        "Read the empty file.",
        "I was unable to add a test for the empty file.",
        "I added a test for the empty file, but it doesn't run.",
        "Half of the test for the empty file is added.",
        "I added the test for the empty file, and deleted it again.",
        "I removed the test for the empty file.",
        "Please decide whether the test for the empty file is added.",
        "I skipped the test for the empty file.",
        "I started on the test for the empty file.",
        "The test for the empty file is blocked by ticket 4.",
        "The test for the empty file is 20% done.",
        "You asked about the test for the empty file.",
        "I can add a test for the empty file.",
        "About the test for the empty file: it is on my list.",
        "Added everything except the test for the empty file.",
        "Instead of the test for the empty file I fixed the docs.",
        "I moved the test for the empty file to the backlog.",
        "I've created a ticket for the test for the empty file.",
        "I reviewed the test for the empty file.",
        "The test for the empty file is disabled now.",
        "The test for the empty file has been put on hold.",
        "Ready to add the test for the empty file now.",
        "",
    ],
)
def test_what_is_left_or_something_else_closes_nothing(said: str) -> None:
    assert not closes("TODO: write a test for the empty file.", said)


def test_only_the_closing_message_speaks_of_the_end() -> None:
    done = Turn(ASSISTANT, "Added a test for the empty file.")
    assert not closes("TODO: write a test for the empty file.", "It broke, I took it out.", (), done)
    assert not closes("TODO: write a test for the empty file.", "OK.", (), done._replace(role=USER))


def test_a_task_of_a_file_needs_an_edit_of_it() -> None:
    task, said = "TODO: handle quoted rows, padded rows and comments.", "Quoted rows and padded rows are handled."
    assert closes(task, said, FILE, EDIT)
    assert not closes(task, said, FILE)
    assert not closes(task, said, ("file:src/writer.py",), EDIT)
