"""The notes of an archive: one for each archived artifact, as the target of links, and a list for each month.

They are pure functions of the artifacts and can be rendered again: the bundles are the truth.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from lineage.core.base import naming
from lineage.core.base.links import escape_markdown, wikilink
from lineage.core.base.plural import pluralize
from lineage.core.base.times import to_date
from lineage.core.capture.ledger import ArtifactHead, LedgerEntry, group_heads
from lineage.core.format import frontmatter, transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.errors import FormatError

KIND = "archive"
_VERSION = "1"
_PRIVATE = "(private session)"
_TAGS = ["lineage", "lineage/archive"]


def render_artifact_note(artifact: Artifact, data: bytes) -> bytes:
    """Return the note of an archived artifact. `data` is the artifact's file.

    A summary or compaction stays as it is. A transcript keeps its turns without text, so that links to turns work.
    """
    if artifact.kind != naming.TRANSCRIPT:
        return data
    siblings = transcript.extract_links(artifact.body)
    token = artifact.identity.token
    notice = f"> Archived: `lineage show {token} --turns A-B` prints what was said in these turns."
    turns = [Turn(t.role, "", t.at, id=t.id, number=t.number) for t in transcript.parse_turns(artifact.body)]
    names: dict[str, object] = {"title": artifact.title, "aliases": artifact.aliases, "tags": _TAGS}
    meta = {"kind": "archived-transcript", "captured_at": artifact.captured_at, **names}
    body = transcript.render_turns(f"{siblings}\n\n{notice}", turns)
    return frontmatter.dump(frontmatter.build_post(meta, body)).encode()


def render_month_note(month: str, heads: Iterable[ArtifactHead], contents: str) -> bytes:
    """Return the list of a month's archived captures and compactions, oldest first. `contents` is their hash."""
    entries = list(group_heads(sorted(heads, key=lambda head: head.stem)))
    sessions = len({entry.stem.rpartition("--")[2] for entry in entries})
    meta: dict[str, object] = {"kind": KIND, "month": month, "contents": contents, "tags": _TAGS}
    return frontmatter.dump(frontmatter.build_post(meta, "\n".join(_render_lines(month, entries, sessions)))).encode()


def _render_lines(month: str, entries: Sequence[LedgerEntry], sessions: int) -> Iterable[str]:
    yield f"# Archive {month}"
    yield ""
    yield f"> {pluralize(len(entries), 'capture')} of {pluralize(sessions, 'session')}, packed into `bundles/`:"
    yield "> `lineage show`, `search` and `remove` work on them as ever. Derived: edits here are lost."
    for date, group in groupby(entries, key=lambda entry: to_date(naming.parse_captured_at(entry.stem))):
        yield from ("", f"## {date}", "", *map(_render_row, group))
    yield ""


def _render_row(entry: LedgerEntry) -> str:
    sentence = escape_markdown(entry.sentence) if entry.is_public else _PRIVATE
    links = " ".join(wikilink(path, label) for path, label in entry.links)
    session = escape_markdown(entry.session_id)
    return f"- {naming.parse_captured_at(entry.stem)} | session={session} | {sentence} {links}"


def hash_contents(hashes: Mapping[str, str]) -> str:
    """Return one hash of a month's artifacts, given the hash of each path."""
    text = "\n".join([_VERSION, *(f"{digest} {path}" for path, digest in sorted(hashes.items()))])
    return hashlib.sha256(text.encode()).hexdigest()


def parse_contents_hash(data: bytes) -> str | None:
    """Return the hash of contents in a month's note, None for any other file."""
    try:
        meta = frontmatter.load(data.decode("utf-8")).metadata
    except (FormatError, UnicodeDecodeError):
        return None
    contents = meta.get("contents")
    return contents if meta.get("kind") == KIND and isinstance(contents, str) else None
