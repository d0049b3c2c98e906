"""The notes of an archive: what the links to archived artifacts lead to, and a list for each month.

Pure functions of the artifacts: the bundles are the truth, and each of these can be made again.
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
from lineage.errors import FormatError

KIND = "archive"
_VERSION = "1"
_PRIVATE = "(private session)"
_TAGS = ["lineage", "lineage/archive"]


def render_artifact_note(artifact: Artifact, data: bytes) -> bytes:
    """The note of an archived artifact: a summary or compaction as it is, a transcript's turns without their text, so
    that a link to a turn leads to its place. `data` is the artifact's file."""
    if artifact.kind != naming.TRANSCRIPT:
        return data
    siblings = transcript.extract_links(artifact.body)
    token = artifact.identity.token
    notice = f"> Archived: `lineage show {token} --turns A-B` prints what was said in these turns."
    turns = [turn._replace(text="", name="", input="", error=False) for turn in transcript.parse_turns(artifact.body)]
    meta: dict[str, object] = {
        "kind": "archived-transcript",
        "captured_at": artifact.captured_at,
        "title": artifact.title,
        "aliases": artifact.aliases,
        "tags": _TAGS,
    }
    return frontmatter.dump(
        frontmatter.build_post(meta, transcript.render_turns(f"{siblings}\n\n{notice}", turns))
    ).encode()


def render_month_note(month: str, heads: Iterable[ArtifactHead], contents: str) -> bytes:
    """The list of a month's archived captures and compactions, oldest first; `contents` says what it was made of."""
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
    return (
        f"- {naming.parse_captured_at(entry.stem)} | session={escape_markdown(entry.session_id)} | {sentence} {links}"
    )


def hash_contents(hashes: Mapping[str, str]) -> str:
    """What a month's notes are made of, by path and hash: equal where the notes are."""
    text = "\n".join([_VERSION, *(f"{digest} {path}" for path, digest in sorted(hashes.items()))])
    return hashlib.sha256(text.encode()).hexdigest()


def parse_contents_hash(data: bytes) -> str | None:
    """What a month's note says that it was made of; None where the file is no such note."""
    try:
        meta = frontmatter.load(data.decode("utf-8")).metadata
    except (FormatError, UnicodeDecodeError):
        return None
    contents = meta.get("contents")
    return contents if meta.get("kind") == KIND and isinstance(contents, str) else None
