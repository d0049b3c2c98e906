"""The contents of a bundle, checked as `verify` would and sanitized, before a byte is written (reliability.md 18)."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef, is_allowed_in_scope, parse_book_path
from lineage.core.base.fences import neutralize_markdown
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import validate_id
from lineage.core.books.book import parse_book
from lineage.core.format import manifest as manifests
from lineage.core.format import transcript
from lineage.core.format.documents import (
    Artifact,
    Manifest,
    find_unknown_keys,
    parse_document,
    serialize_document,
    with_body,
)
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement
from lineage.core.format.sentence import MAX_WORDS, count_words
from lineage.core.sanitizer import Sanitizer
from lineage.core.sanitizer.artifacts import resanitize_artifact
from lineage.core.transfer.bundle import SESSIONS, BundledSession
from lineage.documents.bundle_zip import UnpackedBundle
from lineage.errors import FormatError, InvalidInput

_SIBLING = re.compile(r"\[\[(memory/[^|\]#]+)")
_MAX_SENTENCE_CHARS = 2000  # words have no bound of their own
_HINT = "the bundle is damaged, or was altered by hand; nothing was written"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A session of a bundle, its files checked; private if the bundle, the manifest or an artifact says so."""

    session: BundledSession
    manifest: Manifest
    artifacts: tuple[Artifact, ...]
    books: Mapping[BookRef, bytes]
    private: bool

    @property
    def turns(self) -> frozenset[str]:
        """The ids of the session's turns."""
        transcripts = (artifact for artifact in self.artifacts if artifact.kind == naming.TRANSCRIPT)
        return frozenset(turn for artifact in transcripts for turn in transcript.extract_turn_ids(artifact.body))

    @property
    def content_sha256(self) -> str:
        """The hash of the session's token, artifacts and books: the same state of a session has the same."""
        hashes = [
            *map(_hash_artifact, self.artifacts),
            *(hashlib.sha256(data).hexdigest() for data in self.books.values()),
        ]
        return hashlib.sha256("\n".join([self.session.session_token, *sorted(hashes)]).encode()).hexdigest()

    @property
    def came_from(self) -> tuple[str, ...]:
        """The session's earlier tokens and its token in the bundle, oldest first."""
        chain = (*self.manifest.imported_from, *self.session.imported_from, self.session.session_token)
        return tuple(dict.fromkeys(chain))


def parse_deliveries(unpacked: UnpackedBundle) -> list[Delivery]:
    """Return the sessions of a bundle, in its order. Raises FormatError for a file that lineage would not write."""
    bundle = unpacked.bundle
    if bundle.holds != SESSIONS:
        raise FormatError("the bundle holds no session", hint=_HINT)
    return [_parse_delivery(session, unpacked.files, private=bundle.private) for session in bundle.sessions]


def _parse_delivery(session: BundledSession, files: Mapping[str, bytes], *, private: bool) -> Delivery:
    documents = [
        _parse_document(path, data)
        for path, data in files.items()
        if (name := naming.parse_path(path)) and name.token == session.session_token
    ]
    artifacts = tuple(document for document in documents if isinstance(document, Artifact))
    manifests = [document for document in documents if isinstance(document, Manifest)]
    if len(manifests) != 1:
        raise FormatError(f"session {session.session_token} has {len(manifests)} manifests", hint=_HINT)
    _check_manifest(manifests[0], artifacts)
    private = private or any(document.private for document in documents)
    parsed = {ref: data for path, data in files.items() if (ref := parse_book_path(path))}
    # The session's own books: no other scope receives anything with a session.
    token = session.session_token
    books = {ref: data for ref, data in parsed.items() if is_allowed_in_scope(ref.scope, private=True, token=token)}
    return Delivery(session, manifests[0], artifacts, books, private)


def _parse_document(path: str, data: bytes) -> Artifact | Manifest:
    document = parse_document(data, path)
    if not isinstance(document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {document.kind}", hint=_HINT)
    try:
        validate_id("session_id", document.session_id)
    except InvalidInput as error:
        raise FormatError(f"{path}: {error.message}", hint=_HINT) from error
    if isinstance(document, Artifact):
        _check_artifact(document, find_unknown_keys(data))
    return document


def _check_artifact(artifact: Artifact, unknown: list[str]) -> None:
    sentence = artifact.memory_sentence
    if unknown:
        raise FormatError(f"{artifact.path}: a key of no artifact: {unknown[0]!r}", hint=_HINT)
    if to_one_line(sentence) != sentence or count_words(sentence) > MAX_WORDS or len(sentence) > _MAX_SENTENCE_CHARS:
        raise FormatError(f"{artifact.path}: 'memory_sentence' is not one sentence", hint=_HINT)
    is_transcript = artifact.kind == naming.TRANSCRIPT
    if is_transcript and transcript.rerender_turns(artifact.body, transcript.parse_turns(artifact.body)) != str(
        artifact.body
    ):
        raise FormatError(f"{artifact.path}: holds something beside its turns", hint=_HINT)


def _check_manifest(manifest: Manifest, artifacts: tuple[Artifact, ...]) -> None:
    """Check that the manifest names exactly the artifacts of the bundle, and the newest of each kind as such."""
    newest = (
        (manifest.transcript_path, manifest.captures, naming.TRANSCRIPT),
        (manifest.summary_path, manifest.captures, naming.SUMMARY),
        (manifest.compaction_path, manifest.compactions, naming.COMPACTION),
    )
    for path, stems, kind in newest:
        if path != (naming.artifact_path(stems[-1], kind) if stems else None) or stems != sorted(set(stems)):
            raise FormatError(f"{manifest.path}: does not name its newest {kind}", hint=_HINT)
    if list_artifact_paths(manifest) != sorted(artifact.path for artifact in artifacts):
        raise FormatError(f"{manifest.path}: names other files than the bundle holds", hint=_HINT)
    hashes = {artifact.path: _hash_artifact(artifact) for artifact in artifacts}
    for record in {record.path: record for record in manifest.replacements()}.values():
        if hashes.get(record.path) != record.new:
            raise FormatError(f"{record.path}: is not what its manifest says it was replaced by", hint=_HINT)


@dataclass(frozen=True, slots=True)
class SanitizedDelivery:
    """A delivery under this workspace's rules.

    `redactions` counts the rules' finds, `defused` the files with neutralized markdown; `replaced` are the records of
    changed artifacts.
    """

    delivery: Delivery
    redactions: Counter[str]
    defused: int
    replaced: tuple[Replacement, ...]


def sanitize_delivery(delivery: Delivery, sanitizer: Sanitizer) -> SanitizedDelivery:
    """Sanitize and neutralize every artifact and book, under the session's privacy. A clean file keeps its bytes."""
    defusals: Counter[bool] = Counter()
    artifacts, replaced = [], []
    for artifact in delivery.artifacts:
        changed = _sanitize_artifact(artifact, delivery, sanitizer, defusals)
        artifacts.append(changed)
        if changed != artifact:
            versions = (artifact.sanitizer_version, changed.sanitizer_version)
            replaced.append(Replacement(artifact.path, _hash_artifact(artifact), _hash_artifact(changed), *versions))
    books = {ref: _sanitize_book(data, ref, sanitizer, defusals) for ref, data in delivery.books.items()}
    clean = replace(delivery, artifacts=tuple(artifacts), books=books)
    return SanitizedDelivery(clean, Counter(sanitizer.redactions), defusals[True], tuple(replaced))


def _sanitize_artifact(
    artifact: Artifact, delivery: Delivery, sanitizer: Sanitizer, defusals: Counter[bool]
) -> Artifact:
    clean = resanitize_artifact(artifact, sanitizer) or artifact
    if clean.kind != naming.TRANSCRIPT:
        body = neutralize_markdown(str(clean.body))
        defusals[body != clean.body] += 1
        clean = clean if body == clean.body else with_body(clean, body)
    path = delivery.manifest.path
    if clean.manifest_path != path:  # its own was retired where it comes from
        clean = with_body(clean, str(clean.body).replace(clean.manifest_path, path, 1))._replace(manifest_path=path)
    known = {path, *(other.path for other in delivery.artifacts)}
    for target in _SIBLING.findall(transcript.extract_links(clean.body)):
        if target not in known:
            raise FormatError(f"{clean.path}: links to {target[:120]}, which did not come with it", hint=_HINT)
    return clean._replace(private=delivery.private)


def _hash_artifact(artifact: Artifact) -> str:
    return hashlib.sha256(serialize_document(artifact)).hexdigest()


def sanitize_manifest(sanitized: SanitizedDelivery, sanitizer: Sanitizer, write_id: str, now: str) -> Manifest:
    """Return the delivery's manifest with its privacy and records; unchanged if these are."""
    manifest = sanitized.delivery.manifest
    wanted = manifest._replace(private=sanitized.delivery.private)
    clean = manifests.record_replacements(wanted, sanitized.replaced, sanitizer.sanitize, write_id, now)
    # compared without the fields of the write itself
    same = clean._replace(revision=manifest.revision, write_id=manifest.write_id, updated_at=manifest.updated_at)
    return manifest if same == manifest else clean


def _sanitize_book(data: bytes, ref: BookRef, sanitizer: Sanitizer, defusals: Counter[bool]) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    before = sanitizer.redactions.total()
    redacted = sanitizer.sanitize(text)
    if sanitizer.redactions.total() > before:
        text, data = redacted, redacted.encode()
    head = parse_book(data, ref.scope, ref.kind).head
    lines = text[len(head) :].splitlines(keepends=True)
    # A horizontal rule stays as it is.
    safe = head + "".join(line if line.strip() == "---" else neutralize_markdown(line) for line in lines)
    defusals[safe != text] += 1
    return safe.encode("utf-8", "surrogateescape")
