"""Spec, test 13: a row of MEMORY.md shows its artifact's `memory_sentence`, and no text from anywhere else.

Fails when the row's sentence is taken from a body, a title, a manifest or a counter, and when the index keeps a
sentence that its file no longer has.
"""

import re
from pathlib import Path

from lineage.core.documents import Artifact, serialized, with_body
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import reindex
from tests.support.houses import at, compact, end, house_at, write_capture

OTHER = "Another builder wrote that the reader of demo was mended and that nothing else was touched."
ROW = re.compile(r"^- \S+ \| session=(\S+) \| project=\S+ \| (.*?) \[\[.*$", re.MULTILINE)


def shown(house: House) -> dict[str, str]:
    return dict(ROW.findall(house.canon.store.read("MEMORY.md").data.decode()))


def artifact_at(house: House, path: str | None) -> Artifact:
    artifact = house.canon.artifacts.get(path or "")
    assert artifact is not None
    return artifact


def put(root: Path, artifact: Artifact) -> None:
    """What no writer of lineage does: another artifact in the place of a committed one."""
    (root / artifact.path).unlink()
    (root / artifact.path).write_bytes(serialized(artifact))


def test_a_row_shows_the_sentence_of_its_artifact(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = end(house)
        assert shown(house) == {"s-1": outcome.memory_sentence}
        assert artifact_at(house, outcome.summary_path).memory_sentence == outcome.memory_sentence


def test_another_sentence_in_the_artifact_is_another_sentence_in_the_row(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = end(house)
        end(house, "s-2")
        untouched = shown(house)["s-2"]
        put(tmp_path, artifact_at(house, outcome.summary_path)._replace(memory_sentence=OTHER))
        reindex(house)
        assert shown(house) == {"s-1": OTHER, "s-2": untouched}


def test_other_text_in_the_body_title_or_manifest_changes_no_row(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = end(house)
        before = house.canon.store.read("MEMORY.md").data
        for path in (outcome.summary_path, outcome.transcript_path):
            artifact = artifact_at(house, path)
            put(tmp_path, with_body(artifact._replace(title=OTHER, aliases=[OTHER]), artifact.body + OTHER + "\n"))
        manifest = tmp_path / (outcome.manifest_path or "")
        manifest.write_text(re.sub(r'\ntitle: ".*"', f'\ntitle: "{OTHER}"', manifest.read_text()))
        reindex(house)
        assert house.canon.store.read("MEMORY.md").data == before


def test_files_that_another_builder_wrote_show_the_sentence_that_they_carry(tmp_path: Path) -> None:
    """No flow of ours ran: the sentence can come from the frontmatter only."""
    with house_at(tmp_path) as house:
        write_capture(house, sentence=OTHER, captured_at="2026-11-20T10:05:00Z")
        reindex(house)
        assert shown(house) == {"s-1": OTHER}


def test_each_capture_of_a_session_has_its_own_sentence(tmp_path: Path) -> None:
    from tests.support.houses import turns

    talk = turns("Why?", "Because.", "Rename the writer, please.", "Done.")
    with house_at(tmp_path) as house:
        outcomes = [end(house, transcript=talk[:2]), end(at(house, "2026-11-21T13:00:00.000Z"), transcript=talk)]
        text = house.canon.store.read("MEMORY.md").data.decode()
        assert [row[1] for row in ROW.findall(text)] == [outcome.memory_sentence for outcome in reversed(outcomes)]


def test_a_session_that_was_only_compacted_shows_the_compactions_sentence(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = compact(house)
        assert shown(house) == {"s-1": outcome.memory_sentence}
