"""Spec, test 7: the sanitizer gives the same output for the same input, and no secret of a payload reaches a file.

Fails when any `sanitize` or `sanitize_optional` in pipeline/capture/source.py is left out, and without the
refusal of ids that look like a credential there.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import Turn
from lineage.core.sanitizer import BUILTIN, Sanitizer
from lineage.errors import InvalidInput
from lineage.pipeline.capture.session_end import capture_session
from tests.support.git import make_repository
from tests.support.workspace import (
    build_end_request,
    compact_session,
    end_session,
    make_turns,
    open_memory_workspace,
    open_test_workspace,
    read_store,
)

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
OTHER = "AKIA" + "QWERTYUIOPASDFGH"
TEXTS = [
    f"the token is {SECRET}, and {OTHER}.",
    f"password = 'correct-horse-{1234567890}' # {SECRET}",
    f"Authorization: Bearer {SECRET}\r\nx\rCookie\x00\x1b[31m{OTHER}\x1b[0m",
    f"https://user:{SECRET}@example.com/{OTHER}?a=[REDACTED:github-token]",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
    "nothing secret, ünïcode 🙂 \ud800 \u2028",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_output_is_the_same_every_time(text: str) -> None:
    assert len({Sanitizer().sanitize(text) for _ in range(5)}) == 1
    used = Sanitizer()
    assert [used.sanitize(text) for _ in range(3)] == [Sanitizer().sanitize(text)] * 3, (
        "nothing is remembered between texts"
    )


@pytest.mark.parametrize("text", TEXTS)
def test_sanitizing_twice_is_sanitizing_once(text: str) -> None:
    once = Sanitizer().sanitize(text)
    again = Sanitizer()
    assert again.sanitize(once) == once
    assert again.redactions == {}


def test_the_version_names_function_and_rules_and_stands_in_the_frontmatter(tmp_path: Path) -> None:
    assert re.fullmatch(r"sanitize_transcript_v1\+[0-9a-f]{8}", BUILTIN.version)
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        compact_session(ws)
        for path, data in read_store(ws.documents.store, "memory/").items():
            if path.endswith(("--transcript.md", "--summary.md", "--compaction.md")):
                assert f'\nsanitizer_version: "{BUILTIN.version}"\n'.encode() in data


def test_one_payload_gives_the_same_files_on_two_machines(tmp_path: Path) -> None:
    found = []
    for machine in ("one", "two"):
        with open_memory_workspace(tmp_path / machine) as ws:
            end_session(
                ws, transcript=[{"role": "user", "text": text} for text in TEXTS], captured_at="2026-11-20T10:00:00Z"
            )
            found.append(read_store(ws.documents.store, "memory/"))
    assert found[0] == found[1]


def turn(**fields: Any) -> dict[str, Any]:
    return {"transcript": [{"role": "assistant", "text": "fine", **fields}, *make_turns("And then?", "Done.")]}


def claude_code(**fields: Any) -> Callable[[Path], dict[str, Any]]:
    """A Claude Code transcript whose records have these fields too."""

    def written(folder: Path) -> dict[str, Any]:
        path = folder / "session.jsonl"
        records = [
            {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Why?"}},
            {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": "Because.", "model": "m"}},
        ]
        for record in records:
            at = {"timestamp": "2026-11-20T10:00:00.000Z", "cwd": "/home/ada/demo", **fields}
            message = record["message"] | fields.get("message", {})  # type: ignore[operator]
            record.update({**at, "message": message})
        title = {"type": "custom-title", "customTitle": fields.get("title", "A title")}
        path.write_text("\n".join(json.dumps(record) for record in [*records, title]), encoding="utf-8")
        return {"harness": "claude-code", "transcript_path": str(path), "project": None}

    return written


PLACES: dict[str, dict[str, Any] | Callable[[Path], dict[str, Any]]] = {
    "a user's text": {"transcript": make_turns(f"my key is {SECRET}", "ok")},
    "an assistant's text": {"transcript": make_turns("hi", f"your key is {SECRET}")},
    "a transcript given as text": {"transcript": f"User: my key is {SECRET}\nAssistant: ok"},
    "a tool's name": turn(name=f"tool-{SECRET}"),
    "a tool's input": turn(name="Bash", input=f"curl -H 'X: {SECRET}'"),
    "a tool's structured input": turn(name="Bash", input={"command": f"export A={SECRET}"}),
    "an unknown argument of a tool": turn(name="x", input={"anything": {"deep": [SECRET]}}),
    "a dictionary key of a tool's input": turn(name="x", input={SECRET: 1}),
    "a file name that was edited": turn(name="Edit", input={"file_path": f"/x/{SECRET}.py"}),
    "a tool's result": {
        "transcript": [{"role": "tool", "name": "Bash", "text": f"{'x' * 1490} {SECRET} {'y' * 9000}"}]
    },
    "the id of a turn": turn(id=f"turn {SECRET}"),
    "the project": {"project": f"/home/ada/{SECRET}"},
    "the working directory": {"project": None, "cwd": f"/home/ada/{SECRET}"},
    "the summary": {"summary": f"We used {SECRET}."},
    "the reason": {"reason": f"because {SECRET}"},
    "the branch": claude_code(gitBranch=f"fix/{SECRET}"),
    "the model": claude_code(message={"model": f"model {SECRET}"}),
    "the title": claude_code(title=f"About {SECRET}"),
    "the transcript's own directory": claude_code(cwd=f"/home/ada/{SECRET}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_secret_in_a_payload_is_nowhere_in_the_workspace(tmp_path: Path, place: Any) -> None:
    payload = place(tmp_path) if callable(place) else place
    root = tmp_path / "workspace"
    with open_test_workspace(root) as ws:
        assert end_session(ws, **payload).status == "captured"
        compact_session(ws, **{"summary": "Goal: the reader.", **payload, "reason": None})
    assert holding(root) == []


@pytest.mark.parametrize("field", ["summary", "trigger"])
def test_a_secret_in_a_compaction_is_nowhere_in_the_workspace(tmp_path: Path, field: str) -> None:
    with open_test_workspace(tmp_path) as ws:
        assert compact_session(ws, **{field: f"it is {SECRET}"}).status == "captured"
    assert holding(tmp_path) == []


@pytest.mark.parametrize("field", ["forked_from", "parent_session"])
def test_a_secret_in_what_a_transcript_says_of_other_sessions_is_nowhere(tmp_path: Path, field: str) -> None:
    turns = (Turn("user", "Go on with it."), Turn("assistant", "Done in reader.py."))
    with open_test_workspace(tmp_path / "w") as ws:
        capture = Capture(turns=turns, **{field: f"session {SECRET}"})  # type: ignore[arg-type]
        assert capture_session(ws, build_end_request(ws, "s-1"), capture).status == "captured"
    assert holding(tmp_path / "w") == []


def test_a_secret_in_the_name_of_a_subfolder_is_nowhere(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "repository") / "packages" / f"of-{SECRET}"
    folder.mkdir(parents=True)
    with open_test_workspace(tmp_path / "w") as ws:
        capture = Capture(turns=(Turn("user", "Go on with it."), Turn("assistant", "Done.")), project=str(folder))
        assert capture_session(ws, build_end_request(ws, "s-1", project=None), capture).status == "captured"
    assert holding(tmp_path / "w") == []


@pytest.mark.parametrize("field", ["session_id", "session_key", "agent_id", "lane", "harness"])
def test_an_id_that_holds_a_secret_is_refused_before_anything_is_written(tmp_path: Path, field: str) -> None:
    """An id can't be redacted without becoming another session's."""
    with open_test_workspace(tmp_path) as ws:
        with pytest.raises(InvalidInput):
            end_session(ws, **{field: SECRET})
        with pytest.raises(InvalidInput):
            compact_session(ws, **{field: SECRET})
    assert holding(tmp_path) == []
    assert not (tmp_path / "memory").exists()


def test_redactions_are_counted_and_shown_where_they_were(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript=make_turns(f"my key is {SECRET}, yes", "ok"))
        assert outcome.redactions == {"github-token": 1}
        text = ws.documents.store.read(outcome.transcript_path or "").data.decode()
        assert "my key is [REDACTED:github-token], yes" in text
        assert ws.telemetry.read_counters()["redactions"] == 1


def holding(root: Path) -> list[Path]:
    """The files below a folder, databases included, that hold the secret, or whose name does."""
    found = [path for path in root.rglob("*") if path.is_file()]
    return [path for path in found if SECRET.encode() in path.read_bytes() or SECRET in path.name]
