"""File names: strict patterns, so that only what lineage wrote counts."""

import pytest

from lineage.core.base import naming
from tests.support.parametrize import each
from tests.support.strategies import SESSION, STEM, TIME


@pytest.mark.parametrize("kind", [*naming.ARTIFACT_KINDS, naming.MANIFEST])
def test_a_path_and_its_parts_are_the_same_thing(kind: str) -> None:
    path = naming.artifact_path(STEM, kind)
    assert path == f"memory/2026-03-28T22-34-06.792Z--{SESSION.token}--{kind}.md"
    assert naming.parse_path(path) == (STEM, TIME, SESSION.token, kind)
    assert naming.parse_captured_at(STEM) == TIME


@each(
    "path",
    [
        f"memory/{STEM}--summary 2.md",
        f"memory/{STEM}--summary.sync-conflict-20260328.md",
        f"memory/{STEM}--summary (conflicted copy).md",
        f"memory/{STEM}--summary.md.icloud",
        f"memory/{STEM}--summary.md\n",
        f"memory/{STEM}--claim.md",
        f"memory/{STEM.upper()}--summary.md",
        f"memory/sub/{STEM}--summary.md",
        f"/memory/{STEM}--summary.md",
        f"memory/../memory/{STEM}--summary.md",
        f"{STEM}--summary.md",
        "memory/notes.md",
        "MEMORY.md",
    ],
)
def test_sync_leftovers_and_notes_are_not_artifacts(path: str) -> None:
    assert naming.parse_path(path) is None


def test_every_agent_but_the_default_one_has_a_folder_of_its_own() -> None:
    assert naming.memory_md_path("default") == "MEMORY.md"
    assert naming.memory_md_path("dev.2") == "agents/dev.2/MEMORY.md"
    assert [naming.memory_md_path(agent) for agent in ("con.x", "CON", "cOm1.", "ann.")] == [
        "agents/~-con.x/MEMORY.md", "agents/~c~o~n/MEMORY.md", "agents/c~om1~_/MEMORY.md", "agents/ann~_/MEMORY.md",
    ]  # fmt: skip
    assert naming.claim_path("t") == "memory/claims/t.md"
    assert naming.tombstone_path("t") == "memory/tombstones/t.md"
