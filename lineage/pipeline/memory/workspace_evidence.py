"""The output of tools in a session's turns and in the other captures of its project (reliability: overlap)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.project import build_project_key
from lineage.core.base.word_runs import OVERLONG
from lineage.core.books.entry import Entry
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.tool_overlap import Statement, ToolEvidence, hash_sentences
from lineage.core.format.turns import Turn
from lineage.index import Printed
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.workspace import Workspace, tolerate_outage

EARLIER = "an earlier result"
"""The name of a tool that printed a statement in another capture: which one is not kept."""

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")


@dataclass(frozen=True, slots=True)
class WorkspaceEvidence(ToolEvidence):
    """Evidence of `turns`, of the session's earlier captures and of the project's other sessions by then.

    While the index is unavailable, a statement of an agent waits.
    """

    ws: Workspace | None = None
    places: Sequence[Printed] = ()

    def find_tools(self, statements: Sequence[Statement]) -> list[str]:
        """Return for each statement the name of the tool that it repeats, "" for none."""
        tools = ToolEvidence.find_tools(self, statements)
        hashes = hash_sentences([one.text for one in statements])
        found = self._look_up({value for own in hashes for value in own.hashes})[0]
        return [
            tool or (EARLIER if not one.is_typed and own.are_in(found) else "")
            for tool, one, own in zip(tools, statements, hashes, strict=True)
        ]

    def find_waiting(self, statements: Sequence[Statement]) -> list[bool]:
        """Return for each statement of an agent whether a person has to confirm it."""
        if not statements:
            return []
        found, is_known = self._look_up({OVERLONG}, of_session=True)
        return [True] * len(statements) if found or not is_known else ToolEvidence.find_waiting(self, statements)

    def _look_up(self, hashes: set[int], *, of_session: bool = False) -> tuple[set[int], bool]:
        """Return those that the index or the import under way holds, and whether the index could be asked."""
        found = set[int]()
        if self.ws is None:
            return found, True
        if (printed := self.ws.printed) and not of_session:
            found.update(*(printed.find(place, hashes) for place in self.places))
        with tolerate_outage(self.ws) as outage:
            for place in self.places:
                found |= self.ws.index.find_tool_runs(place, hashes, of_session=of_session)
        return found, outage.reason is None


def gather_evidence(
    ws: Workspace,
    turns: Sequence[Turn],
    *,
    project: str | None,
    repository: str | None,
    token: str,
    until: str,
    stem: str = "",
    offset: int = 0,
) -> WorkspaceEvidence:
    """Return the evidence about a session's statements: its turns, and the captures up to a time.

    `stem` is the capture's own: the look-up leaves it out.
    """
    # A project that got its remote lately has sessions under its path.
    owners = dict.fromkeys(build_project_key(project, one) or token for one in (repository, None))
    return WorkspaceEvidence(turns, offset, ws, [Printed(owner, until, stem, token) for owner in owners])


def gather_artifact_evidence(ws: Workspace, artifact: Artifact) -> WorkspaceEvidence:
    """Return the evidence about an artifact: the turns that it holds, and the captures before it."""
    return gather_evidence(
        ws,
        transcript.parse_turns(artifact.body),
        project=artifact.project,
        repository=artifact.repository,
        token=artifact.identity.token,
        until=artifact.captured_at,
        stem=artifact.stem,
    )


def load_source_turns(ws: Workspace, entry: Entry) -> tuple[Sequence[Turn], str | None]:
    """Return the turns of the capture that an entry comes from, none if it is gone, and the id of its turn."""
    match = _LINK.fullmatch(entry.origin or "")
    path, turn_id = match.groups() if match else ("", None)
    document = load_readable_document(ws, path) if turn_id and naming.parse_path(path) else None
    return transcript.parse_turns(document.body) if isinstance(document, Artifact) else (), turn_id
