"""Which sentences of a passage a tool printed first: nobody is told them at a prompt (reliability: overlap).

The index holds the hashes of all that a project's tools printed, and the sentences are looked up as at a capture. What
a person typed is left out as well where a tool printed it: it may be pasted.
"""

import sqlite3

from lineage.core.base.word_runs import (
    OVERLONG,
    RUN_MASK,
    SentenceRuns,
    fold_plain,
    hash_sentences,
    mark_owner,
    split_folded,
    split_units,
)  # fmt: skip
from lineage.core.search.index_sql import MAX_PASSAGES, OWNER
from lineage.recall.reader import FoundRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SELECT_PRINTED = f"""
    select distinct t.run from json_each(:keys) k join tool_runs t on t.run = k.value
    join artifacts a on a.id = t.artifact join artifacts own on own.id = :artifact
    where {OWNER.format("a")} = {OWNER.format("own")} and a.captured_at <= own.captured_at
      and (t.run & {OVERLONG} = 0 or a.session_token = own.session_token)
"""


def find_echoes(connection: sqlite3.Connection, row: FoundRow, sentences: "Sequence[str]") -> set[int]:
    """Return the places of the sentences that repeat a tool: all, where too much was printed to be compared."""
    words = [_split_units(sentence) for sentence in sentences]
    # The items of a list are compared as they stand and as they are read, without the number before them.
    read = [(own[1:], units[1:]) if own and own[0].isdigit() else (own, units) for own, units in words]
    runs = [SentenceRuns() for _ in sentences]
    hash_sentences(words, runs)
    if read != words:
        hash_sentences(read, runs)
    mark = mark_owner(row.project or row.token)
    keys = str([mark | run for run in {OVERLONG}.union(*(own.hashes for own in runs))])
    found = connection.execute(_SELECT_PRINTED, {"keys": keys, "artifact": row.number // MAX_PASSAGES})
    printed = {run & RUN_MASK for (run,) in found}
    if OVERLONG in printed:
        return set(range(len(sentences)))
    return {place for place, own in enumerate(runs) if own.are_in(printed)}


def _split_units(text: str) -> tuple[list[str], list[int]]:
    folded = fold_plain(text)
    if folded is not None:
        return split_units(folded, split_folded)
    # Such text is rarer, and reading it takes imports that a hook better does without.
    from lineage.core.base.normalize import tokenize_folded
    from lineage.core.base.unwrap import fold_readings

    return split_units(fold_readings(text), tokenize_folded)
