"""A workspace with something of everything to look at, made through the use cases themselves."""

from pathlib import Path

from lineage.app import initialize, with_house
from lineage.harness.callers import Caller
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.remembering import Memo, remember
from tests.support.houses import compact, end, turns

AGENT = Caller("codex")


def lived_in(root: Path, *, length: int = 6) -> Path:
    """Three sessions of two projects, the first of `length` turns, compacted and resumed; books; something waits."""
    initialize(root)
    with_house(root, lambda house: _filled(house, length), writes=True)
    return root


def _filled(house: House, length: int) -> None:
    said = turns(*(f"turn {number} about parser.py" for number in range(1, length + 1)))
    end(house, "long", project="/home/ada/reader", transcript=said[:-2])
    compact(house, "long", project="/home/ada/reader", transcript=said[:-2])
    end(house, "long", project="/home/ada/reader", transcript=said)
    end(house, "short", project="/home/ada/shop", transcript=turns("Why does checkout.py fail?", "The token is old."))
    end(house, "hidden", project="/home/ada/shop", private=True, transcript=turns("My salary is high.", "Noted."))
    remember(house, Memo(text="Prefers tabs over spaces in Makefiles.", kind="preference", tags=("style",)))
    remember(house, Memo(text="Write the release notes", kind="task", project="reader"))
    remember(house, Memo(text="Prefers short commit messages in English.", kind="preference"), AGENT)
