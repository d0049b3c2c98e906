"""A transcript that somebody deleted: every command says that it is gone, and an import brings it back.

Fails without `build_absent_error` in `show_turns`, `show_file` and `find_file_target`, `find_lost_tokens` in
`survey_history`, or the lines of `lineage import` about what was written back and what was not.
"""

from pathlib import Path

import pytest

from tests.support.commands import LineageCommand

SESSION = "aa765e29-162b-5be6-8e53-f03014531e0e"
SAMPLES = str(Path(__file__).parents[1] / "data" / "claude-code" / "projects")
RESTORE = "restore the file from a backup or git"


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    """A workspace with the samples of Claude Code, imported twice: nothing of them is new."""
    lineage = LineageCommand(tmp_path / "vault", capsys)
    assert lineage("init").code == 0
    for _ in range(2):
        assert lineage("import", "claude-code", SAMPLES, "--jobs", "1").code == 0
    return lineage


def lose(lineage: LineageCommand) -> tuple[Path, bytes]:
    (path,) = [
        p for p in (lineage.root / "memory").glob("*--transcript.md") if f'session_id: "{SESSION}"' in p.read_text()
    ]
    data = path.read_bytes()
    path.unlink()
    return path, data


@pytest.mark.slow
@pytest.mark.parametrize("reindexed", [False, True])
def test_an_import_writes_it_back_as_it_was(lineage: LineageCommand, reindexed: bool) -> None:
    path, data = lose(lineage)
    if reindexed:
        assert lineage("reindex").code == 0
    helps = f"→ `lineage import claude-code` if Claude Code still has the session; else {RESTORE}"
    assert f"memory: 1 transcript of memory/ is gone {helps}" in lineage("status").out.splitlines()
    done = lineage("verify")
    assert done.out.count("\n       → ") == 1
    assert f"names memory/{path.name}, which is not there" in done.out
    assert helps in done.out
    done = lineage("import", "claude-code", SAMPLES, "--jobs", "1")
    assert "0 sessions imported" in done.out
    assert "    1 lost transcript written back" in done.out.splitlines()
    assert path.read_bytes() == data
    assert lineage("verify").out == "no problems found\n"
    assert "written back" not in lineage("import", "claude-code", SAMPLES, "--jobs", "1").out


@pytest.mark.slow
def test_status_runs_what_brings_a_summary_and_a_manifest_back(lineage: LineageCommand) -> None:
    lose(lineage)
    lineage("import", "claude-code", SAMPLES, "--jobs", "1")
    summary, *_ = sorted((lineage.root / "memory").glob("*--summary.md"))
    *_, manifest = sorted((lineage.root / "memory").glob("*--manifest.md"))
    summary.unlink()
    manifest.unlink()
    lines = lineage("status").out.splitlines()
    assert "memory: 1 summary of memory/ is gone → lineage admin recover" in lines
    assert "memory: 1 manifest of memory/ is gone → lineage admin recover" in lines
    assert lineage("status", "--fix", "--yes").out.endswith("no problems found\n")
    assert summary.exists() and manifest.exists()
    assert lineage("verify").out == "no problems found\n"


@pytest.mark.slow
@pytest.mark.leaves_findings
def test_an_import_says_where_other_settings_make_another_file(lineage: LineageCommand) -> None:
    path, _ = lose(lineage)
    (lineage.root / "lineage.toml").write_text("[transcript]\nmax_result_chars = 10\n")
    done = lineage("import", "claude-code", SAMPLES, "--jobs", "1")
    why = "it was changed before it was lost, or today's rules or settings make another file of it"
    assert f"    not written back: memory/{path.name}: {why} → {RESTORE}" in done.out.splitlines()
    assert not path.exists()
    assert lineage("show", SESSION, "--turns", "1-1").code == 0


@pytest.mark.slow
@pytest.mark.leaves_findings
@pytest.mark.parametrize("reindexed", [False, True])
def test_show_says_that_it_is_gone(lineage: LineageCommand, reindexed: bool) -> None:
    path, _ = lose(lineage)
    if reindexed:
        assert lineage("reindex").code == 0
    hint = "run `lineage verify`: it says how the file comes back"
    for arguments in (("show", SESSION, "--turns", "1-2"), ("show", SESSION, "--kind", "transcript")):
        done = lineage(*arguments)
        assert (done.code, f"memory/{path.name} is gone" in done.err, hint in done.err) == (1, True, True), done.err
    assert lineage("show", SESSION).code == 0
