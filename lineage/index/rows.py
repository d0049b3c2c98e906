"""From a canonical file to its row: path, hash, kind, identity, and the values of the ledger and the lists."""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.links import to_one_line
from lineage.core.base.project import build_project_key, normalize_subfolder, relate_path, strip_project
from lineage.core.capture.ledger import compute_membership, find_parent, is_visible
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.summary import list_checks, list_files
from lineage.core.format.synopsis import build_synopsis
from lineage.core.format.tool_overlap import collect_runs, find_repeated_tools, fold_once, tool_texts_of
from lineage.core.format.turns import TurnText
from lineage.core.search import passages
from lineage.core.search.passages import Passage

_MAX_FOLDERS = 200  # of an artifact
# Of a relative path: a command, an address and a pattern are none.
_RELATIVE_FILE = re.compile(r"(?:[\w.@+-]+/)+[\w.@+-]*\w\.\w+")


class ArtifactRow(NamedTuple):  # a rebuild makes and inserts thousands
    """A row of `artifacts`; the field names are the columns. `passages` and `tool_runs` go to tables of their own.

    `title` is the one known at capture; `ask` and `outcome` are a transcript's, as today's rules find them. `checks`
    are the commands of a summary that passed, a line each, `files` those below the project's root that it lists as
    edited. `folders` are those of its project that the session ran in or had files of in its calls, each a line that
    ends in a slash.
    `tool_runs` are the hashes of its tools' output. (core/format/tool_overlap.py)
    """

    source_path: str
    source_sha256: str
    source_kind: str
    agent_id: str
    session_id: str
    session_key: str | None
    session_token: str
    stem: str
    project: str | None
    project_key: str
    harness: str
    captured_at: str
    started_at: str | None
    ended_at: str | None
    membership_ts: str
    manifest_path: str
    content_sha256: str
    memory_sentence: str
    memory_sentence_quality: str
    title: str
    ask: str
    outcome: str
    checks: str
    private: int
    partial: int
    visible: int
    parent_token: str | None
    folders: str
    files: str
    stamp: str
    passages: Iterable[Passage]
    tool_runs: Collection[int] = ()

    def get_column_values(self) -> tuple[object, ...]:
        """Return the values in the order of `COLUMNS`."""
        return self[: len(COLUMNS)]


TurnTexts = Sequence[TurnText]

COLUMNS = ArtifactRow._fields[:-2]
UPSERT = (
    f"insert into artifacts ({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))})"
    f" on conflict (source_path) do update set {', '.join(f'{c} = excluded.{c}' for c in COLUMNS)} returning id"
)
"""Writes a row, replacing that of the same path, and returns its number."""


def build_row(
    document: Artifact | Manifest, data: bytes, stamp: str, turn_texts: TurnTexts | None = None
) -> ArtifactRow:
    """Return the row of a document read from `data`. `turn_texts` spares a second parse of a transcript."""
    return build_row_from_hash(document, hashlib.sha256(data).hexdigest(), stamp, turn_texts)


def build_row_from_hash(
    document: Artifact | Manifest, sha256: str, stamp: str, turn_texts: TurnTexts | None = None
) -> ArtifactRow:
    """Return the row of a document, given the hash of its data. See `build_row`."""
    artifact = document if isinstance(document, Artifact) else None
    if document.kind == naming.TRANSCRIPT and turn_texts is None:
        turn_texts = transcript.extract_texts(document.body)
    texts = turn_texts or ()
    fold = fold_once(texts)
    # no sentence that repeats a tool is the outcome
    synopsis = build_synopsis(texts, lambda found: find_repeated_tools(found, tool_texts_of(texts), fold))
    return ArtifactRow(
        source_path=document.path,
        source_sha256=sha256,
        source_kind=document.kind,
        agent_id=document.agent_id,
        session_id=document.session_id,
        session_key=document.session_key,
        session_token=document.identity.token,
        stem=document.stem,
        project=document.project,
        project_key=build_project_key(document.project, document.repository),
        harness=document.harness,
        captured_at=document.captured_at,
        started_at=document.started_at,
        ended_at=document.ended_at,
        membership_ts=compute_membership(document.ended_at, document.captured_at),
        manifest_path=artifact.manifest_path if artifact else document.path,
        content_sha256=document.content_sha256,
        memory_sentence=artifact.memory_sentence if artifact else "",
        memory_sentence_quality=artifact.memory_sentence_quality if artifact else "",
        title=document.title,
        ask=synopsis.ask,
        outcome=synopsis.outcome,
        checks="\n".join(list_checks(str(document.body))) if document.kind == naming.SUMMARY else "",
        private=int(document.private),
        partial=int(document.partial),
        visible=int(is_visible(document)),
        parent_token=find_parent(document),
        folders=format_folders(artifact.subfolder, *_iter_folders(artifact, turn_texts or ())) if artifact else "",
        files=list_edited_files(artifact) if artifact and document.kind == naming.SUMMARY else "",
        stamp=stamp,
        passages=_build_passages(document, turn_texts),
        tool_runs=collect_runs(tool_texts_of(texts), fold),
    )


def list_edited_files(summary: Artifact) -> str:
    """Return the column `files` of a summary."""
    found = (relate_path(path, summary.project or "", summary.subfolder) for path in list_files(str(summary.body)))
    return "\n".join(dict.fromkeys(filter(None, map(to_one_line, found))))


def format_folders(*folders: str) -> str:
    r"""Return the column `folders`. The root is none of them.

    >>> format_folders("packages/api", "", "docs", "docs")
    '\npackages/api/\ndocs/'
    """
    names = dict.fromkeys(to_one_line(normalize_subfolder(folder)) for folder in folders)
    return "".join(f"\n{name}/" for name in islice(filter(None, names), _MAX_FOLDERS))


def _iter_folders(artifact: Artifact, turn_texts: Iterable[TurnText]) -> Iterator[str]:
    """Yield the folders of the files in tool calls: the project's by their paths, others are relative."""
    targets = dict.fromkeys(turn.target.replace("\\", "/") for turn in turn_texts if "/" in turn.target)
    for target in targets if artifact.project else ():
        if (path := strip_project(target, artifact.project)) != target:
            yield path.rpartition("/")[0]
        else:
            files = (path for path in target.split(", ") if _RELATIVE_FILE.fullmatch(path))
            yield from (f"{artifact.subfolder}/{path}".rpartition("/")[0] for path in files)


def _build_passages(document: Artifact | Manifest, turn_texts: TurnTexts | None) -> Iterable[Passage]:
    if document.kind == naming.MANIFEST:
        return ()
    if turn_texts is not None:
        return passages.split_turns(turn_texts, is_typed=find_parent(document) is None)
    # The first line of a body holds its links. One passage at least carries the title and the sentence.
    return passages.split_text(str(document.body).partition("\n")[2]) or (Passage(""),)
