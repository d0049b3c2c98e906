"""The frontmatter contract of every kind of document, strict both ways: what is written reads back equal, and every
breach raises FormatError and names the file."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import __version__
from lineage.core.base import naming
from lineage.core.format import documents, frontmatter
from lineage.core.format.body import StreamedText
from lineage.core.format.documents import (
    Artifact,
    Claim,
    Document,
    Manifest,
    frontmatter_keys,
    parse_document,
    parse_document_as,
    parse_streamed_document,
    serialize_document,
    serialize_or_stream,
)
from lineage.errors import FormatError
from tests.support.parametrize import each
from tests.support.strategies import (
    LATER_STEM,
    SESSION,
    STEM,
    draw_texts,
    draw_well_formed,
    make_artifact,
    make_manifest,
    make_tombstone,
)

DOCUMENTS: dict[str, Document] = {
    **{kind: make_artifact(kind) for kind in naming.ARTIFACT_KINDS},
    "manifest": make_manifest(compaction_path=naming.artifact_path(STEM, "compaction"), compactions=[STEM, LATER_STEM]),
    "claim": documents.build_claim(SESSION, STEM),
    "tombstone": make_tombstone(),
}
EVERY_KEY = [(kind, key) for kind, document in DOCUMENTS.items() for key in frontmatter_keys(type(document))]
NULLABLE = {
    "session_key", "project", "started_at", "ended_at", "source_node_id", "repository", "lane", "forked_from",
    "parent_session",
    "summary_path", "transcript_path", "compaction_path",
}  # fmt: skip
TIMES = {"captured_at", "started_at", "ended_at", "updated_at", "memory_sentence_generated_at", "removed_at"}


def altered(document: Document, *gone: str, **values: Any) -> bytes:
    """The document's file, without some keys or with other values: what a person or a sync could make of it."""
    post = frontmatter.load(serialize_document(document).decode())
    kept = {key: value for key, value in {**post.metadata, **values}.items() if key not in gone}
    return frontmatter.dump(frontmatter.build_post(kept, post.content)).encode()


def refused(document: Document, data: bytes, *named: str) -> None:
    """Asserts that the file is refused by an error that names the path, and what is wrong."""
    with pytest.raises(FormatError) as caught:
        parse_document(data, document.path)
    assert caught.value.message.startswith(f"{document.path}: ")
    assert all(word in caught.value.message for word in named)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_of_every_kind_reads_back_equal(kind: str) -> None:
    document = DOCUMENTS[kind]
    assert parse_document(serialize_document(document), document.path) == document
    assert parse_document_as(type(document), serialize_document(document), document.path) == document
    assert documents.find_unknown_keys(serialize_document(document)) == []


@given(draw_well_formed(), draw_well_formed(), st.lists(draw_well_formed(), max_size=3), draw_well_formed())
def test_any_text_in_any_field_reads_back_equal(project: str, title: str, models: list[str], body: str) -> None:
    document = make_artifact(project=project, title=title, memory_sentence=title, models=models, body=body)
    document = document._replace(subfolder=title)
    assert parse_document(serialize_document(document), document.path) == document


@given(draw_texts("\ud800"))
def test_what_utf8_cannot_hold_is_replaced_and_the_hash_still_fits(body: str) -> None:
    document = make_artifact(body=body, title=body)
    assert parse_document(serialize_document(document), document.path).content_sha256 == document.content_sha256  # type: ignore[union-attr]


def test_the_keys_stand_in_the_order_of_the_spec() -> None:
    assert frontmatter_keys(Artifact)[:18] == (
        "kind", "agent_id", "session_id", "session_key", "project", "harness", "captured_at", "started_at", "ended_at",
        "manifest_path", "source_node_id", "content_sha256", "hash_scope", "sanitizer_version", "memory_sentence",
        "memory_sentence_version", "memory_sentence_quality", "memory_sentence_generated_at",
    )  # fmt: skip
    assert frontmatter_keys(Manifest)[:12] == (
        "kind", "agent_id", "session_id", "session_key", "project", "harness", "captured_at", "summary_path",
        "transcript_path", "compaction_path", "memory_md_refs", "updated_at",
    )  # fmt: skip
    assert frontmatter_keys(documents.Tombstone)[1:6] == (
        "agent_id",
        "session_token",
        "removed_at",
        "reason",
        "removed_paths",
    )


NEWER = {"format": 1, "repository": None, "partial": False, "cssclasses": []}


@each(("kind", "key"), [(kind, key) for kind, key in EVERY_KEY if key not in (*NEWER, "resanitized")])
def test_a_missing_key_is_named(kind: str, key: str) -> None:
    refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], key), key)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_without_a_format_has_the_first_and_keeps_it(kind: str) -> None:
    newer = {key: value for key, value in NEWER.items() if key in DOCUMENTS[kind]._fields}
    data = altered(DOCUMENTS[kind], *newer)
    document = parse_document(data, DOCUMENTS[kind].path)
    assert document == DOCUMENTS[kind]._replace(**newer)  # type: ignore[arg-type]
    assert serialize_document(document) == data


def test_a_subfolder_is_text() -> None:
    document = DOCUMENTS["summary"]
    for value in (5, None, ["packages"]):
        refused(document, altered(document, subfolder=value), "'subfolder'")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_newer_format_is_refused_with_a_hint(kind: str) -> None:
    refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], format=3), "format 3", f"lineage {__version__} reads up to 2")
    with pytest.raises(FormatError) as caught:
        parse_document(altered(DOCUMENTS[kind], format=3), DOCUMENTS[kind].path)
    assert "upgrade lineage" in (caught.value.hint or "")
    for number in (0, True, "2", None):
        refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], format=number), "'format'")


@each(("kind", "key"), EVERY_KEY)
def test_a_value_of_another_type_is_named(kind: str, key: str) -> None:
    document = DOCUMENTS[kind]
    other = 5 if not isinstance(getattr(document, key), int) else "5"
    refused(document, altered(document, **{key: other}), key if key != "kind" else "5")


@each(("kind", "key"), [(kind, key) for kind, key in EVERY_KEY if key not in NULLABLE])
def test_only_what_the_spec_calls_nullable_may_be_null(kind: str, key: str) -> None:
    refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], **{key: None}))


@each(
    ("kind", "key"),
    [(kind, key) for kind, key in EVERY_KEY if isinstance(getattr(DOCUMENTS[kind], key), list)],
)
def test_a_list_holds_text_only(kind: str, key: str) -> None:
    refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], **{key: ["x", 5]}), key)


@each(("kind", "key"), [(kind, key) for kind, key in EVERY_KEY if key in TIMES])
@each(
    "time",
    ["2026-03-28T22:34:06.792", "2026-03-28T22:34:06Z", "2026-13-45T22:34:06.792Z", "2026-03-29T00:34:06.792+02:00"],
)
def test_a_time_is_canonical(kind: str, key: str, time: str) -> None:
    refused(DOCUMENTS[kind], altered(DOCUMENTS[kind], **{key: time}), key)


@pytest.mark.parametrize(
    "mark", [[], [1], [1, None], ["1", None, "v"], [1, 2, "v"], [1, "t", None], [1, "t", "v", "x"]]
)
def test_a_watermark_has_its_three_parts(mark: list[Any]) -> None:
    refused(make_artifact(), altered(make_artifact(), watermark=mark), "watermark")


@pytest.mark.parametrize("document", [make_artifact(), make_manifest()], ids=["artifact", "manifest"])
def test_another_body_is_found(document: Artifact | Manifest) -> None:
    refused(document, serialize_document(document) + b"more\n", "content_sha256")
    refused(document, altered(document, content_sha256="0" * 64), "content_sha256")
    assert parse_document(serialize_document(document) + b"  \n\n", document.path)


@pytest.mark.parametrize(
    "values",
    [
        {"session_id": "sess-2"},
        {"agent_id": "agent-b"},
        {"session_key": "key"},
        {"captured_at": "2026-03-28T22:34:06.793Z"},
        {"kind": "summary"},
    ],
    ids=lambda values: next(iter(values)),
)
def test_an_identity_that_does_not_make_the_files_name_is_found(values: dict[str, str]) -> None:
    document = make_artifact(naming.TRANSCRIPT)
    refused(document, altered(document, **values), "belong to")


@pytest.mark.parametrize(
    "values", [{"kind": "diary"}, {"agent_id": "a:b"}, {"hash_scope": "all"}, {"memory_sentence_quality": "good"}]
)
def test_a_value_outside_its_range_is_found(values: dict[str, str]) -> None:
    refused(make_artifact(), altered(make_artifact(), **values))


OTHER = naming.artifact_path(naming.build_stem("2026-03-28T22:34:06.792Z", "a" * 16), naming.MANIFEST)


@pytest.mark.parametrize(
    "path", ["", "../x.md", "/etc/passwd", "C:\\x", "memory/x]] [[y.md", OTHER, make_artifact().path]
)
def test_a_manifest_path_is_that_of_the_own_session(path: str) -> None:
    refused(make_artifact(), altered(make_artifact(), manifest_path=path), "manifest")


@each(
    "values",
    [
        {"summary_path": "memory/../x.md"},
        {"summary_path": naming.artifact_path(STEM, naming.TRANSCRIPT)},
        {"transcript_path": OTHER},
        {"compaction_path": "x]]"},
        {"captures": [STEM, "../x"]},
        {"compactions": [naming.build_stem("2026-03-28T22:34:06.792Z", "a" * 16)]},
        {"memory_md_refs": ["MEMORY.md#2026-03-28]] [[x"]},
        {"memory_md_refs": ["agents/other/MEMORY.md#2026-03-28"]},
    ],
    ids=str,
)
def test_a_manifest_links_to_its_own_session_only(values: dict[str, Any]) -> None:
    refused(make_manifest(), altered(make_manifest(), **values))
    with pytest.raises(FormatError):
        serialize_document(make_manifest()._replace(**values))


@pytest.mark.parametrize("stem", ["", "../x", STEM + "\n", naming.build_stem("2026-03-28T22:34:06.792Z", "a" * 16)])
def test_a_claim_names_a_stem_of_its_own_session(stem: str) -> None:
    claim = documents.build_claim(SESSION, STEM)
    refused(claim, altered(claim, stem=stem))


@pytest.mark.parametrize("data", [b"", b"text\n", b"\xff\xfe\x00", b"---\n---\n", b"---\nkind: [x]\n---\n"])
def test_another_file_in_a_documents_place_is_refused(data: bytes) -> None:
    refused(make_artifact(), data)


def test_a_document_in_anothers_place_is_refused() -> None:
    claim = documents.build_claim(SESSION, STEM)
    with pytest.raises(FormatError, match="holds a claim, not a manifest"):
        parse_document_as(Manifest, serialize_document(claim), claim.path)
    with pytest.raises(FormatError, match="belong to"):
        parse_document_as(Claim, serialize_document(claim), naming.claim_path("a" * 16))


def test_a_document_that_breaks_its_contract_is_never_written() -> None:
    with pytest.raises(FormatError, match="captured_at"):
        serialize_document(make_artifact(captured_at="yesterday"))
    with pytest.raises(FormatError, match="'models' holds"):
        serialize_document(make_artifact(models=[5]))


def test_a_key_of_somebodys_own_is_no_breach_and_is_named() -> None:
    data = altered(make_artifact(), rating="5", banner=["wide"])
    assert parse_document(data, make_artifact().path) == make_artifact()
    assert documents.find_unknown_keys(data) == ["banner", "rating"]


def test_what_obsidian_rewrote_reads_the_same() -> None:
    document = make_artifact()
    text = serialize_document(document).decode()
    block = text.replace('models: ["m-1"]', "models:\n  - m-1").replace('title: "A title"', "title: A title")
    assert block != text
    assert parse_document(block.encode(), document.path) == document


def test_another_body_comes_with_its_hash() -> None:
    changed = documents.with_body(make_artifact(), "other\n")
    assert parse_document(serialize_document(changed), changed.path) == changed
    assert changed.content_sha256 != make_artifact().content_sha256


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    """A file as a store tells it; the frontmatter is in the first pieces, as it is in those of a megabyte."""
    head = data.find(b"\n---\n") + 5
    yield data[:head]
    yield from (data[start : start + size] for start in range(head, len(data), size))


@given(draw_well_formed(), st.integers(1, 70), st.integers(0, 3))
def test_what_is_not_held_is_written_and_read_as_what_is(text: str, size: int, empty_lines: int) -> None:
    """Fails where a piece may end inside a line or a character, or where the frontmatter's length is not that of its
    bytes."""
    body = "\n".join([text] * 4) + "\n" * empty_lines
    whole = make_artifact(body=body, title=text)
    long = whole._replace(body=StreamedText(lambda: body.splitlines(keepends=True)))
    data = serialize_document(whole)
    assert b"".join(serialize_or_stream(long)) == serialize_document(long) == data  # type: ignore[arg-type]
    found = parse_streamed_document(lambda: in_pieces(data, size), whole.path)
    assert isinstance(found.body, StreamedText)
    assert all(piece.endswith("\n") for piece in list(found.body.chunks())[:-1] if piece)
    assert found._replace(body=str(found.body)) == parse_document(data, whole.path)  # type: ignore[type-var]


@pytest.mark.parametrize("damage", [b"more\n", b"\xff\n", b" \xc3"])
def test_damage_anywhere_in_what_is_not_held_is_found(damage: bytes) -> None:
    data = serialize_document(make_artifact(body="line\n" * 2000)) + damage
    with pytest.raises(FormatError, match=make_artifact().path):
        parse_streamed_document(lambda: in_pieces(data, 100), make_artifact().path)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_of_every_kind_is_read_in_pieces(kind: str) -> None:
    document = DOCUMENTS[kind]
    found = parse_streamed_document(lambda: in_pieces(serialize_document(document), 100), document.path)
    assert serialize_document(found) == serialize_document(document)


@pytest.mark.parametrize("data", [b"", b"text\n", b"\xff\xfe\x00", b"---\n---\n", b"---\nkind: [x]\n---\n"])
def test_another_file_that_is_not_held_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match=make_artifact().path):
        parse_streamed_document(lambda: in_pieces(data, 100), make_artifact().path)
