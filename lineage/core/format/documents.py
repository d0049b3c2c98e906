"""The typed documents of a workspace and the contract of their frontmatter (spec: frontmatter).

The fields of a document, in order, are its frontmatter keys; only `body` is none. Times are canonical UTC strings,
paths are relative to the workspace root. Reading and writing check the same contract.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from frontmatter import Post

from lineage import __version__
from lineage.core.base import naming
from lineage.core.base.links import wikilink
from lineage.core.base.naming import Identity
from lineage.core.format import frontmatter
from lineage.core.format.body import Body, EncodedStream, StreamedText, decode_lines, encode_utf8, hash_body
from lineage.core.format.contract import check_meta
from lineage.core.format.resanitization import Replacement
from lineage.errors import FormatError

FORMAT = 2
"""The format of what is written today. Every earlier one is read for ever; a document without the key has format 1."""

SENTENCE_VERSION = "memory_sentence_v1"

_OPTIONAL = ("subfolder", "imported_from", "was_private", "sub_agents", "project_name", "previous", "related")
_DEFAULTS: dict[str, Any] = {"format": 1, "repository": None, "partial": False, "cssclasses": []}
"""The keys that came after format 1: what a document without one means, and what no document of format 1 is given."""
_HEAD_CHUNKS = 4  # chunks have 1 MB, and so has the largest frontmatter: four of any UTF-8 characters hold it
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

# Documents are named tuples: a reindex makes thousands, and frozen dataclasses take four times as long to make.


class Artifact(NamedTuple):
    """A transcript, summary or compaction; its watermark is [count, last turn id, sanitizer version].

    `subfolder` is where in its project the session ran, below the root, "" for the root.
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
    format: int
    repository: str | None
    lane: str | None
    private: bool
    forked_from: str | None
    parent_session: str | None
    partial: bool
    watermark: list[Any]
    models: list[str]
    branches: list[str]
    title: str
    aliases: list[str]
    tags: list[str]
    cssclasses: list[str]
    body: Body
    subfolder: str = ""

    @property
    def identity(self) -> Identity:
        """The session's identity."""
        return Identity(self.agent_id, self.session_id, self.session_key)

    @property
    def stem(self) -> str:
        """The common part of the file names of one capture."""
        return naming.build_stem(self.captured_at, self.identity.token)

    @property
    def path(self) -> str:
        """The path of the file."""
        return naming.artifact_path(self.stem, self.kind)


class Manifest(NamedTuple):
    """The one mutable file of a session: it names every capture and compaction by stem, oldest first.

    `resanitized` holds a record of each artifact that was replaced under new redaction rules. `imported_from` holds
    the tokens of the session before a bundle brought it here, oldest first, `sub_agents` the stems of its sub-agents.
    `project_name` is that of the project's note, `previous` the stem of the project's session before this one (or
    none), `related` those of earlier ones that edited the same files.
    """

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
    format: int
    repository: str | None
    lane: str | None
    private: bool
    forked_from: str | None
    parent_session: str | None
    partial: bool
    title: str
    aliases: list[str]
    tags: list[str]
    cssclasses: list[str]
    body: str
    imported_from: list[str] = []  # noqa: RUF012  (lists of documents are never changed)
    sub_agents: list[str] = []  # noqa: RUF012
    project_name: str = ""
    previous: list[str] = []  # noqa: RUF012
    related: list[str] = []  # noqa: RUF012

    @property
    def identity(self) -> Identity:
        """The session's identity."""
        return Identity(self.agent_id, self.session_id, self.session_key)

    @property
    def stem(self) -> str:
        """The common part of the file names of one capture."""
        return naming.build_stem(self.captured_at, self.identity.token)

    @property
    def path(self) -> str:
        """The path of the file."""
        return naming.artifact_path(self.stem, naming.MANIFEST)

    def replacements(self) -> list[Replacement]:
        """Return the records of `resanitized`, oldest first. Raises FormatError for a malformed one."""
        return [Replacement.from_text(text) for text in self.resanitized]


class Claim(NamedTuple):
    """The stem of a session's manifest. It is created once, before the first artifact (format: Identity)."""

    kind: str
    agent_id: str
    session_token: str
    stem: str
    format: int = FORMAT
    body: str = ""

    @property
    def path(self) -> str:
        """The path of the file."""
        return naming.claim_path(self.session_token)


class Tombstone(NamedTuple):
    """A removed session: no writer brings it or its former tokens back (spec: deletion/removal).

    What goes on from one that `was_private` is private, too.
    """

    kind: str
    agent_id: str
    session_token: str
    removed_at: str
    reason: str
    removed_paths: list[str]
    removed_turns: list[str]
    format: int = FORMAT
    imported_from: list[str] = []  # noqa: RUF012  (lists of documents are never changed)
    was_private: bool = False
    body: str = ""

    @property
    def path(self) -> str:
        """The path of the file."""
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
    """Return the claim of a stem by a session."""
    body = wikilink(naming.artifact_path(stem, naming.MANIFEST), "manifest") + "\n"
    return Claim(kind="claim", agent_id=identity.agent_id, session_token=identity.token, stem=stem, body=body)


def to_post(document: Document) -> Post:
    """Return a document as a post, with an empty body if that is streamed. Raises FormatError if it is malformed."""
    cls = type(document)
    meta = {key: getattr(document, key) for key in frontmatter_keys(cls)}
    meta |= {key: value for key in _optional_keys(cls) if (value := getattr(document, key))}
    check_meta(_TYPES[cls], meta)
    _check_links(document)
    if document.format == 1:
        meta = {key: value for key, value in meta.items() if key not in _DEFAULTS}
    return frontmatter.build_post(meta, document.body if isinstance(document.body, str) else "")


def from_post(post: Post, path: str, body: Body | None = None) -> Document:
    """Return the document that a post at `path` holds, or FormatError. `body` takes the place of the post's.

    The checks: known kind, every key present with its type, canonical times, the body hash, and an identity that
    recomputes to the token in the file's name and in every linked path.
    """
    meta: dict[str, Any] = {"resanitized": [], **_DEFAULTS, **post.metadata}  # the first manifests had none
    cls = _CLASS_OF.get(str(meta.get("kind")))
    if cls is None:
        raise FormatError(f"unknown kind {meta.get('kind')!r}")
    check_format(meta["format"])
    check_meta(_TYPES[cls], meta)
    values = {key: meta[key] for key in (*frontmatter_keys(cls), *_optional_keys(cls)) if key in meta}
    document: Document = cls(**values, body=post.content if body is None else body)
    if document.path != path:
        raise FormatError(f"its own identity and time belong to {document.path}")
    if isinstance(document, Artifact | Manifest) and hash_body(document.body) != document.content_sha256:
        raise FormatError("the body does not match 'content_sha256'")
    _check_links(document)
    return document


def serialize_document(document: Document) -> bytes:
    """Return the file of a document. Raises FormatError if the document breaks its contract."""
    post = to_post(document)
    post.content = str(document.body)
    return encode_utf8(frontmatter.dump(post))


def serialize_or_stream(document: Document) -> bytes | Iterable[bytes]:
    """Return the file of a document; for a streamed body as a repeatable iterable of chunks."""
    if isinstance(document.body, StreamedText):
        return EncodedStream(frontmatter.dump(to_post(document)), document.body)
    return serialize_document(document)


def parse_document(data: bytes, path: str) -> Document:
    """Return the document that a file holds. Raises FormatError, naming `path`, as `from_post` does."""
    with _add_path_to_errors(path):
        return from_post(frontmatter.load(data.decode("utf-8")), path)


def parse_streamed_document(read_chunks: Callable[[], Iterator[bytes]], path: str) -> Document:
    """Return the document of a file that each call of `read_chunks` reads anew, an artifact with a streamed body."""
    with _add_path_to_errors(path):
        head = read_head(read_chunks()).rpartition(b"\n")[0]
        post = frontmatter.load(f"{head.decode('utf-8')}\n")
        if _CLASS_OF.get(str(post.get("kind"))) is Artifact:
            start = len(head) + 1 - len(post.content.encode())
            return from_post(post, path, StreamedText(lambda: decode_lines(read_chunks(), start)))
    return parse_document(b"".join(read_chunks()), path)


def read_head(chunks: Iterator[bytes]) -> bytes:
    """Return the beginning of a file from its chunks of a megabyte, long enough to hold any frontmatter."""
    return b"".join(islice(chunks, _HEAD_CHUNKS))


@contextmanager
def _add_path_to_errors(path: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text") from error
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}", hint=error.hint) from error


def parse_document_as(cls: type[AnyDocument], data: bytes, path: str) -> AnyDocument:
    """Return the document that a file holds. Raises FormatError if it is of another class."""
    return expect_kind(cls, parse_document(data, path), path)


def expect_kind(cls: type[AnyDocument], document: Document, path: str) -> AnyDocument:
    """Return the document at a path if it is of a class. Raises FormatError otherwise."""
    if not isinstance(document, cls):
        raise FormatError(f"{path}: holds a {document.kind}, not a {cls.__name__.lower()}")
    return document


def find_unknown_keys(data: bytes) -> list[str]:
    """Return the frontmatter keys of a file that its kind does not have: somebody added them by hand."""
    meta = frontmatter.load(data.decode("utf-8", errors="replace")).metadata
    cls = _CLASS_OF.get(str(meta.get("kind")))
    return sorted(set(meta) - set(frontmatter_keys(cls)) - set(_optional_keys(cls))) if cls else []


def add_unknown_keys(data: bytes, former: bytes | None) -> bytes:
    """Return a file with the keys that its former content has and its kind has not, at the end of the frontmatter."""
    keys = find_unknown_keys(former) if former else []
    if not former or not keys:
        return data
    post, old = (frontmatter.load(content.decode("utf-8")) for content in (data, former))
    post.metadata.update({key: old[key] for key in keys})
    return encode_utf8(frontmatter.dump(post))


def frontmatter_keys(cls: type) -> tuple[str, ...]:
    """Return the required frontmatter keys of a class of documents, in the order of the file."""
    return tuple(_TYPES[cls])


def _optional_keys(cls: type) -> tuple[str, ...]:
    """Return the keys that come after the required ones, and only if they hold something."""
    return tuple(key for key in _OPTIONAL if key in cls.__annotations__)


def _flatten_type(hint: Any) -> tuple[type, ...]:
    if isinstance(hint, UnionType):
        return tuple(part for arg in get_args(hint) for part in _flatten_type(arg))
    return (get_origin(hint) or hint,)


_TYPES: dict[type, dict[str, tuple[type, ...]]] = {
    cls: {key: _flatten_type(hint) for key, hint in cls.__annotations__.items() if key not in ("body", *_OPTIONAL)}
    for cls in (Artifact, Manifest, Claim, Tombstone)
}


def check_format(number: Any) -> None:
    """Raise FormatError for a format that this version doesn't know, and for a value that is no format."""
    if type(number) is int and number > FORMAT:
        hint = f"upgrade lineage on this machine to a version that reads format {number}"
        raise FormatError(f"it has format {number}, and lineage {__version__} reads up to {FORMAT}", hint=hint)
    if type(number) is not int or number < 1:
        raise FormatError("'format' is not a number from 1")


def _check_links(document: Document) -> None:
    """Raise FormatError for a link out of the document's own session."""
    # A path or an anchor of another form could break out of its rendered link.
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
    """Yield (path, token, kind) of every linked artifact and manifest."""
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
    """Return the artifact with another body and its hash."""
    return document._replace(body=body, content_sha256=hash_body(body))
