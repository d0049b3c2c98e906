"""Spec, test 4: a committed artifact never changes.

Fails without the comparison in `commit` of store/operations.py, without `frozen` in store/local.py, and when a flow
writes a later capture under an earlier one's name.
"""

import stat
from pathlib import Path

import pytest

from lineage.core import naming
from lineage.core.documents import with_body
from lineage.errors import ImmutableError
from tests.support.houses import at, compact, contents, end, house_at, memory_house, turns

KINDS = ("transcript", "summary", "compaction")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["body", "frontmatter"])
def test_a_rewrite_of_a_committed_artifact_is_refused_and_changes_nothing(tmp_path: Path, kind: str, part: str) -> None:
    with house_at(tmp_path) as house:
        end(house)
        compact(house)
        before = contents(house.canon.store, "memory/")
        path = next(path for path in before if path.endswith(f"--{kind}.md"))
        committed = house.canon.artifacts.get(path)
        assert committed is not None
        changed = with_body(committed, "other\n") if part == "body" else committed._replace(memory_sentence="Other.")
        with pytest.raises(ImmutableError):
            house.canon.artifacts.write(changed)
        assert contents(house.canon.store, "memory/") == before


def test_writing_the_same_content_again_succeeds_and_writes_nothing(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = end(house)
        committed = house.canon.artifacts.get(outcome.transcript_path or "")
        assert committed is not None
        status = (tmp_path / committed.path).stat()
        assert house.canon.artifacts.write(committed) is False
        assert (tmp_path / committed.path).stat() == status


def test_committed_files_are_read_only_and_the_manifest_is_not(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end(house)
        compact(house)
    modes = {path.stem.rpartition("--")[2]: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("memory/*.md")}
    assert {kind: modes[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0o444)
    assert modes["manifest"] & stat.S_IWUSR


def test_no_later_end_compaction_or_payload_touches_what_is_committed(tmp_path: Path) -> None:
    later = turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Done.")
    with memory_house(tmp_path) as house:
        end(house, transcript=later[:2])
        compact(house)
        committed = _committed(house.canon.store)
        for index, payload in enumerate(
            [
                {"transcript": later},
                {"transcript": later, "project": "/elsewhere", "summary": "Another story.", "private": True},
                {"transcript": turns("A rewritten beginning", "and its answer"), "captured_at": house.now},
                {"transcript": later[:1], "ended_at": "2026-01-01T00:00:00Z"},
            ]
        ):
            end(at(house, f"2026-11-22T1{index}:00:00.000Z"), **payload)
            compact(at(house, f"2026-11-23T1{index}:00:00.000Z"), summary=f"Goal {index}")
            now = _committed(house.canon.store)
            assert {path: now.get(path) for path in committed} == committed
            committed = now


def _committed(store: object) -> dict[str, bytes]:
    found = contents(store, "memory/")  # type: ignore[arg-type]
    return {path: data for path, data in found.items() if (naming.parse_path(path) or ("", "", "", ""))[3] in KINDS}
