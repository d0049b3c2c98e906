"""Who a session is and which ids are usable; file names are strict patterns: only what lineage wrote counts."""

import pytest
from hypothesis import given

from lineage.core.base import naming
from lineage.core.base.naming import (
    MODEL_FOLDER,
    TOKEN,
    Identity,
    derive_session_token,
    is_test_session,
    validate_agent_id,
    validate_id,
)
from lineage.errors import InvalidInput
from tests.support.parametrize import each
from tests.support.strategies import SESSION, STEM, TIME, draw_well_formed


@given(draw_well_formed())
def test_a_token_is_sixteen_characters_whatever_the_id(identity: str) -> None:
    token = derive_session_token("default", identity)
    assert TOKEN.fullmatch(token)
    assert derive_session_token("default", f" {identity}\n") == token
    assert derive_session_token("other", identity) != token


def test_the_key_is_the_identity_where_there_is_one() -> None:
    assert Identity("a", "id", "key").token == derive_session_token("a", "key")
    assert Identity("a", "id").token == derive_session_token("a", "id")
    assert Identity("a", "id", "").token == derive_session_token("a", "id")


@pytest.mark.parametrize("agent", ["default", "dev.2", "0", "A" * 64, "a_b-c"])
def test_a_name_is_an_agent_id(agent: str) -> None:
    assert validate_agent_id(agent) == agent


@each("agent", ["", "a:b", "../x", ".a", "-a", "a/b", "a\\b", "a b", "é", "a\n", "A" * 65])
def test_what_could_be_a_path_or_two_names_is_no_agent_id(agent: str) -> None:
    with pytest.raises(InvalidInput):
        validate_agent_id(agent)


@each("value", [None, 5, "", " \n", "a\nb", "a\x00", "a\u2028b", "a\ud800", "a\x9bb", "x" * 257])
def test_an_id_is_one_printable_line(value: object) -> None:
    with pytest.raises(InvalidInput, match="session_id"):
        validate_id("session_id", value)


def test_an_id_is_stripped_and_otherwise_kept() -> None:
    assert validate_id("session_id", "  agent:main/сессия ]] \n") == "agent:main/сессия ]]"
    assert validate_id("session_id", "x" * 256) == "x" * 256


@each(
    "project",
    [
        "/tmp", "/tmp/x", "/private/tmp/x", "/var/folders/ab/T/x", "/dev/shm/x", r"C:\Users\ada\AppData\Local\Temp\x",
        f"/home/ada/.cache/{MODEL_FOLDER}k2", rf"D:\Scratch\{MODEL_FOLDER}k2\x",
    ],
)  # fmt: skip
def test_a_session_in_a_temporary_folder_is_a_trial(project: str) -> None:
    assert is_test_session(Identity("default", "s"), project)


@pytest.mark.parametrize(
    "project", ["/home/ada/tmp", "/tmpfiles/x", "/home/ada/tests", "/variable", "/dev/shmx", "/home/ada/lineage-model"]
)
def test_a_project_of_its_own_makes_no_trial_whatever_the_ids(project: str) -> None:
    assert not is_test_session(Identity("default", "test-1", "tmp-1"), project)


@pytest.mark.parametrize("prefix", ["test-", "spec-", "fixture-", "synthetic-", "tmp-"])
def test_without_a_project_the_prefix_of_id_or_key_decides(prefix: str) -> None:
    assert is_test_session(Identity("default", f"{prefix}1"), None)
    assert is_test_session(Identity("default", "s", f"{prefix}1"), None)
    assert not is_test_session(Identity("default", f"my-{prefix}1"), None)


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
