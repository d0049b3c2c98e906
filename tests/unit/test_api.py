"""The public Python surface: python-frontmatter with our handler, and the documents of a workspace."""

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import FunctionType

import frontmatter
import pytest

from lineage import api
from lineage.app.locations import find_template
from lineage.core.base import naming
from lineage.core.format.documents import Document, build_claim
from tests.support.parametrize import each
from tests.support.strategies import SESSION, STEM, make_artifact, make_manifest, make_tombstone

DOCUMENTS: dict[str, Document] = {
    **{kind: make_artifact(kind, body=f"[[x]]\n\n# {kind}\n\n~~~\n  text  \n~~~\n") for kind in naming.ARTIFACT_KINDS},
    "manifest": make_manifest(),
    "claim": build_claim(SESSION, STEM),
    "tombstone": make_tombstone(),
}
HANDLER = api.FrontmatterHandler()


@each("kind", list(DOCUMENTS))
def test_python_frontmatter_reads_and_writes_each_kind_byte_for_byte(kind: str) -> None:
    document = DOCUMENTS[kind]
    data = api.serialize_document(document)
    post = frontmatter.loads(data.decode(), handler=HANDLER)
    assert frontmatter.dumps(post, handler=HANDLER).encode() == data
    assert frontmatter.dumps(post).encode() == data
    assert post["kind"] == kind


@each("kind", list(DOCUMENTS))
def test_a_file_that_python_frontmatter_wrote_is_the_same_document(kind: str) -> None:
    document = DOCUMENTS[kind]
    post = frontmatter.loads(api.serialize_document(document).decode(), handler=HANDLER)
    post["seen"] = True
    assert api.parse_document(frontmatter.dumps(post).encode(), document.path) == document


def test_the_handler_refuses_a_damaged_block() -> None:
    with pytest.raises(api.FormatError, match="twice"):
        frontmatter.loads("---\na: 1\na: 2\n---\n", handler=HANDLER)


@pytest.mark.in_folder
def test_the_documents_of_a_workspace_are_listed_and_read(tmp_path: Path) -> None:
    for document in DOCUMENTS.values():
        path = tmp_path / document.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(api.serialize_document(document))
    (tmp_path / "memory" / "note.md").write_text("not a document")
    listed = list(api.list_documents(tmp_path))
    assert listed == sorted(document.path for document in DOCUMENTS.values())
    assert [api.read_document(tmp_path, document.path) for document in DOCUMENTS.values()] == list(DOCUMENTS.values())


def test_a_document_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(api.NotFoundError, match="no document"):
        api.read_document(tmp_path, naming.claim_path(SESSION.token))


def test_a_transcript_is_read_as_turns() -> None:
    body = "[[x]]\n\n## 1 · user · 2026-03-28 22:34:06Z ^t-0123456789\n\n~~~\nhello\n~~~\n"
    (turn,) = api.read_turns(make_artifact("transcript", body=body))
    assert (turn.role, turn.text, turn.at) == ("user", "hello", "2026-03-28T22:34:06.000Z")


# --- A memory ---------------------------------------------------------------------------------------------------------

TURNS = [
    {"role": "user", "text": "Why does reader.py drop the last line?", "at": "2026-11-19T08:00:00Z"},
    {"role": "assistant", "text": "The split drops what follows the last newline. I decided to use splitlines()."},
]


def make_memory(folder: Path) -> api.Memory:
    memory = api.open_workspace(folder / "w", create=True)
    api.capture(memory, session_id="s-1", transcript=TURNS, project="/home/ada/demo", ended_at="2026-11-19T09:00:00Z")
    return memory


@pytest.mark.in_folder
def test_what_is_captured_is_found_told_and_removed(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    assert "s-1" in [hit.session_id for hit in api.search(memory, "splitlines").hits]
    assert "reader.py" in api.context(memory, project="/home/ada/demo").text
    assert api.remove(memory, "s-1", reason="a test", dry_run=True).turns == 2
    assert api.search(memory, "splitlines").hits
    receipt = api.remove(memory, "s-1", reason="a test")
    assert receipt.removed_paths and not receipt.dry_run
    assert not api.search(memory, "splitlines").hits


@pytest.mark.in_folder
def test_capturing_again_changes_nothing_and_a_file_of_a_harness_is_read(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    again = api.capture(memory, session_id="s-1", transcript=TURNS, project=Path("/home/ada/demo"))
    assert again.status == "unchanged"
    path = tmp_path / "said.txt"
    path.write_text("User: use tabs in Makefiles\nAssistant: done")
    assert api.capture(memory, session_id="s-2", transcript_path=path).status == "captured"
    assert "s-2" in [hit.session_id for hit in api.search(memory, "makefiles").hits]


@pytest.mark.in_folder
def test_a_secret_that_a_program_hands_over_is_redacted(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    key = "AKIA" + "QWERTYUIOPASDFGH"
    assert api.remember(memory, f"The old key was {key}.", tags=["keys"]).redactions
    assert api.capture(memory, session_id="s-2", transcript=f"User: the key is {key}").redactions
    assert not any(key.encode() in path.read_bytes() for path in memory.root.rglob("*") if path.is_file())


@pytest.mark.in_folder
def test_what_is_remembered_is_told_within_the_budget(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    assert api.remember(memory, "Prefers tabs in Makefiles.", kind="preference").status == "remembered"
    assert "tabs in Makefiles" in api.context(memory).text
    assert api.context(memory, project="/home/ada/demo", query="the reader", budget=120).tokens <= 120


@pytest.mark.in_folder
def test_an_agent_finds_its_own_sessions_and_no_other_s(tmp_path: Path) -> None:
    memory = make_memory(tmp_path)
    api.capture(memory, session_id="s-2", transcript="User: the giraffe is in the log", agent="ada")
    assert api.search(memory, "giraffe", agent="ada").hits and api.search(memory, "giraffe", agent=None).hits
    assert not api.search(memory, "giraffe", agent="bob").hits


@pytest.mark.in_folder
def test_an_agent_s_own_program_speaks_for_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = make_memory(tmp_path)
    monkeypatch.setenv("CODEX_THREAD_ID", "t-1")
    assert api.remember(memory, "Always deploy on Fridays.").status == "pending"


@pytest.mark.in_folder
def test_what_is_wrong_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(api.LineageError) as caught:
        api.open_workspace(tmp_path / "none")
    assert caught.value.hint and not (tmp_path / "none").exists()
    memory = make_memory(tmp_path)
    wrong: dict[str, Callable[[], object]] = {
        "no transcript": lambda: api.capture(memory, session_id="s-9"),
        "no harness": lambda: api.capture(memory, session_id="s-9", transcript="x", harness="telegraph"),
        "two": lambda: api.capture(memory, session_id="s-9", transcript="x", transcript_path="/dev/null"),
        "no key": lambda: api.capture(memory, session_id="s-9", transcript="x", ended="2026"),
        "nobody": lambda: api.remove(memory, "nobody", reason="x"),
        "no scope": lambda: api.remember(memory, "x", scope="the world"),
    }
    raised = dict.fromkeys(wrong, "")
    for name, call in wrong.items():
        try:
            call()
        except api.LineageError as error:
            raised[name] = error.hint
    assert all(raised.values()), raised


EXAMPLES = {
    "the module": api.__doc__ or "",
    "the handbook": (find_template() / "handbook" / "Formats.md").read_text(encoding="utf-8"),
}


@pytest.mark.in_folder
@pytest.mark.parametrize("place", EXAMPLES)
def test_the_documented_example_runs(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    example = re.search(r"(?m)^    from lineage import api\n(?:    .*\n|\n)+", EXAMPLES[place])
    assert example
    exec(compile(dedent(example[0]), place, "exec"), {})
    printed = capsys.readouterr().out
    assert "s-1 " in printed and "tabs" in printed
    assert (tmp_path / "lineage" / "MEMORY.md").is_file()


def test_every_name_is_documented_and_typed() -> None:
    for name in api.__all__:
        value = getattr(api, name)
        if isinstance(value, FunctionType):
            assert value.__doc__ and value.__annotations__.get("return") is not None, name
    assert (Path(api.__file__).parent / "py.typed").is_file()
