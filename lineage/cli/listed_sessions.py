"""What `lineage list` prints, on a terminal and in a pipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lineage.index import SessionRow


@dataclass(frozen=True, slots=True)
class ListedSessions:
    """Sessions to print: those that started sub-agents have these by token. `total` counts all that would be listed.

    For a terminal there are short ids by token and labels of projects by path.
    """

    rows: Sequence[SessionRow]
    total: int
    sub_agents: Mapping[str, Sequence[SessionRow]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    projects: Mapping[str, str] = field(default_factory=dict)


def describe_rest(listed: ListedSessions) -> str:
    """Return how many sessions of all are listed, and what lists the others."""
    return f"{len(listed.rows)} of {listed.total} sessions; `lineage list --all` lists all of them"
