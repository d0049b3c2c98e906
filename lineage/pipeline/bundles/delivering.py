"""What a bundle delivers, judged before anything of it is written: each file as `verify` would judge it here, then made
to follow this workspace's rules. (reliability.md 18)
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lineage.canon.bundles import Unpacked
from lineage.core import manifest as manifests
from lineage.core import naming, transcript
from lineage.core.book import parsed_book
from lineage.core.book_paths import BookRef, ref_of
from lineage.core.bundle import SESSIONS, Bundled
from lineage.core.documents import Artifact, Manifest, parsed, serialized, unknown_keys, with_body
from lineage.core.fences import defused
from lineage.core.identity import checked_id
from lineage.core.links import one_line
from lineage.core.privacy import may_reach
from lineage.core.redaction import resanitized
from lineage.core.replacement import Replacement
from lineage.core.sanitizer import Sanitizer
from lineage.core.sentence import MAX_WORDS, words
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.reading import named_by

_SIBLING = re.compile(r"\[\[(memory/[^|\]#]+)")
_LONGEST_SENTENCE = 2000
_HINT = "the bundle is damaged, or was altered by hand; nothing was written"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A session that a bundle brings. Its files are such as lineage writes, and agree; it is private where the bundle,
    the manifest or any of its artifacts says so."""

    session: Bundled
    manifest: Manifest
    artifacts: tuple[Artifact, ...]
    books: Mapping[BookRef, bytes]
    private: bool

    @property
    def turns(self) -> frozenset[str]:
        transcripts = (artifact for artifact in self.artifacts if artifact.kind == naming.TRANSCRIPT)
        return frozenset(turn for artifact in transcripts for turn in transcript.turn_ids(artifact.body))

    @property
    def came_from(self) -> tuple[str, ...]:
        """The tokens that it had, its last one too, oldest first."""
        chain = (*self.manifest.imported_from, *self.session.imported_from, self.session.session_token)
        return tuple(dict.fromkeys(chain))


def deliveries(unpacked: Unpacked) -> list[Delivery]:
    """The sessions of a bundle, in its order. Raises FormatError for whatever is not as lineage writes it."""
    bundle = unpacked.bundle
    if bundle.holds != SESSIONS:
        raise FormatError("the bundle holds no session", hint=_HINT)
    return [_delivery(session, unpacked.files, private=bundle.private) for session in bundle.sessions]


def _delivery(session: Bundled, files: Mapping[str, bytes], *, private: bool) -> Delivery:
    documents = [
        _document(path, data)
        for path, data in files.items()
        if (name := naming.parse_path(path)) and name.token == session.session_token
    ]
    artifacts = tuple(document for document in documents if isinstance(document, Artifact))
    found = [document for document in documents if isinstance(document, Manifest)]
    if len(found) != 1:
        raise FormatError(f"session {session.session_token} has {len(found)} manifests", hint=_HINT)
    _check_manifest(found[0], artifacts)
    private = private or any(document.private for document in documents)
    books = {ref: data for path, data in files.items() if (ref := _book_of(path, session, private=private))}
    return Delivery(session, found[0], artifacts, books, private)


def _book_of(path: str, session: Bundled, *, private: bool) -> BookRef | None:
    """A session's own book at a path: into any other scope nothing comes with a session, whatever the session is."""
    ref = ref_of(path)
    own = ref is not None and may_reach(ref.scope, private=True, token=session.session_token)
    return ref if own else None


def _document(path: str, data: bytes) -> Artifact | Manifest:
    document = parsed(data, path)
    if not isinstance(document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {document.kind}", hint=_HINT)
    try:
        checked_id("session_id", document.session_id)
    except InvalidInput as error:
        raise FormatError(f"{path}: {error.message}", hint=_HINT) from error
    if isinstance(document, Artifact):
        _check_artifact(document, unknown_keys(data))
    return document


def _check_artifact(artifact: Artifact, unknown: list[str]) -> None:
    sentence = artifact.memory_sentence
    if unknown:
        raise FormatError(f"{artifact.path}: a key of no artifact: {unknown[0]!r}", hint=_HINT)
    if one_line(sentence) != sentence or words(sentence) > MAX_WORDS or len(sentence) > _LONGEST_SENTENCE:
        raise FormatError(f"{artifact.path}: 'memory_sentence' is not one sentence", hint=_HINT)
    if artifact.kind == naming.TRANSCRIPT:
        siblings = transcript.links_of(artifact.body)
        if transcript.rendered(siblings, transcript.parsed(artifact.body)) != str(artifact.body):
            raise FormatError(f"{artifact.path}: holds something beside its turns", hint=_HINT)


def _check_manifest(manifest: Manifest, artifacts: tuple[Artifact, ...]) -> None:
    """The manifest names the artifacts that came with it, and no others, the newest of each kind as such."""
    newest = (
        (manifest.transcript_path, manifest.captures, naming.TRANSCRIPT),
        (manifest.summary_path, manifest.captures, naming.SUMMARY),
        (manifest.compaction_path, manifest.compactions, naming.COMPACTION),
    )
    for path, stems, kind in newest:
        if path != (naming.artifact_path(stems[-1], kind) if stems else None) or stems != sorted(set(stems)):
            raise FormatError(f"{manifest.path}: does not name its newest {kind}", hint=_HINT)
    if named_by(manifest) != sorted(artifact.path for artifact in artifacts):
        raise FormatError(f"{manifest.path}: names other files than the bundle holds", hint=_HINT)
    hashes = {artifact.path: _sha256(artifact) for artifact in artifacts}
    for record in {record.path: record for record in manifest.replacements()}.values():
        if hashes.get(record.path) != record.new:
            raise FormatError(f"{record.path}: is not what its manifest says it was replaced by", hint=_HINT)


@dataclass(frozen=True, slots=True)
class Settled:
    """A delivery under this workspace's rules. `redactions` counts what the rules found, `defused` the files in which
    something would have run; `replaced` records what that changed of artifacts that keep their names."""

    delivery: Delivery
    redactions: Counter[str]
    defused: int
    replaced: tuple[Replacement, ...]


def settled(delivery: Delivery, sanitizer: Sanitizer) -> Settled:
    """The delivery with every artifact and book sanitized and defused, and as private as the session is. What needs
    none of it stays byte for byte."""
    defusals: Counter[bool] = Counter()
    artifacts, replaced = [], []
    for artifact in delivery.artifacts:
        changed = _settled_artifact(artifact, delivery, sanitizer, defusals)
        artifacts.append(changed)
        if changed != artifact:
            replaced.append(_record(artifact, changed))
    books = {ref: _settled_book(data, ref, sanitizer, defusals) for ref, data in delivery.books.items()}
    clean = replace(delivery, artifacts=tuple(artifacts), books=books)
    return Settled(clean, Counter(sanitizer.redactions), defusals[True], tuple(replaced))


def _settled_artifact(
    artifact: Artifact, delivery: Delivery, sanitizer: Sanitizer, defusals: Counter[bool]
) -> Artifact:
    clean = resanitized(artifact, sanitizer) or artifact
    if clean.kind != naming.TRANSCRIPT:
        body = defused(str(clean.body))
        defusals[body != clean.body] += 1
        clean = clean if body == clean.body else with_body(clean, body)
    path = delivery.manifest.path
    if clean.manifest_path != path:  # its own was retired where it comes from
        clean = with_body(clean, str(clean.body).replace(clean.manifest_path, path, 1))._replace(manifest_path=path)
    _check_siblings(clean, delivery)
    return clean._replace(private=delivery.private)


def _check_siblings(artifact: Artifact, delivery: Delivery) -> None:
    known = {delivery.manifest.path, *(other.path for other in delivery.artifacts)}
    for target in _SIBLING.findall(transcript.links_of(artifact.body)):
        if target not in known:
            raise FormatError(f"{artifact.path}: links to {target[:120]}, which did not come with it", hint=_HINT)


def _record(before: Artifact, after: Artifact) -> Replacement:
    versions = (before.sanitizer_version, after.sanitizer_version)
    return Replacement(before.path, _sha256(before), _sha256(after), *versions)


def _sha256(artifact: Artifact) -> str:
    return hashlib.sha256(serialized(artifact)).hexdigest()


def settled_manifest(found: Settled, sanitizer: Sanitizer, write_id: str, now: str) -> Manifest:
    """The delivery's manifest for a session that keeps its ids: as it came where it says what its files say by now."""
    manifest = found.delivery.manifest
    wanted = manifest._replace(private=found.delivery.private)
    clean = manifests.resanitized(wanted, found.replaced, sanitizer, write_id, now)
    same = clean._replace(revision=manifest.revision, write_id=manifest.write_id, updated_at=manifest.updated_at)
    return manifest if same == manifest else clean


def _settled_book(data: bytes, ref: BookRef, sanitizer: Sanitizer, defusals: Counter[bool]) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    before = sanitizer.redactions.total()
    redacted = sanitizer.text(text)
    if sanitizer.redactions.total() > before:
        text, data = redacted, redacted.encode()
    head = parsed_book(data, ref.scope, ref.kind).head
    safe = head + "".join(_safe_lines(text[len(head) :]))
    defusals[safe != text] += 1
    return safe.encode("utf-8", "surrogateescape")


def _safe_lines(text: str) -> Iterator[str]:
    """The lines with nothing in them that runs; a rule in somebody's own words is none of that."""
    for line in text.splitlines(keepends=True):
        yield line if line.strip() == "---" else defused(line)
