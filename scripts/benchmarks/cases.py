"""The measurements by name: each opens what it needs of a corpus and gives its pairs of floor and subject.

A case yields one pair, or several that run in the same rounds. Its name, or a pair's `row`, is what goals.toml knows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from benchmarks import capturing, importing, recalling, reindexing, rendering, searching, starting, watching, writing
from benchmarks.corpus import Corpus
from benchmarks.pairing import Pair

Case = Callable[[Corpus], AbstractContextManager[Pair | Sequence[Pair]]]

LARGE = "large"
_MEGABYTES = 100

CASES: Mapping[str, Case] = {
    "help": starting.help_command,
    "status": starting.status_command,
    "hook": starting.hook,
    "hook-worker": starting.hook_with_worker,
    "context": starting.context_command,
    "render": rendering.clipped,
    "render-full": rendering.full,
    "render-growth": rendering.more_in_window,
    "render-outside": rendering.more_outside,
    "search": searching.workspace,
    "search-passages": searching.passages,
    "hook-prompt": recalling.at_prompt,
    "hook-action": recalling.at_action,
    "reindex-unchanged": reindexing.unchanged,
    "import": importing.history,
    "watch": watching.burst,
    "growth-render": rendering.growth,
    "growth-hook": starting.hook_growth,
    # captures add sessions to the corpus: they come late
    "capture": capturing.capture,
    "growth-session-end": capturing.growth,
    "writers-8": writing.eight,
    "writers-32": writing.thirty_two,
    LARGE: capturing.large(_MEGABYTES),
    # the longest comes last: of the others there are rows then, however soon the run has to end
    "reindex": reindexing.cold,
}

ONCE = frozenset({"help", "hook", "hook-worker", LARGE})
"""The same whatever the corpus: measured on the first one."""
GROWTH = frozenset({"growth-render", "growth-hook", "growth-session-end"})
"""Measured on every corpus but the first."""

KEEPING = frozenset({"render-growth", "render-outside", "search-passages", "hook-prompt", "hook-action", "import"})
"""Measured on something that is made beside the corpora and kept as they are."""

LAST = frozenset({"writers-8", "writers-32"})
"""Measured on the largest corpus alone."""


def pairs_of(found: Pair | Sequence[Pair]) -> Sequence[Pair]:
    return (found,) if isinstance(found, Pair) else found
