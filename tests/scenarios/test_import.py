"""Backfill of the history that harnesses keep: whole command lines on the samples of every harness.

Fails without `_without_copies` or either of its orders, `_holds_all_of`, `_first_own`, `read_mtime`, the one time of
`_at`, the stamp, the claim, the `-wal` or `generations` of history.py, the deletion in `Telemetry.forget`, and
`_end_with_parent`.
"""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.documents import Artifact, parse_document_as
from lineage.core.format.transcript import extract_turn_ids
from lineage.errors import LineageError
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from tests.support.commands import LineageCommand, make_workspace_for
from tests.support.dead_processes import read_all_files
from tests.support.openclaw import add_session, create_database

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
SESSION = "aa765e29-162b-5be6-8e53-f03014531e0e"
FORK = "2489c83d-fca2-5674-a85a-9f9be83b8d4e"
SAMPLE = DATA / "claude-code" / "projects" / "-home-ada-demo" / f"{SESSION}.jsonl"
BLOB = re.compile(rb"[A-Za-z0-9+/=_-]{100,}")
HOMES = {
    "claude-code": ".claude", "codex": ".codex", "copilot": ".copilot", "cursor": ".cursor", "gemini": ".gemini",
    "goose": ".local/share/goose/sessions", "openclaw": ".openclaw", "opencode": ".local/share/opencode",
    "pi": ".pi/agent", "qwen": ".qwen", "antigravity": ".gemini/antigravity-cli",
}  # fmt: skip
COUNTS = {
    "aider": {"sources": 2, "captured": 1, "empty": 1},
    "antigravity": {"sources": 1, "captured": 1, "compactions": 1},
    "claude-code": {"sources": 12, "captured": 2, "unchanged": 1, "empty": 1, "copies": 6, "compactions": 1},
    "codex": {"sources": 7, "captured": 6, "copies": 1, "compactions": 2, "unsummarized": 2},
    "copilot": {"sources": 1, "captured": 1, "compactions": 1},
    "cursor": {"sources": 3, "captured": 2, "copies": 1},
    "gemini": {"sources": 5, "captured": 4, "copies": 1, "compactions": 2},
    "generic": {"sources": 1, "captured": 1},
    "goose": {"sources": 1, "captured": 1, "compactions": 1},
    "openclaw": {"sources": 2, "captured": 2, "compactions": 1},
    "opencode": {"sources": 4, "captured": 2, "empty": 1, "copies": 1, "compactions": 2},
    "pi": {"sources": 4, "captured": 4, "compactions": 3},
    "qwen": {"sources": 3, "captured": 3, "compactions": 1, "unsummarized": 1},
}


def imported(lineage: LineageCommand, harness: str, *more: object) -> dict[str, Any]:
    """What the import of one harness reports."""
    done = lineage("import", harness, *map(str, more), "--json", *(() if "--jobs" in more else ("--jobs", "1")))
    assert (done.code, done.err) == (0, "")
    (report,) = done.json["harnesses"]
    return report


def files(root: Path) -> dict[str, bytes]:
    """Every canonical file and MEMORY.md, without what is another one at each write of a manifest."""
    volatile = re.compile(rb"^(updated_at|write_id): .*\n", re.MULTILINE)
    paths = [*sorted((root / "memory").rglob("*.md")), root / "MEMORY.md"]
    return {str(path.relative_to(root)): volatile.sub(b"", path.read_bytes()) for path in paths}


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def transcripts(root: Path) -> list[Artifact]:
    paths = sorted((root / "memory").glob("*--transcript.md"))
    return [parse_document_as(Artifact, path.read_bytes(), f"memory/{path.name}") for path in paths]


def another(seed: int, lines: Sequence[bytes] | None = None) -> tuple[str, bytes]:
    """The sample as another session: its id and its file, with other ids throughout."""
    names: dict[bytes, bytes] = {}

    def renamed(match: re.Match[bytes]) -> bytes:
        return names.setdefault(match[0], str(uuid.uuid5(uuid.NAMESPACE_URL, f"{seed} {match[0]!r}")).encode())

    data = b"".join(SAMPLE.read_bytes().splitlines(keepends=True) if lines is None else lines)
    data = re.sub(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", renamed, data)
    return names[SESSION.encode()].decode(), data


def history(folder: Path, count: int) -> Path:
    """A folder of so many sessions, as Claude Code keeps them."""
    folder.mkdir(parents=True)
    for seed in range(count):
        session, data = another(seed)
        (folder / f"{session}.jsonl").write_bytes(data)
    return folder


def forget(lineage: LineageCommand) -> None:
    """Loses what was counted, and with it what was imported from where."""
    (lineage.root / ".lineage" / "runtime.db").unlink()


@pytest.mark.parametrize("harness", sorted(COUNTS))
def test_every_sample_is_imported_and_counted_and_again_changes_nothing(lineage: LineageCommand, harness: str) -> None:
    zero = dict.fromkeys(("captured", "empty", "copies", "compactions", "unsummarized", "unchanged", "refused"), 0)
    report = imported(lineage, harness, DATA / harness)
    assert {key: report[key] for key in (zero | COUNTS[harness])} == zero | COUNTS[harness]
    assert report["turns"] == sum(len(extract_turn_ids(artifact.body)) for artifact in transcripts(lineage.root))
    before = files(lineage.root)
    assert len({artifact.session_id for artifact in transcripts(lineage.root)}) == COUNTS[harness]["captured"]
    assert len([name for name in before if name.endswith("--compaction.md")]) == COUNTS[harness].get("compactions", 0)
    again = imported(lineage, harness, DATA / harness)
    sessions = report["captured"] + report["unchanged"]
    assert (again["captured"], again["unchanged"], again["turns"]) == (0, sessions, 0)
    assert again["unread"] == report["sources"] - report["empty"] - len(report["problems"]) - report["unchanged"]
    forget(lineage)
    third = imported(lineage, harness, DATA / harness)
    assert (third["captured"], third["unchanged"], third["compactions"]) == (0, sessions, 0)
    assert files(lineage.root) == before


def test_what_cannot_be_read_is_named_with_the_reason_and_keeps_nothing_back(lineage: LineageCommand) -> None:
    report = imported(lineage, "claude-code", DATA / "claude-code")
    (problem,) = report["problems"]
    assert Path(problem["path"]).name == "not-objects.jsonl"
    assert "no Claude Code record" in problem["problem"]
    assert report["skipped"]["bookkeeping"] > 0


def test_images_and_encrypted_blobs_reach_no_artifact(lineage: LineageCommand) -> None:
    before = [path for path in DATA.rglob("*") if path.is_file() and BLOB.search(path.read_bytes())]
    assert {path.relative_to(DATA).parts[0] for path in before} >= {"claude-code", "codex", "gemini", "pi", "qwen"}
    for harness in COUNTS:
        imported(lineage, harness, DATA / harness)
    found = {name: run[:40] for name, data in files(lineage.root).items() for run in BLOB.findall(data)}
    assert found == {}


def test_all_finds_every_harness_that_keeps_a_history_here(lineage: LineageCommand, home: Path) -> None:
    for harness, place in HOMES.items():
        shutil.copytree(DATA / harness, home / place)
    done = lineage("import", "all", "--json").json
    assert [report["harness"] for report in done["harnesses"]] == sorted(HOMES)
    assert all(report["captured"] for report in done["harnesses"])
    shown = lineage("import", "all")
    assert shown.code == 0
    assert re.search(
        r"^gemini       0 sessions imported, 4 imported before \(\d files or records, \d+ kB\)", shown.out, re.MULTILINE
    )


def test_what_a_database_keeps_back_is_named_and_comes_with_the_next_import(
    lineage: LineageCommand, home: Path, tmp_path: Path
) -> None:
    path = create_database(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite")
    message = {"role": "user", "content": "Mend the reader. " * 200}
    entries = [{"type": "message", "id": "e1", "timestamp": "2026-10-02T09:00:00Z", "message": message}]
    add_session(path, "s-1", entries)
    data = path.read_bytes()
    path.write_bytes(data[:5000])
    report = imported(lineage, "openclaw")
    assert (report["sources"], report["captured"]) == (1, 0)
    assert [problem["path"] for problem in report["problems"]] == [str(path)]
    path.write_bytes(data)
    assert imported(lineage, "openclaw")["captured"] == 1


def forked(folder: Path) -> Path:
    """The sample, and a fork of it that went on; the fork is found first."""
    folder.mkdir()
    own = {
        "type": "user", "uuid": "of-the-fork", "sessionId": FORK, "timestamp": "2026-10-02T11:00:00.000Z",
        "message": {"role": "user", "content": "And now in the fork?"},
    }  # fmt: skip
    fork = SAMPLE.with_name(f"{FORK}.jsonl").read_text(encoding="utf-8")
    (folder / f"{FORK}.jsonl").write_text(f"{fork}{json.dumps(own)}\n", encoding="utf-8")
    (folder / SAMPLE.name).write_bytes(SAMPLE.read_bytes())
    return folder


def test_a_sub_agent_names_the_session_it_worked_for(lineage: LineageCommand) -> None:
    imported(lineage, "claude-code", SAMPLE.parent)
    found = {artifact.session_id: artifact for artifact in transcripts(lineage.root)}
    assert sorted(found) == [SESSION, "agent-ab12cd34ef56ab78"], "the fork has nothing of its own"
    assert found["agent-ab12cd34ef56ab78"].parent_session == SESSION


def test_a_fork_has_what_it_added_whichever_is_found_first(lineage: LineageCommand, tmp_path: Path) -> None:
    report = imported(lineage, "claude-code", forked(tmp_path / "kept"))
    found = {artifact.session_id: artifact for artifact in transcripts(lineage.root)}
    assert (found[FORK].forked_from, len(extract_turn_ids(found[FORK].body))) == (SESSION, 1)
    assert (report["captured"], report["turns"], report["compactions"]) == (
        2,
        len(extract_turn_ids(found[SESSION].body)) + 1,
        1,
    )


def test_a_fork_brings_nothing_back_of_a_removed_parent(lineage: LineageCommand, tmp_path: Path) -> None:
    folder = forked(tmp_path / "kept")
    imported(lineage, "claude-code", folder / SAMPLE.name)
    assert lineage("remove", SESSION, "--reason", "asked to", "--yes").code == 0
    report = imported(lineage, "claude-code", folder)
    assert (report["refused"], report["captured"], report["turns"], report["compactions"]) == (1, 1, 1, 0)
    assert not list((lineage.root / "memory").glob("*--compaction.md"))


def test_a_session_is_captured_as_of_its_last_record(lineage: LineageCommand) -> None:
    imported(lineage, "claude-code", SAMPLE)
    (artifact,) = transcripts(lineage.root)
    assert artifact.captured_at == artifact.ended_at == "2026-10-02T09:00:24.888Z"
    assert artifact.memory_sentence_generated_at == artifact.captured_at
    (compaction,) = (lineage.root / "memory").glob("*--compaction.md")
    assert compaction.name < f"{artifact.stem}--transcript.md"


def test_a_source_without_any_time_has_its_file_s(lineage: LineageCommand, tmp_path: Path) -> None:
    note = tmp_path / "talk.txt"
    note.write_text("User: why is the reader slow?\n\nAssistant: it reads every line twice.\n")
    os.utime(note, (1_790_000_000.125, 1_790_000_000.125))
    imported(lineage, "generic", note)
    (artifact,) = transcripts(lineage.root)
    assert (artifact.session_id, artifact.captured_at) == ("talk", "2026-09-21T14:13:20.125Z")


def test_growing_copies_of_one_session_are_one_capture(lineage: LineageCommand, tmp_path: Path) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for folder, length in (("old", 6), ("older", 3), ("now", len(lines)), ("same", len(lines))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / SAMPLE.name).write_bytes(b"".join(lines[:length]))
    places = [tmp_path / folder for folder in ("old", "now", "older", "same")]
    report = imported(lineage, "claude-code", *places)
    assert (report["sources"], report["copies"], report["captured"]) == (4, 3, 1)
    whole = LineageCommand(tmp_path / "other", lineage._capture)
    imported(whole, "claude-code", SAMPLE)
    assert files(lineage.root) == files(whole.root)


def two_lines(folder: Path) -> list[Path]:
    """Two files of one session that part after the third turn: the older one first."""

    def line(number: int, text: str) -> bytes:
        record = {
            "type": "user", "uuid": f"u-{text}", "sessionId": "s-1", "timestamp": f"2026-10-02T09:00:{number:02}Z",
            "message": {"role": "user", "content": f"please look at {text}"},
        }  # fmt: skip
        return json.dumps(record).encode() + b"\n"

    paths = [folder / name / "s-1.jsonl" for name in ("z", "a")]
    for path, texts in zip(paths, (("one", "two", "three", "four"), ("one", "two", "other")), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"".join(line(number, text) for number, text in enumerate(texts)))
    later = b"".join(line(number, text) for number, text in ((0, "one"), (1, "two"), (30, "other")))
    paths[1].write_bytes(later)
    return paths


def test_of_two_sources_that_part_both_are_captured_the_older_first_and_only_once(
    lineage: LineageCommand, tmp_path: Path
) -> None:
    paths = two_lines(tmp_path)
    report = imported(lineage, "claude-code", *paths)
    assert (report["captured"], report["copies"], report["turns"]) == (1, 0, 5)
    assert [artifact.watermark[0] for artifact in transcripts(lineage.root)] == [4, 3]
    before = files(lineage.root)
    forget(lineage)
    assert imported(lineage, "claude-code", *paths)["unchanged"] == 1
    forget(lineage)
    assert imported(lineage, "claude-code", paths[0])["unchanged"] == 1, "the older line alone is no return to it"
    assert files(lineage.root) == before


def test_worktrees_of_one_repository_are_one_project(lineage: LineageCommand, tmp_path: Path) -> None:
    repository, worktree = tmp_path / "demo", tmp_path / "topic"
    for folder in ("objects", "refs", "worktrees/topic"):
        (repository / ".git" / folder).mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (worktree / "src").mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/topic\n")
    (repository / ".git" / "worktrees" / "topic" / "commondir").write_text("../..\n")
    folder = tmp_path / "kept"
    folder.mkdir()
    for seed, cwd in enumerate((repository, worktree, worktree / "src")):
        session, data = another(seed)
        (folder / f"{session}.jsonl").write_bytes(data.replace(b'"/home/ada/demo"', json.dumps(str(cwd)).encode()))
    imported(lineage, "claude-code", folder)
    assert [artifact.project for artifact in transcripts(lineage.root)] == [str(repository)] * 3


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_session_leads_to_the_one_before_whatever_their_files_are_called(
    lineage: LineageCommand, tmp_path: Path, jobs: str
) -> None:
    for name, day in zip("dcba", range(11, 15), strict=True):
        _, data = another(day)
        (tmp_path / f"{name}.jsonl").write_bytes(re.sub(rb"2026-\d\d-\d\dT", f"2026-11-{day}T".encode(), data))
    assert imported(lineage, "claude-code", tmp_path, "--jobs", jobs)["captured"] == 4
    paths = sorted((lineage.root / "memory").glob("*--manifest.md"))
    texts = [path.read_text() for path in paths]
    before = [re.findall(r"- .*\[\[memory/(\S+?)\|", text.partition("## The session before")[2]) for text in texts]
    assert [found[0] if found else None for found in before] == [None, *(path.name for path in paths[:-1])]
    assert lineage("verify").code == 0


def test_a_removed_session_is_refused(lineage: LineageCommand, tmp_path: Path) -> None:
    folder = history(tmp_path / "kept", 2)
    imported(lineage, "claude-code", folder)
    gone = another(0)[0]
    assert lineage("remove", gone, "--reason", "asked to", "--yes").code == 0
    assert gone.encode() not in (lineage.root / ".lineage" / "runtime.db").read_bytes()
    report = imported(lineage, "claude-code", folder)
    assert (report["refused"], report["captured"], report["unchanged"]) == (1, 0, 1)
    assert [artifact.session_id for artifact in transcripts(lineage.root)] == [another(1)[0]]


def test_the_time_is_read_once(lineage: LineageCommand, tmp_path: Path) -> None:
    imported(lineage, "claude-code", history(tmp_path / "kept", 10))
    manifests = sorted((lineage.root / "memory").glob("*--manifest.md"))
    written = {
        line for path in manifests for line in path.read_text("utf-8").split("\n") if line.startswith("updated_at")
    }
    assert (len(manifests), len(written)) == (10, 1)


def test_another_agent_has_the_sessions_for_itself(lineage: LineageCommand) -> None:
    imported(lineage, "claude-code", SAMPLE)
    assert imported(lineage, "claude-code", SAMPLE, "--agent", "ann")["captured"] == 1
    assert {artifact.agent_id for artifact in transcripts(lineage.root)} == {"default", "ann"}


class TestUnread:
    """What lies there as the last import left it is not read again."""

    def test_what_grew_is_read_and_captured(self, lineage: LineageCommand, tmp_path: Path) -> None:
        lines = SAMPLE.read_bytes().splitlines(keepends=True)
        path = tmp_path / SAMPLE.name
        path.write_bytes(b"".join(lines[:6]))
        imported(lineage, "claude-code", path)
        path.write_bytes(b"".join(lines))
        report = imported(lineage, "claude-code", path)
        assert (report["unread"], report["captured"]) == (0, 1)
        assert len(transcripts(lineage.root)) == 2

    def test_size_and_time_tell(self, lineage: LineageCommand, tmp_path: Path) -> None:
        path = tmp_path / SAMPLE.name
        path.write_bytes(SAMPLE.read_bytes())
        imported(lineage, "claude-code", path)
        before = path.stat()
        path.write_bytes(b"x" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert imported(lineage, "claude-code", path)["unread"] == 1
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        done = lineage("import", "claude-code", str(path), "--json")
        assert done.code == 1  # it is no session any more
        (report,) = done.json["harnesses"]
        assert (report["unread"], len(report["problems"])) == (0, 1)

    def test_what_a_database_has_not_taken_in_yet_counts(self, lineage: LineageCommand, tmp_path: Path) -> None:
        path = tmp_path / "opencode.db"
        path.write_bytes((DATA / "opencode" / "opencode-v1.db").read_bytes())
        with closing(sqlite3.connect(path)) as database:
            database.execute("pragma journal_mode = wal")
            assert imported(lineage, "opencode", path)["captured"] == 1
            before = path.stat()
            with database:
                database.execute("create table later (x)")
            assert path.stat() == before
            assert imported(lineage, "opencode", path)["unread"] == 0

    def test_a_session_whose_files_are_gone_is_captured_again(self, lineage: LineageCommand) -> None:
        imported(lineage, "claude-code", SAMPLE)
        before = files(lineage.root)
        shutil.rmtree(lineage.root / "memory")
        (lineage.root / ".lineage" / "index.db").unlink()
        assert imported(lineage, "claude-code", SAMPLE)["captured"] == 1
        assert files(lineage.root) == before


class TestDryRun:
    def test_it_writes_nothing_and_makes_no_workspace(self, lineage: LineageCommand, home: Path) -> None:
        shutil.copytree(DATA / "claude-code", home / ".claude")
        done = lineage("import", "all", "--dry-run", "--json").json
        assert not lineage.root.exists()
        (expected,) = done["harnesses"]
        assert done["dry_run"]
        folder = home / ".claude" / "projects" / "-home-ada-demo"
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl")) - sum(
            path.stat().st_size for path in folder.rglob("agent-acompact-*")
        )
        assert (expected["harness"], expected["sources"], expected["bytes"]) == ("claude-code", 3, size)

    def test_it_counts_what_is_known_already_too(self, lineage: LineageCommand, tmp_path: Path) -> None:
        folder = history(tmp_path / "kept", 3)
        first, *_ = sorted(folder.iterdir())
        imported(lineage, "claude-code", first)
        before = everything(lineage.root)
        shown = lineage("import", "claude-code", str(folder), "--dry-run").out
        assert "2 sessions to import, 1 imported before (3 files or records, " in shown
        assert "nothing was written" in shown
        assert everything(lineage.root) == before
        assert "(1 file or record, " in lineage("import", "claude-code", str(first), "--dry-run").out

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_over_all_harnesses_it_counts_what_the_import_then_brings(
        self, lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
    ) -> None:
        for harness, place in HOMES.items():
            shutil.copytree(DATA / harness, home / place, dirs_exist_ok=True)
        (home / ".codex" / "sessions" / "rollout-2026-10-02T12-00-00-torn.jsonl").write_bytes(b"\x00no record\n")
        monkeypatch.setenv("AIDER_CHAT_HISTORY_FILE", str(DATA / "aider" / ".aider.chat.history.md"))
        lineage.end_sample("--private", path=SAMPLE, session=SESSION)
        lineage("import", "pi", "--jobs", "1")
        removed = next(a.session_id for a in transcripts(lineage.root) if a.harness == "pi")
        lineage("remove", removed, "--yes")

        def run(*more: str) -> list[dict[str, Any]]:
            done = lineage("import", "all", "--jobs", jobs, "--json", *more)
            assert done.code == 0, done
            return list(done.json["harnesses"])

        before = files(lineage.root)
        planned = run("--dry-run")
        assert files(lineage.root) == before
        done = run()
        assert planned == done
        assert {report["harness"] for report in done} == {*HOMES, "aider"}
        totals = {key: sum(report[key] for report in done) for key in done[0] if isinstance(done[0][key], int)}
        kinds = ("captured", "turns", "unchanged", "refused", "sub_agents", "failed", "empty", "copies", "compactions")
        assert [kind for kind in kinds if not totals[kind] and kind != "failed"] == []
        assert any(report["problems"] for report in done)

    def test_a_file_of_many_sessions_is_counted_once(self, lineage: LineageCommand) -> None:
        path = DATA / "opencode" / "opencode-v1.db"
        (expected,) = lineage("import", "opencode", str(path), "--dry-run", "--json").json["harnesses"]
        assert expected["bytes"] == path.stat().st_size


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            (["typewriter"], 2, "claude-code"),
            (["typewriter", str(DATA)], 2, "unknown harness"),
            (["generic"], 2, "lineage import generic PATH"),
            (["all", str(DATA)], 2, "name their harness"),
            ([str(DATA)], 2, f"{DATA} is a path: whose files are these?"),
            ([str(DATA)], 2, f"`lineage import HARNESS {DATA}`, with one of claude-code, codex, "),
            (["~/not there", str(DATA)], 2, f"name their harness: `lineage import HARNESS '~/not there' {DATA}`"),
            (["."], 2, ". is a path: whose files are these?"),
            (["~/not there", "codex"], 2, "the harness comes first\n  run `lineage import codex '~/not there'`"),
            (["codex", str(DATA / "nowhere")], 1, "nothing at"),
            (["codex", "--agent", "a:b"], 2, "not an agent id"),
            (["codex", "--jobs", "0"], 2, "--jobs"),
        ],
    )
    def test_what_cannot_be_done_is_said(
        self, lineage: LineageCommand, arguments: list[str], code: int, said: str
    ) -> None:
        done = lineage("import", *arguments)
        assert (done.code, said in done.err) == (code, True), done.err
        assert set(read_all_files(lineage.root)) <= {".lineage/log/commands.log"}

    def test_no_history_is_no_error(self, lineage: LineageCommand) -> None:
        assert imported(lineage, "codex")["sources"] == 0
        assert "no harness has sessions on this machine" in lineage("import", "all").out
        assert "no harness has sessions on this machine" in lineage("import", "all", "--dry-run").out

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
    def test_a_name_that_is_no_text_is_a_problem(self, lineage: LineageCommand, tmp_path: Path) -> None:
        path = os.fsencode(tmp_path) + b"/\xff.jsonl"
        Path(os.fsdecode(path)).write_bytes(SAMPLE.read_bytes())
        done = lineage("import", "claude-code", str(tmp_path), "--json")
        (problem,) = done.json["harnesses"][0]["problems"]
        assert "not UTF-8" in problem["problem"]
        assert (done.code, f"there is no session of claude-code in {tmp_path}" in done.err) == (1, True)

    @pytest.mark.parametrize("more", [(), ("--json",), ("--dry-run",)])
    def test_named_paths_without_any_session_are_a_failure_that_says_what_was_read(
        self, lineage: LineageCommand, tmp_path: Path, more: tuple[str, ...]
    ) -> None:
        """Fails without `require_sessions`."""
        notes, empty = tmp_path / "notes.txt", tmp_path / "empty folder"
        notes.write_text("of no harness\n", encoding="utf-8")
        empty.mkdir()
        for paths in ([notes], [empty], [empty, notes]):
            done = lineage("import", "claude-code", *map(str, paths), *more)
            names = ", ".join(map(str, paths))
            assert (done.code, f"there is no session of claude-code in {names}\n" in done.err) == (1, True), done.err
            assert f"`lineage import HARNESS {shlex.join(map(str, paths))}`, with one of claude-code, " in done.err
            assert ("no Claude Code record in" in done.out) == (notes in paths), done.out
            assert "none" not in done.out
        assert "1 session" in lineage("import", "claude-code", str(empty), str(SAMPLE)).out

    def test_named_paths_with_sessions_that_bring_nothing_new_are_no_failure(
        self, lineage: LineageCommand, tmp_path: Path
    ) -> None:
        """Fails where `count_sessions` leaves out those imported before, removed ones or those without a turn."""
        path = tmp_path / SAMPLE.name
        path.write_bytes(SAMPLE.read_bytes())
        assert imported(lineage, "claude-code", path)["captured"] == 1
        assert imported(lineage, "claude-code", path)["unchanged"] == 1
        assert lineage("remove", lineage("list", "--json").json["sessions"][0]["session_id"], "--yes").code == 0
        assert imported(lineage, "claude-code", path)["refused"] == 1
        record = {"type": "permission-mode", "permissionMode": "default", "sessionId": "without-a-turn"}
        path.write_text(json.dumps(record), encoding="utf-8")
        assert imported(lineage, "claude-code", path)["empty"] == 1


def died(items: Iterable[int]) -> list[int]:
    os._exit(9)


@pytest.mark.slow
class TestProcesses:
    def test_any_number_of_them_writes_the_same_files(self, lineage: LineageCommand, tmp_path: Path) -> None:
        folder = history(tmp_path / "kept", 24)
        two_lines(folder)
        report = imported(lineage, "claude-code", folder, "--jobs", "1")
        other = LineageCommand(tmp_path / "other", lineage._capture)
        assert imported(other, "claude-code", folder, "--jobs", "2") == report
        assert report["captured"] == 25
        assert files(other.root) == files(lineage.root)

    @pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_one_that_was_killed_goes_on_where_it_was(self, lineage: LineageCommand, tmp_path: Path, jobs: str) -> None:
        folder = history(tmp_path / "kept", 60)
        other = LineageCommand(tmp_path / "other", lineage._capture)
        assert imported(other, "claude-code", folder)["captured"] == 60
        make_workspace_for(lineage.root, ["import"])
        command = [sys.executable, "-m", "lineage", "-w", str(lineage.root), "import", "claude-code", str(folder)]
        running = subprocess.Popen([*command, "--jobs", jobs], stdout=subprocess.DEVNULL)
        while len(list((lineage.root / "memory").glob("*--transcript.md"))) < 12:
            assert running.poll() is None
            time.sleep(0.005)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        assert bool(children) == (jobs == "2")
        running.send_signal(signal.SIGKILL)
        running.wait()
        gone_by = time.monotonic() + 20
        while any(Path("/proc", child, "exe").exists() for child in children):
            assert time.monotonic() < gone_by, "processes outlive the one that started them"
            time.sleep(0.01)
        begun = len(transcripts(lineage.root))
        assert 12 <= begun < 60
        report = imported(lineage, "claude-code", folder, "--jobs", jobs)
        assert (report["captured"] + report["unchanged"], report["problems"]) == (60, [])
        assert report["unread"] > 0
        assert files(lineage.root) == files(other.root)

    def test_the_death_of_one_is_an_error_with_a_hint(self) -> None:
        with pytest.raises(LineageError, match="died") as caught, open_worker_pool(2) as pool:
            pool.map_chunks(died, range(20), lambda done, total: None)
        assert "--jobs 1" in caught.value.hint

    def test_errors_travel_with_their_hint(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(LineageError) as caught, open_worker_pool(2) as pool:
            pool.map_chunks(partial(refused, "because"), range(20), lambda done, total: None)
        assert (caught.value.message, caught.value.hint) == ("because", "do this")


def refused(message: str, items: Iterable[int]) -> list[int]:
    raise LineageError(message, hint="do this")


class TestPartial:
    """Sessions that Claude Code has deleted: their prompts come, and give way to the whole session."""

    @pytest.fixture
    def prompts(self, home: Path) -> Path:
        path = home / ".claude" / "history.jsonl"
        (home / ".claude" / "projects").mkdir(parents=True)
        now = round(time.time() * 1000) - 3_600_000  # within MEMORY.md's window
        lines = [
            {"display": text, "pastedContents": {}, "timestamp": now + number, "project": "/home/ada/demo",
             "sessionId": SESSION}
            for number, text in enumerate(("Fix the unmistakable reader", "and keep CRLF"))
        ]  # fmt: skip
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    def test_prompts_come_once_as_a_partial_session(self, lineage: LineageCommand, prompts: Path) -> None:
        assert imported(lineage, "claude-code", "--dry-run")["turns"] == 2
        report = imported(lineage, "claude-code")
        assert (report["captured"], report["turns"]) == (1, 2)
        (artifact,) = transcripts(lineage.root)
        assert (artifact.partial, artifact.session_id) == (True, SESSION)
        assert "unmistakable" in (lineage.root / "MEMORY.md").read_text()
        assert imported(lineage, "claude-code")["captured"] == 0
        forget(lineage)
        assert imported(lineage, "claude-code")["unchanged"] == 1
        assert lineage("verify").code == 0
        assert lineage("remove", SESSION, "--yes").code == 0
        assert imported(lineage, "claude-code")["refused"] == 1

    def test_a_whole_one_supersedes_it_and_it_never_returns(self, lineage: LineageCommand, prompts: Path) -> None:
        imported(lineage, "claude-code")
        before = {name: data for name, data in files(lineage.root).items() if "manifest" not in name}
        del before["MEMORY.md"]
        report = imported(lineage, "claude-code", SAMPLE)
        whole = len(extract_turn_ids(transcripts(lineage.root)[1].body))
        assert (report["captured"], report["turns"]) == (1, whole)
        after = files(lineage.root)
        assert {name: after[name] for name in before} == before, "nothing committed changes"
        assert [artifact.partial for artifact in transcripts(lineage.root)] == [True, False]
        for _ in range(2):
            assert "unmistakable" not in (lineage.root / "MEMORY.md").read_text()
            assert lineage("search", "unmistakable", "--json").json["results"] == []
            assert lineage("verify").code == 0
            (lineage.root / ".lineage" / "index.db").unlink()
            assert lineage("reindex").code == 0
        forget(lineage)
        assert imported(lineage, "claude-code", prompts)["captured"] == 0
        assert imported(lineage, "claude-code", SAMPLE)["captured"] == 0
        assert files(lineage.root) == after

    def test_a_session_whose_file_is_there_is_not_made_partial(
        self, lineage: LineageCommand, home: Path, prompts: Path
    ) -> None:
        shutil.copytree(DATA / "claude-code" / "projects", home / ".claude" / "projects", dirs_exist_ok=True)
        imported(lineage, "claude-code", home / ".claude")
        assert not any(artifact.partial for artifact in transcripts(lineage.root))
