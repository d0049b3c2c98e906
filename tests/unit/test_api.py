"""The public Python surface: python-frontmatter with our handler, and the documents of a workspace."""

from pathlib import Path

import frontmatter
import pytest

from lineage import api
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
