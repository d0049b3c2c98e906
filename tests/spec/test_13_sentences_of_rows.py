"""Spec, test 13: a row of MEMORY.md shows its artifact's `compose_sentence`, and no text from anywhere else.

Fails when the row's sentence is taken from a body, a title, a manifest or a counter, and when the index keeps a
sentence that its file no longer has.
"""

import re
from pathlib import Path

from lineage.core.format.documents import Artifact, serialize_document, with_body
from lineage.pipeline.maintenance.reindex import reindex
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, compact_session, end_session, open_test_workspace, write_capture

OTHER = "Another builder wrote that the reader of demo was mended and that nothing else was touched."
ROW = re.compile(r"^- \S+ \| session=(\S+) \| project=\S+ \| (.*?) \[\[.*$", re.MULTILINE)


def shown(ws: Workspace) -> dict[str, str]:
    return dict(ROW.findall(ws.documents.store.read("MEMORY.md").data.decode()))


def artifact_at(ws: Workspace, path: str | None) -> Artifact:
    artifact = ws.documents.artifacts.get(path or "")
    assert artifact is not None
    return artifact


def put(root: Path, artifact: Artifact) -> None:
    """What no writer of lineage does: another artifact in the place of a committed one."""
    (root / artifact.path).unlink()
    (root / artifact.path).write_bytes(serialize_document(artifact))


def test_a_row_shows_the_sentence_of_its_artifact(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
        assert shown(ws) == {"s-1": outcome.memory_sentence}
        assert artifact_at(ws, outcome.summary_path).memory_sentence == outcome.memory_sentence


def test_another_sentence_in_the_artifact_is_another_sentence_in_the_row(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
        end_session(ws, "s-2")
        untouched = shown(ws)["s-2"]
        put(tmp_path, artifact_at(ws, outcome.summary_path)._replace(memory_sentence=OTHER))
        reindex(ws)
        assert shown(ws) == {"s-1": OTHER, "s-2": untouched}


def test_other_text_in_the_body_title_or_manifest_changes_no_row(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
        before = ws.documents.store.read("MEMORY.md").data
        for path in (outcome.summary_path, outcome.transcript_path):
            artifact = artifact_at(ws, path)
            put(tmp_path, with_body(artifact._replace(title=OTHER, aliases=[OTHER]), artifact.body + OTHER + "\n"))
        manifest = tmp_path / (outcome.manifest_path or "")
        manifest.write_text(re.sub(r'\ntitle: ".*"', f'\ntitle: "{OTHER}"', manifest.read_text()))
        reindex(ws)
        assert ws.documents.store.read("MEMORY.md").data == before


def test_files_that_another_builder_wrote_show_the_sentence_that_they_carry(tmp_path: Path) -> None:
    """No flow of ours ran: the sentence can come from the frontmatter only."""
    with open_test_workspace(tmp_path) as ws:
        write_capture(ws, sentence=OTHER, captured_at="2026-11-20T10:05:00Z")
        reindex(ws)
        assert shown(ws) == {"s-1": OTHER}


def test_each_capture_of_a_session_has_its_own_sentence(tmp_path: Path) -> None:
    from tests.support.workspace import make_turns

    talk = make_turns("Why?", "Because.", "Rename the writer, please.", "Done.")
    with open_test_workspace(tmp_path) as ws:
        outcomes = [
            end_session(ws, transcript=talk[:2]),
            end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), transcript=talk),
        ]
        text = ws.documents.store.read("MEMORY.md").data.decode()
        assert [row[1] for row in ROW.findall(text)] == [outcome.memory_sentence for outcome in reversed(outcomes)]


def test_a_session_that_was_only_compacted_shows_the_compactions_sentence(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = compact_session(ws)
        assert shown(ws) == {"s-1": outcome.memory_sentence}
