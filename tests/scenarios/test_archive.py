"""Archive: what is packed by month stays readable, linked, searched, verified, redacted and removed.

Each makes a test here fail when it is taken out: the window and `is_archivable` in `_moment` and `_candidates`, each
reason in `_found`, `delete_if_archived`'s comparison, `_is_sound` and the tombstone in `_settle`, `restamp`,
`publish_archive_notes` in
`publish_all` and in `finish_archive`, the order of `plain` and `archives` in archived_store.py, its `create`,
`replace` and `delete`, the stamp of an archived artifact, `is_archive_bundle` in canon/bundles.py, and each line of
`faults`.
"""

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.sanitizer import BUILTIN, Rule, Ruleset, build_ruleset
from lineage.core.transfer.archive_paths import month_path, note_path, note_to_artifact_path
from lineage.errors import FormatError, ImmutableError, InvalidInput, WorkspaceError
from lineage.pipeline.maintenance import archive as archiving
from lineage.pipeline.maintenance.archive import ArchiveResult, archive
from lineage.pipeline.maintenance.findings import MUST
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.resanitize import resanitize
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.transfer.bundle_export import export_session
from lineage.store import LocalStore, Store
from lineage.workspace.lookup import load_document, show_file, show_turns
from lineage.workspace.workspace import Workspace
from tests.support.archives import (
    APRIL,
    BEFORE,
    FIRST_TURNS,
    JANUARY,
    MORE_TURNS,
    end_session_at,
    find_mentions,
    read_bundled_artifacts,
    read_unpacked_files,
    write_january_sessions,
)
from tests.support.commands import LineageCommand
from tests.support.dead_processes import delete_databases, read_workspace_files
from tests.support.faults import CountingStore
from tests.support.workspace import end_session, make_turns, open_test_workspace, read_rows, search_sessions

pytestmark = pytest.mark.slow

BIRDS = build_ruleset([Rule(id="bird", pattern="heron|bittern", keywords=("heron", "bittern"))])
NOTES = ("days/", "projects/")
_LINK = re.compile(r"\[\[([^|\]#]+)(?:#([^|\]]+))?")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write_january_sessions(folder)
    return folder


def archived(root: Path, before: str = BEFORE, **options: bool) -> ArchiveResult:
    with open_test_workspace(root, now=APRIL) as ws:
        return archive(ws, before, **options)


def artifacts_of(files: dict[str, bytes]) -> dict[str, bytes]:
    named = ((path, naming.parse_path(path)) for path in files)
    return {path: files[path] for path, name in named if name and name.kind in naming.ARTIFACT_KINDS}


def bundle_of(root: Path) -> Path:
    (found,) = root.glob("archive/*/bundles/*.zip")
    return found


def test_artifacts_go_into_the_month_s_bundle_byte_for_byte_and_nothing_else_moves(root: Path) -> None:
    before = read_workspace_files(root)
    done = archived(root)
    assert (done.artifacts, done.sessions, dict(done.months)) == (7, 2, {"2026-01": 7})
    after = read_workspace_files(root)
    assert read_bundled_artifacts(root) == artifacts_of(before)
    assert artifacts_of(after) == {}
    # What is archived leaves the notes of days and projects, too; here nothing stays in them.
    gone = {path for path in before if path in artifacts_of(before) or path.startswith(NOTES)}
    kept = {path: data for path, data in before.items() if path not in gone}
    assert {path: data for path, data in after.items() if not path.startswith("archive/")} == kept
    with open_test_workspace(root, now=APRIL) as ws:
        assert verify(ws) == []


def test_a_second_run_and_a_dry_run_change_no_byte(root: Path) -> None:
    before = read_workspace_files(root)
    would = archived(root, dry_run=True)
    assert read_workspace_files(root) == before
    assert archived(root).artifacts == would.artifacts == 7
    after = read_workspace_files(root)
    assert archived(root).artifacts == 0
    assert read_workspace_files(root) == after


@pytest.mark.parametrize("day", ["2026-03-22", "2026-04-20", "2030-01-01", "soon", "2026-1-1", "2026-02-30", ""])
def test_a_day_inside_the_window_and_what_is_no_day_are_refused(root: Path, day: str) -> None:
    before = read_workspace_files(root)
    with pytest.raises(InvalidInput):
        archived(root, day)
    assert read_workspace_files(root) == before


def test_the_last_day_outside_the_window_is_taken_and_the_day_itself_is_not_archived(root: Path) -> None:
    assert archived(root, "2026-03-21", dry_run=True).artifacts == 7
    assert archived(root, "2026-01-07").artifacts == 3
    assert sorted(path[7:17] for path in read_bundled_artifacts(root)) == ["2026-01-05", "2026-01-05", "2026-01-06"]


def test_what_was_captured_later_stays_though_it_ended_before(root: Path) -> None:
    with open_test_workspace(root, now=APRIL) as ws:
        end_session(ws, "s-3", captured_at="2026-02-09T10:00:00Z", ended_at="2026-01-09T10:00:00Z")
    assert archived(root, dry_run=True).artifacts == 7
    assert archived(root, "2026-03-01", dry_run=True).artifacts == 9


class Meanwhile:
    """A private store; when an archive's job is spooled, its artifacts being read, something else happens first."""

    def __init__(self, inner: Store, happens: Callable[[], object]) -> None:
        self._inner, self._happens = inner, [happens]

    def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
        if key.endswith("--archive.json") and self._happens:
            self._happens.pop()()
        return self._inner.create(key, data, frozen=frozen)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def archived_while(root: Path, flow: Callable[[Workspace], object], rules: Ruleset = BUILTIN) -> None:
    def meanwhile() -> None:
        with open_test_workspace(root, now=APRIL, rules=rules) as other:
            flow(other)

    state = root / ".lineage"
    private = Meanwhile(LocalStore(state, locks=state / "locks", private=True), meanwhile)
    with open_test_workspace(root, now=APRIL, rules=rules, private=private) as ws:
        archive(ws, BEFORE)


def test_what_is_removed_while_it_is_packed_leaves_the_bundle_again(root: Path) -> None:
    archived_while(root, lambda ws: remove(ws, "s-1", reason="asked for"))
    assert find_mentions(root, "heron") == []
    assert len(read_bundled_artifacts(root)) == 2


def test_what_is_redacted_while_it_is_packed_is_archived_as_it_is_then(root: Path) -> None:
    archived_while(root, resanitize, BIRDS)
    assert find_mentions(root, "heron") == find_mentions(root, "bittern") == []
    assert len(read_bundled_artifacts(root)) == 2
    with open_test_workspace(root, now=APRIL, rules=BIRDS) as ws:
        assert archive(ws, BEFORE).artifacts == 5
        assert verify(ws) == []


class Failing:
    """A disk that keeps other bytes of a bundle than it was given: some, or one."""

    def __init__(self, inner: Store, spoiled: Callable[[bytes], bytes]) -> None:
        self._inner, self._spoiled = inner, spoiled

    def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
        return self._inner.create(key, self._spoiled(data) if key.endswith(".zip") else data, frozen=frozen)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize(
    "spoiled", [lambda data: data[:-30], lambda data: data[:900] + bytes([data[900] ^ 1]) + data[901:]]
)
def test_no_original_goes_where_the_bundle_is_not_read_back(root: Path, spoiled: Callable[[bytes], bytes]) -> None:
    before = artifacts_of(read_workspace_files(root))
    with (
        open_test_workspace(root, now=APRIL, store=Failing(LocalStore(root), spoiled)) as ws,
        pytest.raises(WorkspaceError, match="not read back"),
    ):
        archive(ws, BEFORE)
    assert artifacts_of(read_workspace_files(root)) == before
    with open_test_workspace(root, now=APRIL) as ws:
        finish_pending(ws)
        assert verify(ws) == []
    assert archived(root).artifacts == 7


def test_everything_is_read_as_before(root: Path) -> None:
    def seen(ws: Workspace) -> object:
        shown = [show_file(ws, "s-1", kind).text for kind in ("summary", "transcript", "compaction", "manifest")]
        hits = [(hit.path, hit.snippet) for hit in search_sessions(ws, "heron plover", None, 9)]
        return shown, show_turns(ws, "s-1", 2, 4).text, hits, export_session(ws, "s-1").data, rows_of(ws)

    with open_test_workspace(root, now=APRIL) as ws:
        before = seen(ws)
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        assert seen(ws) == before


def rows_of(ws: Workspace) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if key != "stamp"} for row in read_rows(ws)]


def test_an_index_that_is_lost_is_rebuilt_out_of_the_bundles(root: Path) -> None:
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        before = read_rows(ws)
    delete_databases(root)
    with open_test_workspace(root, now=APRIL) as ws:
        assert reindex(ws).added == 9
        assert read_rows(ws) == before


def test_a_reindex_reads_no_bundle_that_did_not_change(root: Path) -> None:
    archived(root)
    store = CountingStore(LocalStore(root))
    with open_test_workspace(root, now=APRIL, store=store) as ws:
        report = reindex(ws)
    assert (report.unchanged, report.touched, report.added) == (9, 0, 0)
    assert [key for key in store.reads if key.endswith(".zip") or "/memory/" in key] == []
    assert [key for key in store.reads if "--transcript" in key or "--summary" in key] == []


def test_every_link_of_the_vault_leads_to_a_note_as_obsidian_looks_for_it(root: Path) -> None:
    with open_test_workspace(root, now=JANUARY) as ws:
        first = ws.index.list_session_files(ws.index.list_sessions(None, reference="s-1")[0].session_token)
        path = next(path for path, kind in first if kind == naming.TRANSCRIPT)
        turn = transcript.parse_turns(load_document(ws, path).body)[1].id  # type: ignore[union-attr]
    (root / "notes.md").write_text(f"What the agent said: [[{path}#^{turn}]].\n")
    archived(root)
    notes = {key: data.decode() for key, data in read_workspace_files(root).items() if key.endswith(".md")}
    links = [(target, part) for text in notes.values() for target, part in _LINK.findall(text)]
    # The manifest of an archived session keeps its links to the notes that it has left.
    links = [(target, part) for target, part in links if not target.startswith(NOTES)]
    assert len(links) > 30
    for target, part in links:
        found = [key for key in notes if key in (target, f"{target}.md")] or [
            key for key in notes if key.endswith((f"/{target}", f"/{target}.md"))
        ]
        assert len(found) == 1, target
        assert not part.startswith("^") or re.search(rf"^{re.escape(part)}$", notes[found[0]], re.MULTILINE)
    assert f"archive/2026-01/{path}" in notes


def test_the_month_s_note_lists_each_capture_with_its_sentence_and_says_nothing_of_private_ones(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    with open_test_workspace(root, now=JANUARY) as ws:
        end_session_at(ws, "s-1", "2026-01-05T11:00:00.000Z", transcript=FIRST_TURNS)
        end_session_at(
            ws, "s-2", "2026-01-06T11:00:00.000Z", transcript=make_turns("Say plover.", "Plover!"), private=True
        )
    archived(root)
    text = (root / month_path("2026-01")).read_text()
    assert "> 2 captures of 2 sessions" in text
    (public,) = re.findall(r"^- .*session=s-1.*$", text, re.MULTILINE)
    (private,) = re.findall(r"^- .*session=s-2.*$", text, re.MULTILINE)
    assert "heron" in public
    assert "(private session)" in private
    assert "plover" not in text.lower()
    assert all(len(_LINK.findall(row)) == 3 for row in (public, private))


def test_a_session_that_is_resumed_is_captured_from_where_its_archive_ends(root: Path) -> None:
    archived(root)
    more = make_turns("And the crane?", "On the roof.", start="2026-04-19T10:00")
    with open_test_workspace(root, now=APRIL) as ws:
        assert end_session(ws, "s-1", transcript=[*FIRST_TURNS, *MORE_TURNS]).status == "unchanged"
        outcome = end_session(ws, "s-1", transcript=[*FIRST_TURNS, *MORE_TURNS, *more], ended_at=APRIL)
        assert (outcome.status, outcome.turns) == ("captured", 2)
        assert show_turns(ws, "s-1", 1, 9).text.count("\n^t-") == 7
        assert verify(ws) == []


def test_an_artifact_that_is_archived_is_not_written_again_with_other_content(root: Path) -> None:
    archived(root)
    path = next(path for path in read_bundled_artifacts(root) if path.endswith("summary.md"))
    with open_test_workspace(root, now=APRIL) as ws:
        artifact = ws.documents.artifacts.get(path)
        assert artifact is not None
        assert ws.documents.artifacts.write(artifact) is False
        assert ws.documents.artifacts.has_content(artifact) is True
        with pytest.raises(ImmutableError):
            ws.documents.artifacts.write(artifact._replace(title="other"))
    assert not (root / path).exists()


def test_a_removal_leaves_no_byte_of_the_session_and_every_byte_of_the_others(root: Path) -> None:
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        token = ws.index.list_sessions(None, reference="s-1")[0].session_token
    others = {path: data for path, data in read_bundled_artifacts(root).items() if token not in path}
    with open_test_workspace(root, now=APRIL) as ws:
        would = remove(ws, "s-1", reason="asked for", dry_run=True)
        receipt = remove(ws, "s-1", reason="asked for")
        assert would.removed_paths == receipt.removed_paths
        assert (receipt.turns, len(receipt.removed_paths)) == (5, 12)
        assert [path for path in receipt.elsewhere if token in path] == []
        assert verify(ws) == []
    assert read_bundled_artifacts(root) == others
    assert find_mentions(root, "heron") == []
    assert find_mentions(root, token) == [f"memory/tombstones/{token}.md"]
    with open_test_workspace(root, now=APRIL) as ws:
        remove(ws, "s-2", reason="asked for, too")
    assert not list((root / "archive").rglob("*.*"))


@pytest.mark.leaves_findings
def test_a_bundle_that_a_sync_brings_back_is_ignored_where_it_is_old_and_reported_where_it_is_not(root: Path) -> None:
    archived(root)
    shutil.copytree(root / "archive", root.with_name("copy"))
    with open_test_workspace(root, now=APRIL) as ws:
        token = ws.index.list_sessions(None, reference="s-1")[0].session_token
        remove(ws, "s-1", reason="asked for")
        shutil.copytree(root.with_name("copy"), root / "archive", dirs_exist_ok=True)
        found = {finding.path: finding for finding in verify(ws)}
        (old,) = ws.documents.archives.find_superseded()
        assert (found[old.path].level, found[old.path].mend) == (MUST, f"lineage remove {token} --again")
        assert reindex(ws).added == 0
        remove(ws, token, reason="", again=True)
        recover(ws)
        assert verify(ws) == []
        remove(ws, "s-2", reason="asked for")
        shutil.copytree(root.with_name("copy"), root / "archive", dirs_exist_ok=True)
        assert {finding.level for finding in verify(ws) if "came back" in finding.what} == {MUST}
        assert ws.index.count_by_kind() == {}
        remove(ws, token, reason="", again=True)
        remove(ws, "s-2", reason="", again=True)
        assert verify(ws) == []
    assert find_mentions(root, "heron") == []


def test_what_is_archived_is_redacted_under_new_rules(root: Path) -> None:
    archived(root)
    shutil.copytree(root / "archive" / "2026-01" / "bundles", root.with_name("copy"))
    with open_test_workspace(root, now=APRIL, rules=BIRDS) as ws:
        assert {finding.mend for finding in verify(ws)} == {"lineage admin resanitize"}
        done = resanitize(ws)
        assert (len(done.replaced), done.unchanged) == (5, 2)
        assert verify(ws) == []
        assert resanitize(ws).replaced == []
        shutil.copytree(root.with_name("copy"), root / "archive" / "2026-01" / "bundles", dirs_exist_ok=True)
        assert {finding.mend for finding in verify(ws)} == {"lineage admin recover"}
        assert recover(ws).collected == 2
    assert find_mentions(root, "heron") == find_mentions(root, "bittern") == []
    assert artifacts_of(read_workspace_files(root)) == {}


def test_large_months_have_many_bundles_and_a_removal_rewrites_only_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "MAX_BUNDLE_BYTES", 4000)
    before = artifacts_of(read_workspace_files(root))
    archived(root)
    bundles = {path.name: path.read_bytes() for path in root.glob("archive/*/bundles/*.zip")}
    assert len(bundles) > 2
    assert read_bundled_artifacts(root) == before
    with open_test_workspace(root, now=APRIL) as ws:
        remove(ws, "s-2", reason="asked for")
    after = {path.name: path.read_bytes() for path in root.glob("archive/*/bundles/*.zip")}
    assert len(bundles.items() & after.items()) >= len(bundles) - 2


def test_what_is_not_whole_stays_and_is_counted_by_reason(root: Path) -> None:
    with open_test_workspace(root, now=JANUARY) as ws:
        late = "2026-01-09T11:00:00.000Z"
        end_session(
            ws, "s-3", captured_at=late, ended_at="2026-02-03T10:00:00Z", transcript=make_turns("Late.", "Yes.")
        )
        paths = [
            path
            for path, _ in ws.index.list_session_files(ws.index.list_sessions(None, reference="s-2")[0].session_token)
        ]
        (manifest,) = [root / path for path in paths if "manifest" in path]
        (summary,) = [root / path for path in paths if "summary" in path]
    kept = manifest.read_bytes(), summary.read_bytes()
    manifest.unlink()
    summary.chmod(0o644)
    summary.write_text("no artifact")
    done = archived(root)
    assert dict(done.left) == {"in no manifest": 1, "damaged": 1, "ended later": 2}
    assert [path for path, _ in done.problems] == [summary.relative_to(root).as_posix()]
    assert done.artifacts == 5
    manifest.write_bytes(kept[0])
    summary.write_bytes(kept[1])
    assert archived(root).artifacts == 2


def test_an_original_that_comes_back_is_a_finding_and_goes_again(root: Path) -> None:
    before = artifacts_of(read_workspace_files(root))
    archived(root)
    path, data = min(before.items())
    (root / path).write_bytes(data)
    with open_test_workspace(root, now=APRIL) as ws:
        (finding,) = [found for found in verify(ws) if "archived, and there still" in found.what]
        assert finding.mend == "lineage archive --before 2026-01-06"
    assert archived(root, finding.mend.rpartition(" ")[2]).artifacts == 0
    assert not (root / path).exists()
    assert read_bundled_artifacts(root) == before


@pytest.mark.leaves_findings
def test_a_torn_original_that_comes_back_takes_nothing_from_the_archive(root: Path) -> None:
    before = artifacts_of(read_workspace_files(root))
    archived(root)
    path, data = min(before.items())
    (root / path).write_bytes(data[:-10])
    with open_test_workspace(root, now=APRIL) as ws:
        assert "is archived with other content" in {finding.what for finding in verify(ws)}
    archived(root)
    assert read_bundled_artifacts(root) == before
    assert (root / path).read_bytes() == data[:-10]


@pytest.mark.leaves_findings
def test_one_flipped_bit_is_found_and_the_other_artifacts_of_the_bundle_stay_readable(root: Path) -> None:
    archived(root)
    whole = read_bundled_artifacts(root)
    bundle = bundle_of(root)
    data = bytearray(bundle.read_bytes())
    first = min(whole)
    place = data.index(first.encode(), data.index(first.encode()) + 1) if data.count(first.encode()) > 2 else 0
    place = data.index(first.encode(), place) + len(first) + 40
    data[place] ^= 1
    bundle.chmod(0o644)
    bundle.write_bytes(data)
    with open_test_workspace(root, now=APRIL) as ws:
        findings = [finding for finding in verify(ws) if finding.level == MUST]
        assert first in {finding.path for finding in findings}
        with pytest.raises(FormatError):
            ws.documents.artifacts.get(first)
        assert all(ws.documents.artifacts.get(path) for path in whole if path != first)
        ws.index.reset()
        assert [path for path, _ in reindex(ws, confirmed=True).problems] == [first]


@pytest.mark.leaves_findings
def test_a_bundle_that_cannot_be_opened_is_a_finding_and_its_rows_do_not_go_unasked(root: Path) -> None:
    archived(root)
    bundle = bundle_of(root)
    bundle.chmod(0o644)
    bundle.write_bytes(b"no bundle")
    bundle.with_suffix(".json").unlink()
    with open_test_workspace(root, now=APRIL) as ws:
        path = bundle.relative_to(root).as_posix()
        assert (MUST, path) in {(finding.level, finding.path) for finding in verify(ws)}
        with pytest.raises(Exception, match="gone from the workspace"):
            reindex(ws)
        assert path in dict(reindex(ws, confirmed=True).problems)


def test_a_catalog_that_is_lost_or_damaged_is_made_again_from_its_bundle(root: Path) -> None:
    archived(root)
    catalog = bundle_of(root).with_suffix(".json")
    whole = catalog.read_bytes()
    for damaged in (None, b"", b"{}", whole[:-20]):
        catalog.unlink()
        if damaged is not None:
            catalog.write_bytes(damaged)
        with open_test_workspace(root, now=APRIL) as ws:
            assert show_file(ws, "s-1", "summary").text
            recover(ws)
            assert verify(ws) == []
        assert catalog.read_bytes() == whole


@pytest.mark.leaves_findings
def test_a_catalog_that_says_something_else_than_its_bundle_is_found(root: Path) -> None:
    archived(root)
    catalog = bundle_of(root).with_suffix(".json")
    value = json.loads(catalog.read_bytes())
    value["members"] = value["members"][1:]
    catalog.write_text(json.dumps(value))
    with open_test_workspace(root, now=APRIL) as ws:
        found = {finding.path: finding for finding in verify(ws)}
        assert found[catalog.relative_to(root).as_posix()].level == MUST


def test_notes_that_are_lost_are_made_again_and_strays_are_named(root: Path) -> None:
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        reindex(ws)
    before = read_workspace_files(root)
    notes = [root / path for path in before if note_to_artifact_path(path)]
    assert len(notes) == 7
    for note in (notes[0], root / month_path("2026-01")):
        note.unlink()
        with open_test_workspace(root, now=APRIL) as ws:
            assert [(finding.what, finding.mend) for finding in verify(ws)] == [("is missing", "lineage reindex")]
            reindex(ws)
        assert read_workspace_files(root) == before
    notes[1].write_text("mine")
    stray = bundle_of(root).with_name("x.sync-conflict-20260401.zip")
    stray.write_bytes(b"")
    with open_test_workspace(root, now=APRIL) as ws:
        assert {finding.mend for finding in verify(ws)} == {"delete it, then lineage reindex", "move it away"}
        notes[1].unlink()
        stray.unlink()
        reindex(ws)
    assert read_workspace_files(root) == before


@pytest.mark.leaves_findings
def test_what_is_not_lineage_s_in_a_folder_of_that_name_is_left_alone(root: Path) -> None:
    own = {"archive/old.md": "mine", month_path("2026-01"): "# My January\n", "archive/2026-01/pictures/x.md": "mine"}
    for key, text in own.items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_text(text)
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        (finding,) = verify(ws)
        assert finding.path == month_path("2026-01")
        remove(ws, "s-1", reason="asked for")
        remove(ws, "s-2", reason="asked for")
    left = {key: data.decode() for key, data in read_workspace_files(root).items() if key.startswith("archive/")}
    assert left == own


def test_an_exported_bundle_goes_with_its_session_and_the_archive_stays(root: Path) -> None:
    archived(root)
    with open_test_workspace(root, now=APRIL) as ws:
        ws.documents.store.create("mine.zip", export_session(ws, "s-1").data)
        others = {
            path: data for path, data in read_bundled_artifacts(root).items() if path in read_bundled_artifacts(root)
        }
        receipt = remove(ws, "s-1", reason="asked for")
        assert "mine.zip" in receipt.removed_paths
    assert len(read_bundled_artifacts(root)) == 2
    assert read_bundled_artifacts(root).items() <= others.items()


def test_the_command_says_what_it_did(lineage: LineageCommand) -> None:
    today = datetime.now(UTC)
    old, day = today - timedelta(days=60), (today - timedelta(days=40)).strftime("%Y-%m-%d")
    at = old.strftime("%Y-%m-%dT10:00:00Z")
    assert lineage.end_sample("--captured-at", at, "--ended-at", at).code == 0
    would = lineage("archive", "--before", day, "--dry-run")
    assert (would.code, "2 files of 1 session would be archived" in would.out) == (0, True)
    done = lineage("archive", "--before", day, "--json")
    assert set(done.json) == {"before", "dry_run", "artifacts", "sessions", "bytes", "months", "left", "problems"}
    assert (done.json["artifacts"], done.json["months"]) == (2, {old.strftime("%Y-%m"): 2})
    assert lineage("verify").code == 0
    assert "> [!tool]- 3 · " in lineage("show", "5f0c2f7e", "--turns", "3").out
    refused = lineage("archive", "--before", today.strftime("%Y-%m-%d"))
    assert (refused.code, "30 days" in refused.err) == (2, True)
    assert lineage("archive").code == 2


def test_nothing_of_a_workspace_without_an_archive_changes(root: Path) -> None:
    before = read_unpacked_files(root)
    assert archived(root, "2025-01-01").artifacts == 0
    with open_test_workspace(root, now=APRIL) as ws:
        reindex(ws)
    after = read_unpacked_files(root)
    assert [path for path in after if path.startswith("archive")] == []
    assert {path: data for path, data in after.items() if path.startswith("memory/")}.items() <= before.items()
    assert note_path(min(artifacts_of(before))).startswith("archive/2026-01/memory/")
