"""Part of a reindex: what came lately. (scale.md: past one machine)

Names of artifacts begin with the time of their capture, so that what came since the last time ends a listing. That
begins earlier by an overlap, for writers whose clocks are behind; whoever is later still, or writes over what is older,
is found by a comparison of everything once in a while. A session's manifest is as old as its first capture: it is read
again with each that is added.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

from lineage.core import naming
from lineage.core.times import for_file_name, shifted
from lineage.errors import FormatError
from lineage.index import Known
from lineage.pipeline.behind import marks
from lineage.pipeline.house import House
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.upkeep.forgetting import forget_removed
from lineage.pipeline.upkeep.reindexing import Change, Report, prune_vectors, reindex, take_in, take_in_books
from lineage.store import Entry

OVERLAP_DAYS = 2
COMPARED_EVERY_DAYS = 1

_SYNCED, _COMPARED = "synced", "compared"
_BATCH = 1000


def synced(house: House, *, confirmed: bool = False) -> Report:
    """The rows of what came since the last time, `OVERLAP_DAYS` before that included, and MEMORY.md. Everything is
    compared where that is `COMPARED_EVERY_DAYS` ago, where files are gone that no removal explains, and where rows are
    missing as a whole.

    Raises SuddenLoss as `reindex` does.
    """
    since = _since(house)
    report = _recent(house, f"{naming.MEMORY}{for_file_name(since)}") if since else None
    if report is None:
        report = reindex(house, confirmed=confirmed)
        house.telemetry.mark(_COMPARED, house.now)
    house.telemetry.mark(_SYNCED, house.now)
    return report


def _since(house: House) -> str | None:
    """From which time on files are listed; None where all of them are to be compared. A time that lies ahead is of a
    clock that was wrong, and says nothing."""
    noted = house.telemetry.marks()
    compared, last = noted.get(_COMPARED, ""), noted.get(_SYNCED, "")
    is_due = not shifted(house.now, days=-COMPARED_EVERY_DAYS) < compared <= shifted(house.now, days=1)
    if is_due or not last or house.index.is_new or marks(house.canon):
        return None
    return shifted(min(last, house.now), days=-OVERLAP_DAYS)


def _recent(house: House, after: str) -> Report | None:
    """Takes in what sorts behind a path; None, and nothing done, where something is gone and no removal says why."""
    report = Report()
    known = {item.path: item for item in house.index.known(after)}
    listed = list(takewhile(lambda entry: entry.key < naming.CLAIMS, house.canon.store.list(naming.MEMORY, after)))
    removed = house.canon.tombstones.tokens()
    gone = known.keys() - {entry.key for entry in listed}
    if any(removed.isdisjoint(naming.tokens_in(path)) for path in gone):
        return None
    report.dropped = forget_removed(house, removed)
    tokens = _compare(house, listed, known, report)
    take_in(house, _older_manifests(house, tokens, after), report)
    take_in_books(house, report)
    if report.added or report.changed or report.dropped or report.books:
        report.published = publish_all(house)
        prune_vectors(house)
    return report


def _compare(house: House, listed: Iterable[Entry], known: Mapping[str, Known], report: Report) -> set[str]:
    """Takes in what has no row, or one with another stamp; the tokens of the sessions that it belongs to."""
    fresh, tokens = list[Change](), set[str]()
    removed = house.canon.tombstones.tokens()
    for entry in listed:
        name, row = naming.parse_path(entry.key), known.get(entry.key)
        if name is None:
            report.strays.append(entry.key)
        elif name.token in removed:
            report.buried.append(entry.key)
        elif row and row.stamp == entry.stamp:
            report.unchanged += 1
        else:
            tokens.add(name.token)
            fresh.append(Change(entry.key, entry.stamp, row.sha256 if row else None))
    for start in range(0, len(fresh), _BATCH):
        take_in(house, fresh[start : start + _BATCH], report)
    return tokens


def _older_manifests(house: House, tokens: Iterable[str], after: str) -> Iterator[Change]:
    """The manifests of sessions that began before what was listed. Each is read: that it changed is likely."""
    for token in sorted(tokens):
        with suppress(FormatError):  # a damaged claim; the comparison of everything reports it
            stem = house.canon.claims.stem_of(token)
            path = naming.artifact_path(stem, naming.MANIFEST) if stem else after
            if path < after:
                yield Change(path, "", "")
