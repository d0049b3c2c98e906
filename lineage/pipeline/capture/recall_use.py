"""A session's use of the items given by hooks, counted at its captures in numbers alone (usefulness: counts)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from lineage.core.base.naming import Identity
from lineage.core.format.turns import ASSISTANT, Turn
from lineage.documents.recall_log import GivenItem
from lineage.recall.marks import mark_text
from lineage.workspace.workspace import Workspace

GIVEN, TOKENS, USED = "given", "tokens", "used"


def count_recall(ws: Workspace, identity: Identity, turns: Sequence[Turn]) -> None:
    """Count the items given to the session since its last capture, and those of all that it used in these turns."""
    log, session = ws.documents.recall_log, (identity.agent_id, identity.session_id)
    items = log.list_items(*session)
    used = find_used([item for item in items if not item.get("is_used")], turns)
    new = [item for item in items if not item.get("is_counted")]
    if not (used or new):
        return
    log.change_items(*session, lambda item: item | _describe(item["id"] in used))
    counts = Counter({GIVEN: len(new), TOKENS: sum(int(item.get(TOKENS, 0)) for item in new), USED: len(used)})
    ws.telemetry.count_recall(ws.now[:10], +counts)


def _describe(is_used: bool) -> dict[str, bool]:
    return {"is_counted": True} | ({"is_used": True} if is_used else {})


def find_used(items: Sequence[GivenItem], turns: Iterable[Turn]) -> set[str]:
    """Return the ids of the items that the agent spoke of or acted on first, after they were given.

    The words of a person or a tool before it in these turns are no use of memory.
    """
    known, used = set[int](), set[str]()
    for turn in turns if items else ():
        is_agent = turn.role == ASSISTANT
        own = [turn.text] * is_agent + [turn.input, *(part.text for part in turn.parts)]
        marks = mark_text("\n".join(own)) - known
        for item in items:
            is_later = turn.at is None or turn.at >= str(item.get("at"))
            if item["id"] not in used and is_later and not marks.isdisjoint(item["marks"]):
                used.add(item["id"])
        known |= marks if is_agent else marks | mark_text(turn.text)
    return used
