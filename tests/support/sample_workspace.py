"""A workspace with something of everything to look at, made through the use cases themselves."""

from pathlib import Path

from lineage.app.init_workspace import init_workspace
from lineage.app.workspace import run_in_workspace
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.workspace import Workspace
from tests.support.workspace import compact_session, end_session, make_turns

AGENT = Caller("codex")


def write_sample_workspace(root: Path, *, length: int = 6) -> Path:
    """Three sessions of two projects, the first of `length` turns, compacted and resumed; books; something waits."""
    init_workspace(root)
    run_in_workspace(root, lambda ws: _fill(ws, length), writes=True)
    return root


def _fill(ws: Workspace, length: int) -> None:
    said = make_turns(*(f"turn {number} about parser.py" for number in range(1, length + 1)))
    end_session(ws, "long", project="/home/ada/reader", transcript=said[:-2])
    compact_session(ws, "long", project="/home/ada/reader", transcript=said[:-2])
    end_session(ws, "long", project="/home/ada/reader", transcript=said)
    end_session(
        ws, "short", project="/home/ada/shop", transcript=make_turns("Why does checkout.py fail?", "The token is old.")
    )
    end_session(
        ws, "hidden", project="/home/ada/shop", private=True, transcript=make_turns("My salary is high.", "Noted.")
    )
    remember(ws, Memo(text="Prefers tabs over spaces in Makefiles.", kind="preference", tags=("style",)))
    remember(ws, Memo(text="Write the release notes", kind="task", project="reader"))
    remember(ws, Memo(text="Prefers short commit messages in English.", kind="preference"), AGENT)
