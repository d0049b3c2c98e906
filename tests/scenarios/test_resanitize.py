"""Resanitize: committed artifacts under new rules, and what the one lawful replacement leaves behind.

Fails without any of these in pipeline/upkeep/resanitizing.py: the record in the manifest, `artifacts.replace`, the
rows, `publish_all`, `scrub`, `spool.put`, `begun` (rows of what a dead run replaced); and without `leads` in
verification.
"""

import itertools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage.core import naming
from lineage.core.documents import Artifact, parsed
from lineage.core.entry import new_entry
from lineage.core.sanitizer import Rule, Ruleset, ruleset
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.reading import document_at
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.resanitizing import Resanitized, resanitize
from lineage.pipeline.upkeep.resuming import resume
from lineage.pipeline.upkeep.verification import verify
from tests.support.commands import Lineage
from tests.support.faults import Fuse
from tests.support.houses import compact, end, house_at, turns
from tests.support.indexes import lose
from tests.support.wrecks import canonical, copied, died, holders, spooled

pytestmark = pytest.mark.slow

SECRET = "quokka4711"
RULES = ruleset([Rule(id="animal", pattern="quokka[0-9]+", keywords=("quokka",))])
TALK = [
    *turns(f"Where does {SECRET} live?", f"In the lair of {SECRET}, below.", "Thanks, that is all."),
    {"role": "assistant", "name": "Bash", "text": "", "input": {"command": f"dig {SECRET}.py"}, "id": "t4"},
    {"role": "tool", "name": "Bash", "text": f"found {SECRET}", "id": "t5"},
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A session whose every part holds a secret that no rule knew, and one that has nothing to hide."""
    folder = tmp_path / "vault"
    with house_at(folder) as house:
        end(house, "s-1", transcript=TALK, project=f"/home/ada/{SECRET}", summary=f"We spoke of {SECRET}.")
        compact(house, "s-1", f"Goal: find {SECRET}.", transcript=TALK)
        end(house, "s-2")
    return folder


@contextmanager
def opened(root: Path, rules: Ruleset = RULES) -> Iterator[House]:
    with house_at(root, rules=rules) as house:
        yield house


def resanitized(root: Path, **options: Any) -> Resanitized:
    with opened(root) as house:
        return resanitize(house, **options)


def test_no_byte_of_the_workspace_holds_it_any_more_and_verify_finds_nothing(root: Path) -> None:
    with opened(root) as house:
        assert {finding.mend for finding in verify(house)} == {"lineage resanitize"}
    untouched = {path: data for path, data in canonical(root).items() if SECRET.encode() not in data}
    done = resanitized(root)
    assert holders(root, SECRET) == []
    assert sorted(record.path.rsplit("--")[2] for record in done.replaced) == [
        "compaction.md", "summary.md", "transcript.md",
    ]  # fmt: skip
    assert done.redactions["animal"] >= 8
    assert done.unchanged == 2
    with opened(root) as house:
        assert verify(house) == []
        assert house.index.search("lair", None, limit=5)
    after = canonical(root)
    assert {path: after[path] for path in untouched} == untouched
    assert spooled(root) == []


def test_the_manifest_tells_what_was_replaced_and_under_which_rules(root: Path) -> None:
    with house_at(root) as house:
        before = house.rules.version
    done = resanitized(root)
    with opened(root) as house:
        path = house.index.sessions(None, reference="s-1")[0].manifest_path
        manifest = document_at(house, path)
        assert manifest is not None
        assert manifest.replacements() == done.replaced  # type: ignore[union-attr]
        for record in done.replaced:
            artifact = parsed((root / record.path).read_bytes(), record.path)
            assert isinstance(artifact, Artifact)
            assert (record.old_version, record.new_version) == (before, house.rules.version)
            assert artifact.sanitizer_version == house.rules.version


def test_a_second_run_and_a_dry_run_change_no_byte(root: Path) -> None:
    before = canonical(root)
    would = resanitized(root, dry_run=True)
    assert canonical(root) == before
    assert resanitized(root).replaced == would.replaced
    after = canonical(root)
    assert resanitized(root).replaced == []
    assert canonical(root) == after


def test_a_session_goes_on_after_it(root: Path) -> None:
    resanitized(root)
    more = [*TALK, {"role": "user", "text": f"And where is {SECRET} now?", "id": "t6"}]
    with opened(root) as house:
        assert end(house, "s-1", transcript=TALK).status == "unchanged"
        assert end(house, "s-1", transcript=more).turns == 1
        assert verify(house) == []
    assert holders(root, SECRET) == []


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("finish", [recover, resume], ids=["recover", "the next command"])
def test_a_run_that_died_anywhere_is_finished(
    root: Path, tmp_path: Path, finish: Callable[[House], object], after: bool
) -> None:
    for point in itertools.count(1):
        copy = tmp_path / "copy"
        copied(root, copy)
        is_over = not died(copy, resanitize, Fuse(point, after), rules=RULES)
        with opened(copy) as house:
            finish(house)
            if not resanitize(house).replaced:
                assert point > 1 or after
            assert verify(house) == [], point
        assert holders(copy, SECRET) == [], point
        assert spooled(copy) == []
        shutil.rmtree(copy)
        if is_over:
            break


def test_a_run_that_was_cut_off_with_its_spool_lost_is_a_finding_that_names_the_command(root: Path) -> None:
    assert died(root, resanitize, Fuse(3), rules=RULES)
    for path in spooled(root):
        (root / path).unlink()
    with opened(root) as house:
        found = [finding for finding in verify(house) if "cut off" in finding.what]
        assert {finding.mend for finding in found} == {"lineage resanitize"}
        resanitize(house)
        assert verify(house) == []
    assert holders(root, SECRET) == []


def test_an_index_that_has_the_old_rows_is_told_to_reindex_and_not_to_restore(root: Path, tmp_path: Path) -> None:
    """Another machine, to which a sync brought what was replaced here."""
    copied(root, tmp_path / "other")
    resanitized(root)
    for path, data in canonical(root).items():
        (tmp_path / "other" / path).unlink(missing_ok=True)
        (tmp_path / "other" / path).write_bytes(data)
    with opened(tmp_path / "other") as house:
        found = [finding for finding in verify(house) if "since it was indexed" in finding.what]
        assert found
        assert {finding.mend for finding in found} == {"lineage reindex"}
        reindex(house)
        assert verify(house) == []


@pytest.mark.leaves_findings
def test_an_edit_by_hand_after_it_is_a_finding_even_without_an_index(root: Path) -> None:
    record = resanitized(root).replaced[0]
    file = root / record.path
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b"agent_id:", b"agent_id: ", 1))
    lose(root)
    with opened(root) as house:
        reindex(house)
        assert [f.path for f in verify(house) if "since it was redacted" in f.what] == [record.path]


def test_a_damaged_file_is_named_and_left_alone(root: Path) -> None:
    path = next(p for p in canonical(root) if p.endswith("--summary.md") and SECRET.encode() in canonical(root)[p])
    data = (root / path).read_bytes()
    (root / path).chmod(0o644)
    (root / path).write_bytes(data + b"more\n")
    done = resanitized(root)
    assert [problem for problem, _ in done.problems] == [path]
    assert (root / path).read_bytes() == data + b"more\n"
    (root / path).write_bytes(data)
    resanitized(root)
    assert holders(root, SECRET) == []


def test_the_command_uses_the_workspace_s_own_rules(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage = Lineage(root, capsys)
    assert lineage("resanitize").code == 0
    (root / "own.toml").write_text('[[rules]]\nid = "animal"\nregex = "quokka[0-9]+"\n')
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    shown = lineage("resanitize", "--dry-run")
    assert "3 files would be replaced, 2 held nothing to redact" in shown.out
    assert holders(root, SECRET)
    done = json.loads(lineage("resanitize", "--json").out)
    assert len(done["replaced"]) == 3
    assert holders(root, SECRET) == []
    assert lineage("verify").code == 0
    assert "redaction" in lineage("status").out


def test_rules_that_cannot_be_used_are_named_and_stop_everything(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = Lineage(root, capsys)
    (root / "own.toml").write_text('[[rules]]\nid = "behind"\nregex = "(?<=x)y"\n')
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    refused = lineage("session-end", "--harness", "generic", "--session-id", "s", "--transcript", "User: hi")
    assert refused.code != 0
    assert "behind" in refused.err
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "gone.toml"\n')
    assert "gone.toml" in lineage("status").err
    (root / "lineage.toml").unlink()


def test_personal_data_is_masked_where_that_is_chosen_and_one_project_stays_one(tmp_path: Path) -> None:
    rules = ruleset(personal={"user-name": "mask", "email": "mask"})
    with house_at(tmp_path / "vault", rules=rules) as house:
        talk = turns("Write to ada@example.org please.", "Done in /home/ada/demo/reader.py.")
        for session in ("s-1", "s-2"):
            end(house, session, transcript=talk, project="/home/ada/demo")
        assert len({row.project for row in house.index.sessions(None)}) == 1
    assert [path for path, _ in holders(tmp_path / "vault", "home/ada", "ada@example.org")] == []


def test_without_the_engine_nothing_is_captured_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "vault"
    lineage = Lineage(root, capsys)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "re2", None)
        refused = lineage(
            "session-end", "--harness", "generic", "--session-id", "s-1", "--transcript", "User: hi there"
        )
        assert refused.code == 1
        assert "google-re2" in refused.err
        assert "waits in the spool" in refused.err
        assert len(spooled(root)) == 1
        assert [path for path in canonical(root) if path.startswith(naming.MEMORY)] == []
    assert lineage("recover").code == 0
    assert spooled(root) == []
    with house_at(root) as house:
        assert len(house.index.sessions(None)) == 1
        assert house._replace(now=house.now).index.search("hi there", None, limit=1)


def test_entries_of_books_are_redacted_and_what_a_hand_wrote_stays(root: Path) -> None:
    with house_at(root) as house:
        entry = new_entry("global", "note", f"The den of {SECRET} is open.", at=house.now, source="manual")
        house.canon.books.add("global", "note", entry)
        path = root / "books" / "global" / "note.md"
        path.write_text(path.read_text() + f"\nMy own line about {SECRET}.\n")
        reindex(house)
    assert resanitized(root, dry_run=True).books == ["books/global/note.md"]
    assert path.read_text().count(SECRET) == 2
    assert resanitized(root).books == ["books/global/note.md"]
    assert "The den of [REDACTED:animal] is open." in path.read_text()
    assert path.read_text().count(SECRET) == 1
    with opened(root) as house:
        assert SECRET not in context(house, Asked()).text
        assert SECRET not in (root / "MEMORY.md").read_text()
        (found,) = house.canon.books.get("global", "note").entries
        assert found.id == entry.id
    assert resanitized(root).books == []
    with house_at(root) as house:  # under the rules that every other test is judged by
        publish_all(house)
