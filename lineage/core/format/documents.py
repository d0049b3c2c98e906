"""The typed documents of the canonical layer and their frontmatter contract, strict both ways. (spec: frontmatter)

Every document is a named tuple whose fields, in order, are its frontmatter keys; `body` is none of them. Times are
canonical UTC strings, paths are relative to the workspace root.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from lineage.core.base import naming
from lineage.core.base.identity import TOKEN, Identity, validate_agent_id
from lineage.core.base.links import wikilink
from lineage.core.base.times import to_utc_or_none
from lineage.core.format import frontmatter
from lineage.core.format.body import HASH_SCOPE, Body, StreamedText, encode_utf8, hash_body
from lineage.core.format.resanitization import Replacement
from lineage.errors import FormatError, InvalidInput

SENTENCE_VERSION = "memory_sentence_v1"
OK = "ok"
FALLBACK = "fallback"

_TIMES = frozenset(
    {"captured_at", "started_at", "ended_at", "updated_at", "memory_sentence_generated_at", "removed_at"}
)

_OPTIONAL = ("imported_from",)
_ITEMS: dict[str, type | UnionType] = {"watermark": int | str | NoneType}
_WATERMARKS = ([int, str, str], [int, NoneType, str])
_CHUNK_SIZE = 1 << 16
_HEAD_CHUNKS = 4  # a frontmatter has at most 1 MB
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Artifact(NamedTuple):
    """An immutable content artifact: transcript, summary or compaction.

    `watermark` is [count, last turn id, sanitizer version]: how far into the session's turns the capture reaches.
    """

    kind: str
    agent_id: str
    session_id: str
    session_key: str | None
    project: str | None
    harness: str
    captured_at: str
    started_at: str | None
    ended_at: str | None
    manifest_path: str
    source_node_id: str | None
    content_sha256: str
    hash_scope: str
    sanitizer_version: str
    memory_sentence: str
    memory_sentence_version: str
    memory_sentence_quality: str
    memory_sentence_generated_at: str
    lane: str | None
    private: bool
    forked_from: str | None
    parent_session: str | None
    watermark: list[Any]
    models: list[str]
    branches: list[str]
    title: str
    aliases: list[str]
    tags: list[str]
    body: Body

    @property
    def identity(self) -> Identity:
        return Identity(self.agent_id, self.session_id, self.session_key)

    @property
    def stem(self) -> str:
        return naming.build_stem(self.captured_at, self.identity.token)

    @property
    def path(self) -> str:
        return naming.artifact_path(self.stem, self.kind)


class Manifest(NamedTuple):
    """The one mutable file of a session: it names every capture and compaction, oldest first, by stem. `resanitized`
    holds a record of each artifact that was replaced under new redaction rules; `imported_from` the tokens that a
    session had before it came here in a bundle, oldest first."""

    kind: str
    agent_id: str
    session_id: str
    session_key: str | None
    project: str | None
    harness: str
    captured_at: str
    summary_path: str | None
    transcript_path: str | None
    compaction_path: str | None
    memory_md_refs: list[str]
    updated_at: str
    revision: int
    write_id: str
    started_at: str | None
    ended_at: str | None
    captures: list[str]
    compactions: list[str]
    resanitized: list[str]
    content_sha256: str
    hash_scope: str
    lane: str | None
    private: bool
    forked_from: str | None
    parent_session: str | None
    title: str
    aliases: list[str]
    tags: list[str]
    body: str
    imported_from: list[str] = []  # noqa: RUF012  (nobody changes a document's lists)

    @property
    def identity(self) -> Identity:
        return Identity(self.agent_id, self.session_id, self.session_key)

    @property
    def stem(self) -> str:
        return naming.build_stem(self.captured_at, self.identity.token)

    @property
    def path(self) -> str:
        return naming.artifact_path(self.stem, naming.MANIFEST)

    def replacements(self) -> list[Replacement]:
        """The records of `resanitized`, oldest first. Raises FormatError for one that is none."""
        return [Replacement.from_text(text) for text in self.resanitized]


class Claim(NamedTuple):
    """Which stem the session's manifest has; created once, before the session's first artifact. (format: Identity)"""

    kind: str
    agent_id: str
    session_token: str
    stem: str
    body: str = ""

    @property
    def path(self) -> str:
        return naming.claim_path(self.session_token)


class Tombstone(NamedTuple):
    """A removed session: no writer may bring it back, nor under the tokens of `imported_from`, which it had before it
    came here in a bundle. (spec: deletion/removal)"""

    kind: str
    agent_id: str
    session_token: str
    removed_at: str
    reason: str
    removed_paths: list[str]
    removed_turns: list[str]
    imported_from: list[str] = []  # noqa: RUF012  (nobody changes a document's lists)
    body: str = ""

    @property
    def path(self) -> str:
        return naming.tombstone_path(self.session_token)


Document = Artifact | Manifest | Claim | Tombstone
AnyDocument = TypeVar("AnyDocument", Artifact, Manifest, Claim, Tombstone)

_CLASS_OF = {
    naming.TRANSCRIPT: Artifact,
    naming.SUMMARY: Artifact,
    naming.COMPACTION: Artifact,
    naming.MANIFEST: Manifest,
    "claim": Claim,
    "tombstone": Tombstone,
}


def build_claim(identity: Identity, stem: str) -> Claim:
    body = wikilink(naming.artifact_path(stem, naming.MANIFEST), "manifest") + "\n"
    return Claim(kind="claim", agent_id=identity.agent_id, session_token=identity.token, stem=stem, body=body)


def serialize_document(document: Document) -> bytes:
    """The file of a document. Raises FormatError when the document breaks its contract."""
    return encode_utf8(frontmatter.dump(_validate_meta(document), str(document.body)))


def serialize_or_stream(document: Document) -> bytes | Iterable[bytes]:
    """`serialized`; of a document whose body isn't held, the same in pieces, which can be gone through again."""
    if isinstance(document.body, StreamedText):
        return _DocumentStream(frontmatter.dump(_validate_meta(document), ""), document.body)
    return serialize_document(document)


class _DocumentStream(Iterable[bytes]):
    """A file that is too long to be held, in pieces that are worth a call each."""

    def __init__(self, head: str, body: StreamedText) -> None:
        self._head, self._body = head, body

    def __iter__(self) -> Iterator[bytes]:
        waiting, size = [self._head], 0
        for piece in self._body.chunks():
            waiting.append(piece)
            size += len(piece)
            if size >= _CHUNK_SIZE:
                yield encode_utf8("".join(waiting))
                waiting, size = [], 0
        yield encode_utf8("".join(waiting))


def _validate_meta(document: Document) -> dict[str, Any]:
    meta = {key: getattr(document, key) for key in frontmatter_keys(document.__class__)}
    meta |= {key: value for key in _optional_keys(type(document)) if (value := getattr(document, key))}
    _check_meta(type(document), meta)
    _check_links(document)
    return meta


def parse_document(data: bytes, path: str) -> Document:
    """The document that a file holds. Raises FormatError, naming `path`, where it breaks the contract.

    The checks: known kind, every key present with its type, canonical times, the body hash, and an identity that
    recomputes to the token in the file's name and in every path that the document links to.
    """
    with _add_path_to_errors(path):
        return _build_document(*frontmatter.load(data.decode("utf-8")), path)


def parse_streamed_document(read_chunks: Callable[[], Iterator[bytes]], path: str) -> Document:
    """`parsed`, of a file that is told in pieces again by each call: an artifact's body isn't held."""
    with _add_path_to_errors(path):
        head = read_head(read_chunks()).rpartition(b"\n")[0]
        meta, rest = frontmatter.load(f"{head.decode('utf-8')}\n")
        if _CLASS_OF.get(str(meta.get("kind"))) is Artifact:
            start = len(head) + 1 - len(rest.encode())
            return _build_document(meta, StreamedText(lambda: _iter_lines(read_chunks(), start)), path)
    return parse_document(b"".join(read_chunks()), path)


def read_head(chunks: Iterator[bytes]) -> bytes:
    """The beginning of a file that is told in pieces of a megabyte: it holds the frontmatter, if there is any."""
    return b"".join(islice(chunks, _HEAD_CHUNKS))


def _iter_lines(chunks: Iterable[bytes], start: int) -> Iterator[str]:
    """What stands behind the first bytes, in pieces of whole lines."""
    waiting = b""
    for piece in chunks:
        known, start = waiting + piece[start:], max(0, start - len(piece))
        lines, newline, waiting = known.rpartition(b"\n")
        yield (lines + newline).decode("utf-8")
    yield waiting.decode("utf-8")


@contextmanager
def _add_path_to_errors(path: str) -> Iterator[None]:
    """Errors of format that say which file has them."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text") from error
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}", hint=error.hint) from error


def _build_document(meta: dict[str, Any], body: Body, path: str) -> Document:
    cls = _CLASS_OF.get(str(meta.get("kind")))
    if cls is None:
        raise FormatError(f"unknown kind {meta.get('kind')!r}")
    _check_meta(cls, meta)
    kept = {key: meta[key] for key in (*frontmatter_keys(cls), *_optional_keys(cls)) if key in meta}
    document: Document = cls(**kept, body=body)
    _check_path(document, path)
    _check_links(document)
    return document


def parse_document_as(cls: type[AnyDocument], data: bytes, path: str) -> AnyDocument:
    """`parsed`, for a place that holds one kind of document only."""
    return expect_kind(cls, parse_document(data, path), path)


def expect_kind(cls: type[AnyDocument], document: Document, path: str) -> AnyDocument:
    """The document that lies at a path, where it is of a kind. Raises FormatError where it isn't."""
    if not isinstance(document, cls):
        raise FormatError(f"{path}: holds a {document.kind}, not a {cls.__name__.lower()}")
    return document


def find_unknown_keys(data: bytes) -> list[str]:
    """Keys of a file's frontmatter that its kind does not have: somebody added them by hand."""
    meta, _ = frontmatter.load(data.decode("utf-8", errors="replace"))
    cls = _CLASS_OF.get(str(meta.get("kind")))
    return sorted(set(meta) - set(frontmatter_keys(cls)) - set(_optional_keys(cls))) if cls else []


def frontmatter_keys(cls: type) -> tuple[str, ...]:
    """The frontmatter keys that each document of a kind has, in the order in which they are written."""
    return tuple(_TYPES[cls])


def _optional_keys(cls: type) -> tuple[str, ...]:
    """The keys that a document has only where they hold something, written behind the others."""
    return tuple(key for key in _OPTIONAL if key in cls.__annotations__)


def _flatten_type(hint: Any) -> tuple[type, ...]:
    if isinstance(hint, UnionType):
        return tuple(part for arg in get_args(hint) for part in _flatten_type(arg))
    return (get_origin(hint) or hint,)


_TYPES: dict[type, dict[str, tuple[type, ...]]] = {
    cls: {key: _flatten_type(hint) for key, hint in cls.__annotations__.items() if key not in ("body", *_OPTIONAL)}
    for cls in (Artifact, Manifest, Claim, Tombstone)
}


def _check_meta(cls: type[Document], meta: dict[str, Any]) -> None:
    for key, types in _TYPES[cls].items():
        if key not in meta:
            raise FormatError(f"the frontmatter lacks {key!r}")
        value = meta[key]
        if type(value) not in types:
            wanted = " or ".join("null" if t is NoneType else t.__name__ for t in types)
            raise FormatError(f"{key!r} is {type(value).__name__}, not {wanted}")
        if isinstance(value, list) and not all(isinstance(item, _ITEMS.get(key, str)) for item in value):
            raise FormatError(f"{key!r} holds something else than text")
        if key in _TIMES and value is not None and to_utc_or_none(value) != value:
            raise FormatError(f"{key!r} is not a canonical UTC time: {value!r}")
    came_from = meta.get("imported_from", [])
    if not (isinstance(came_from, list) and all(map(_is_token, came_from))):
        raise FormatError("'imported_from' is not a list of session tokens")
    if "watermark" in _TYPES[cls] and [type(item) for item in meta["watermark"]] not in _WATERMARKS:
        raise FormatError("'watermark' is not [count, last turn id, sanitizer version]")
    if meta.get("hash_scope", HASH_SCOPE) != HASH_SCOPE:
        raise FormatError(f"'hash_scope' is not {HASH_SCOPE!r}")
    if meta.get("memory_sentence_quality", OK) not in (OK, FALLBACK):
        raise FormatError("'memory_sentence_quality' is neither 'ok' nor 'fallback'")
    try:
        validate_agent_id(meta["agent_id"])
    except InvalidInput as error:
        raise FormatError(error.message) from error


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and TOKEN.fullmatch(value) is not None


def _check_path(document: Document, path: str) -> None:
    if document.path != path:
        raise FormatError(f"its own identity and time belong to {document.path}")
    if isinstance(document, Artifact | Manifest) and hash_body(document.body) != document.content_sha256:
        raise FormatError("the body does not match 'content_sha256'")


def _check_links(document: Document) -> None:
    """What a document links to is its own session's: a path or anchor of another form could break out of its link."""
    for path, token, kind in _iter_links(document):
        name = naming.parse_path(path)
        if name is None or (name.token, name.kind) != (token, kind):
            raise FormatError(f"{path[:120]!r} is no {kind} of this session")
    if isinstance(document, Manifest):
        document.replacements()
        prefix = f"{naming.memory_md_path(document.agent_id)}#"
        for ref in document.memory_md_refs:
            if not (ref.startswith(prefix) and _DAY.fullmatch(ref.removeprefix(prefix))):
                raise FormatError(f"{ref[:120]!r} is no day of this agent's MEMORY.md")


def _iter_links(document: Document) -> Iterator[tuple[str, str, str]]:
    """(path, token, kind) of every artifact and manifest that a document links to."""
    if isinstance(document, Artifact):
        yield document.manifest_path, document.identity.token, naming.MANIFEST
    elif isinstance(document, Claim):
        yield naming.artifact_path(document.stem, naming.MANIFEST), document.session_token, naming.MANIFEST
    elif isinstance(document, Manifest):
        token = document.identity.token
        newest = (document.summary_path, document.transcript_path, document.compaction_path)
        kinds = (naming.SUMMARY, naming.TRANSCRIPT, naming.COMPACTION)
        yield from ((path, token, kind) for path, kind in zip(newest, kinds, strict=True) if path)
        for record in document.replacements():
            name = naming.parse_path(record.path)
            yield record.path, token, name.kind if name else ""
        for stems, kind in ((document.captures, naming.TRANSCRIPT), (document.compactions, naming.COMPACTION)):
            yield from ((naming.artifact_path(stem, kind), token, kind) for stem in stems)


def with_body(document: Artifact, body: Body) -> Artifact:
    """The artifact with another body and the hash that belongs to it."""
    return document._replace(body=body, content_sha256=hash_body(body))
