"""Verify: each finding can be provoked, names path, level and the command that mends it, and that command does.

Fails without the line of pipeline/maintenance/verify.py that makes the finding (each case of FINDINGS has one), when a
command that a finding names does not mend it, when modes are looked at outside the spool, without `scan.removed` in
`_check_links`, without `scan.damaged` in any check, and without `lost` or `reported`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.format.body import hash_body
from tests.support.commands import LineageCommand
from tests.support.dead_processes import delete_databases, leave_dead_process, read_workspace_files
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    write_capture,
)

MOMENT = "2026-11-21T16:00:00.000Z"
TALK = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Fixed in reader.py.")
SENTENCE = "In demo the reader lost a line in reader.py, and the session told its first sentence about it."
SECRET = "AKIA" + "QWERTYUIOPASDFGH"
RESTORE = "restore the file from a backup or git"
AGAIN = {
    **dict.fromkeys(("summary", "manifest"), "delete it, and `lineage admin recover` makes it again"),
    "transcript": "delete it, and `lineage import all` writes it back if its harness has the session",
}


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> LineageCommand:
    """A workspace with a session of two captures and a compaction, another one, and one of another agent."""
    monkeypatch.setattr("lineage.app.clock.now", lambda: MOMENT)
    with open_test_workspace(tmp_path / "vault") as ws:
        end_session(ws, transcript=TALK[:2])
        compact_session(ws, transcript=TALK[:2])
        end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), transcript=TALK)
        end_session(ws, "s-2")
        end_session(ws, "s-1", agent_id="reviewer")
    lineage = LineageCommand(tmp_path / "vault", capsys)
    assert lineage("reindex").code == 0
    return lineage


def own(root: Path, kind: str) -> Path:
    """The first file of a kind of the session with two captures."""
    (compaction,) = (root / "memory").glob("*--compaction.md")
    name = naming.parse_path(f"memory/{compaction.name}")
    assert name
    return min((root / "memory").glob(f"*--{name.token}--{kind}.md"))


def changed(path: Path, change: Callable[[str], str]) -> Path:
    path.chmod(0o644)
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    return path


def deleted(path: Path) -> Path:
    path.unlink()
    return path


def stray(root: Path) -> Path:
    path = root / "memory" / "notes.sync-conflict-1.md"
    path.write_text("mine")
    return path


def with_a_secret(root: Path) -> Path:
    """A summary that somebody wrote without the sanitizer, its hash right."""
    path = own(root, "summary")
    head, _, body = path.read_text().partition("\n---\n")
    told = f"{body}\n{SECRET}\n"
    return changed(path, lambda _: head.replace(hash_body(body), hash_body(told)) + "\n---\n" + told)


def without_a_row(root: Path) -> Path:
    with open_test_workspace(root) as ws:
        path = own(root, "summary")
        ws.index.delete_paths([path.relative_to(root).as_posix()])
    return path


def unlinked(root: Path) -> Path:
    """An artifact that no manifest names."""
    with open_test_workspace(root, now=MOMENT) as ws:
        first, _ = write_capture(ws, "s-3", sentence=SENTENCE, captured_at=MOMENT)
    deleted(root / first.manifest_path)
    return root / first.path


def second_manifest(root: Path) -> Path:
    with open_test_workspace(root.parent / "other", now=MOMENT) as ws:
        first, _ = write_capture(ws, sentence=SENTENCE, captured_at=MOMENT, transcript=TALK)
    for path in (root.parent / "other" / "memory").glob("*.md"):
        path.rename(root / "memory" / path.name)
    return root / first.manifest_path


def unfinished(root: Path) -> Path:
    leave_dead_process(root, lambda ws: end_session(ws, "s-7"), dies_at="--summary.md")
    (job,) = (root / ".lineage" / "spool").iterdir()
    return job


def damaged_job(root: Path) -> Path:
    path = root / ".lineage" / "spool" / "half.json"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text("{")
    path.chmod(0o600)
    return path


def exposed(root: Path) -> Path:
    path = damaged_job(root)
    path.chmod(0o644)
    path.parent.chmod(0o755)
    return path


def session_without_files(root: Path) -> Path:
    """The summary of the session with two captures, all of whose files somebody deleted."""
    summary = own(root, "summary")
    for path in (root / "memory").rglob(f"*{summary.name.split('--')[1]}*"):
        path.unlink()
    return summary


def back_again(root: Path) -> Path:
    from lineage.pipeline.maintenance.remove import remove

    path = own(root, "summary")
    data = path.read_bytes()
    with open_test_workspace(root) as ws:
        token = next(r.session_token for r in ws.index.list_sessions("default") if r.session_token in path.name)
        remove(ws, token, reason="asked for")
    path.write_bytes(data)
    return path


def damaged_tombstone(root: Path) -> Path:
    deleted(back_again(root))
    (path,) = (root / "memory" / "tombstones").iterdir()
    return changed(path, lambda text: text[:20])


def claim(root: Path) -> Path:
    return root / naming.claim_path(own(root, "manifest").name.split("--")[1])


@dataclass(frozen=True)
class Case:
    """How to provoke a finding (gives back its path), and what it says."""

    provoke: Callable[[Path], Path]
    level: str
    what: str
    mend: str


FINDINGS = {
    "a changed body": Case(
        lambda root: changed(own(root, "transcript"), lambda text: text + "more\n"),
        "MUST", "content_sha256", f"{RESTORE}; without one {AGAIN['transcript']}",
    ),
    "half a file": Case(
        lambda root: changed(own(root, "summary"), lambda text: text[:99]),
        "MUST", "frontmatter", f"{RESTORE}; without one {AGAIN['summary']}",
    ),
    "another identity": Case(
        lambda root: changed(own(root, "summary"), lambda text: text.replace('session_id: "s-1"', 'session_id: "s-4"')),
        "MUST", "belong", RESTORE,
    ),
    "a forged sentence": Case(
        lambda root: changed(own(root, "summary"), lambda text: text.replace('sentence: "In', 'sentence: "Not in')),
        "MUST", "changed since it was indexed", RESTORE,
    ),
    "a key that somebody added": Case(
        lambda root: changed(own(root, "manifest"), lambda text: text.replace("---\n", "---\nmine: 1\n", 1)),
        "SHOULD", "changed since it was indexed", "lineage reindex",
    ),
    "an artifact that is gone": Case(
        lambda root: (deleted(own(root, "compaction")), compacted(root))[1], "MUST", "names memory/", RESTORE
    ),
    "a row without a file": Case(
        session_without_files, "SHOULD", "has a row in the index, and no file", "lineage reindex"
    ),
    "a file without a row": Case(without_a_row, "SHOULD", "has no row", "lineage reindex"),
    "a lost claim": Case(
        lambda root: (deleted(claim(root)), own(root, "manifest"))[1], "SHOULD", "claim is missing", "lineage reindex"
    ),
    "a damaged claim": Case(
        lambda root: changed(claim(root), lambda text: text[:20]), "SHOULD", "", "lineage admin recover"
    ),
    "an artifact that no manifest names": Case(unlinked, "SHOULD", "in no manifest", "lineage admin recover"),
    "a lost manifest": Case(
        lambda root: (deleted(own(root, "manifest")), own(root, "summary"))[1],
        "SHOULD", "its manifest", "lineage admin recover",
    ),
    "a lost summary": Case(
        lambda root: (deleted(own(root, "summary")), own(root, "manifest"))[1],
        "MUST", "names memory/", "lineage admin recover",
    ),
    "a link to a lost manifest": Case(
        lambda root: (deleted(own(root, "manifest")), own(root, "summary"))[1],
        "SHOULD", "links to", "lineage admin recover",
    ),
    "a second manifest": Case(second_manifest, "SHOULD", "second manifest", "lineage admin recover"),
    "an unfinished flow": Case(unfinished, "SHOULD", "an unfinished session-end", "lineage admin recover"),
    "a job that cannot be read": Case(damaged_job, "SHOULD", "no job", "look at it"),
    "a spool that others can read": Case(exposed, "MUST", "others can read", "chmod 700 .lineage/spool"),
    "what the sanitizer would redact": Case(with_a_secret, "MUST", "redacts", "lineage admin resanitize"),
    "a sync's leftover": Case(stray, "SHOULD", "not a name of ours", "move it away"),
    "a removed session's file": Case(back_again, "MUST", "came back", "lineage remove {token} --again"),
    "a damaged tombstone": Case(damaged_tombstone, "MUST", "", RESTORE),
    "a MEMORY.md that somebody edited": Case(
        lambda root: changed(root / "MEMORY.md", lambda text: text + "mine\n"),
        "SHOULD", "is not what the files say", "lineage admin render",
    ),
    "a lost MEMORY.md": Case(
        lambda root: deleted(root / "agents" / "reviewer" / "MEMORY.md"), "SHOULD", "is missing", "lineage admin render"
    ),
}  # fmt: skip


def compacted(root: Path) -> Path:
    """The manifest of the session with two captures, where its compaction is gone."""
    return next(p for p in (root / "memory").glob("*--manifest.md") if "compaction" in p.read_text().split("---")[2])


def findings(lineage: LineageCommand) -> list[dict[str, str]]:
    done = lineage("verify", "--json")
    found: list[dict[str, str]] = done.json["findings"]
    assert done.code == (4 if found else 0)
    assert all(set(finding) == {"level", "path", "what", "mend"} for finding in found)
    return found


def test_a_clean_workspace_has_no_finding(lineage: LineageCommand) -> None:
    assert findings(lineage) == []
    assert lineage("verify").out == "no problems found\n"


@pytest.mark.slow
@pytest.mark.leaves_findings
@pytest.mark.parametrize("case", FINDINGS.values(), ids=FINDINGS)
def test_what_is_wrong_is_found_and_what_it_names_mends_it(lineage: LineageCommand, case: Case) -> None:
    path = case.provoke(lineage.root).relative_to(lineage.root).as_posix()
    mend = case.mend.format(token=path.split("--")[1]) if "{token}" in case.mend else case.mend

    def of_the_case() -> list[dict[str, str]]:
        return [f for f in findings(lineage) if f["path"] == path and case.what in f["what"]]

    (found,) = of_the_case()
    assert found["level"] == case.level
    assert found["mend"].startswith(mend)
    if mend.startswith("lineage "):
        arguments = mend.split()[1:]
        assert lineage(*arguments, *(["--yes"] if "remove" in arguments else [])).code == 0
        assert of_the_case() == []


@pytest.mark.leaves_findings
def test_findings_are_listed_for_people_with_path_level_and_command(lineage: LineageCommand) -> None:
    (lineage.root / "MEMORY.md").unlink()
    done = lineage("verify")
    assert done.code == 4
    assert "SHOULD MEMORY.md\n       is missing\n       → lineage admin render\n1 finding\n" in done.out


@pytest.mark.leaves_findings
@pytest.mark.parametrize("kind", ["transcript", "summary", "compaction", "manifest"])
def test_a_file_that_was_edited_is_one_finding(lineage: LineageCommand, kind: str) -> None:
    path = changed(own(lineage.root, kind), lambda text: f"{text}one line more\n").relative_to(lineage.root).as_posix()
    (finding,) = findings(lineage)
    mend = f"{RESTORE}; without one {AGAIN[kind]}" if kind in AGAIN else RESTORE
    assert (finding["level"], finding["path"], finding["mend"]) == ("MUST", path, mend)
    assert finding["what"] == "the body does not match 'content_sha256'"


@pytest.mark.parametrize("kind", ["summary", "manifest"])
def test_half_a_file_is_made_again_as_its_remedy_says(lineage: LineageCommand, kind: str) -> None:
    changes = re.compile(r"(?m)^(updated_at|write_id|revision|content_sha256): .*$")
    path = own(lineage.root, kind)
    before = changes.sub("", path.read_text())
    changed(path, lambda text: text[:99])
    (finding,) = findings(lineage)
    assert finding["mend"].endswith(AGAIN[kind])
    path.unlink()
    assert lineage("admin", "recover").code == 0
    # a manifest made again may link the session before, which was captured later
    assert set(before.splitlines()) <= set(changes.sub("", path.read_text()).splitlines())
    assert findings(lineage) == []


@pytest.mark.leaves_findings
def test_a_memory_md_names_no_removed_session_whatever_file_was_edited(lineage: LineageCommand) -> None:
    removed = next(p for p in (lineage.root / "memory").glob("*--summary.md") if '"s-2"' in p.read_text())
    assert lineage("remove", removed.name.split("--")[1], "--yes").code == 0
    changed(own(lineage.root, "summary"), lambda text: f"{text}one line more\n")
    memory_md = changed(lineage.root / "MEMORY.md", lambda text: f"{text}mine\n")
    assert len(findings(lineage)) == 1
    changed(memory_md, lambda text: f"{text}- [[memory/{removed.name}|s-2]]\n")
    assert [finding["path"] for finding in findings(lineage)][1:] == ["MEMORY.md"]


@pytest.mark.leaves_findings
@pytest.mark.parametrize("kind", ["transcript", "summary", "compaction"])
def test_a_file_that_is_gone_is_one_finding(lineage: LineageCommand, kind: str) -> None:
    path = deleted(own(lineage.root, kind)).relative_to(lineage.root).as_posix()
    (finding,) = findings(lineage)
    assert (finding["level"], finding["what"]) == ("MUST", f"names {path}, which is not there")
    assert finding["mend"] == ("lineage admin recover" if kind == "summary" else RESTORE)


@pytest.mark.leaves_findings
def test_the_remedy_for_a_lost_transcript_is_an_import_where_its_harness_keeps_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = end_session(ws, harness="claude-code", agent_id="reviewer", transcript=TALK).transcript_path
    assert path
    (tmp_path / "vault" / path).unlink()
    (finding,) = findings(LineageCommand(tmp_path / "vault", capsys))
    command = "`lineage import claude-code --agent reviewer` if Claude Code still has the session"
    assert finding["mend"] == f"{command}; else {RESTORE}"


@pytest.mark.leaves_findings
def test_verify_changes_no_canonical_byte(lineage: LineageCommand) -> None:
    for case in ("a lost claim", "a MEMORY.md that somebody edited", "an artifact that no manifest names"):
        FINDINGS[case].provoke(lineage.root)
    before = read_workspace_files(lineage.root)
    assert findings(lineage)
    assert read_workspace_files(lineage.root) == before


def test_a_mode_that_git_or_a_sync_changed_is_no_finding(lineage: LineageCommand) -> None:
    for path in (lineage.root / "memory").rglob("*.md"):
        path.chmod(0o664)
    assert findings(lineage) == []
    assert lineage("reindex").code == 0
    assert findings(lineage) == []


@pytest.mark.leaves_findings
def test_a_link_to_a_removed_session_is_no_finding(lineage: LineageCommand) -> None:
    """The other session's first line names a file of the one that is removed."""
    removed = own(lineage.root, "summary")
    (other,) = {p for p in (lineage.root / "memory").glob("*--summary.md") if '"s-2"' in p.read_text()}
    link = f"[[memory/{removed.name}|parent]] "
    head, _, body = other.read_text().partition("\n---\n")
    told = link + body
    changed(other, lambda _: head.replace(hash_body(body), hash_body(told)) + "\n---\n" + told)
    delete_databases(lineage.root)
    assert findings(lineage) == []
    removed_token = removed.name.split("--")[1]
    assert lineage("remove", removed_token, "--yes").code == 0
    assert findings(lineage) == []
    (lineage.root / "memory" / "tombstones" / f"{removed_token}.md").unlink()
    assert [f["what"] for f in findings(lineage)] == [f"links to memory/{removed.name}, which is not there"]


def test_verify_works_offline_and_after_the_loss_of_every_database(lineage: LineageCommand) -> None:
    delete_databases(lineage.root)
    assert findings(lineage) == []


def test_a_memory_md_of_an_agent_whose_files_are_gone_is_found(lineage: LineageCommand) -> None:
    """What it still tells of is in no file any more."""
    for path in (lineage.root / "memory").rglob("*.md"):
        if '"reviewer"' in path.read_text():
            path.unlink()
    assert lineage("reindex", "--json").json["dropped"] == 3
    assert findings(lineage) == []
    path = lineage.root / "agents" / "reviewer" / "MEMORY.md"
    changed(path, lambda text: text + "- a row of nobody\n")
    (finding,) = findings(lineage)
    assert (finding["path"], finding["mend"]) == ("agents/reviewer/MEMORY.md", "lineage admin render")
    assert json.loads(lineage("render", "--json").out)["memory_md"][1]["written"] is True
    assert findings(lineage) == []
