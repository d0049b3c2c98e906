"""Archive: what is packed by month stays readable, linked, searched, verified, redacted and removed.

Each makes a test here fail when it is taken out: the window and `is_archivable` in `_moment` and `_candidates`, each
reason in `_found`, `give_way`'s comparison, `_is_sound` and the tombstone in `_settle`, `restamp`, `publish_archive` in
`publish_all` and in `finish_archiving`, the order of `plain` and `archives` in canon/archived_store.py, its `create`,
`replace` and `delete`, the stamp of an archived artifact, `is_part` in canon/bundles.py, and each line of `faults`.
"""

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage.core import naming, transcript
from lineage.core.archive import archived_path, month_path, note_path
from lineage.core.sanitizer import BUILTIN, Rule, Ruleset, ruleset
from lineage.errors import FormatError, ImmutableError, InvalidInput, WorkspaceError
from lineage.pipeline.archive import archiving
from lineage.pipeline.archive.archiving import Archived, archive
from lineage.pipeline.bundles.exporting import export_session
from lineage.pipeline.house import House
from lineage.pipeline.lookup import show, show_turns
from lineage.pipeline.reading import document_at
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resanitizing import resanitize
from lineage.pipeline.upkeep.resuming import resume
from lineage.pipeline.upkeep.verification import MUST, verify
from lineage.store import LocalStore, Store
from tests.support.archives import APRIL, BEFORE, JANUARY, MORE, TALK, bundled, ended, mentions, told, unpacked_bytes
from tests.support.commands import Lineage
from tests.support.faults import CountingStore
from tests.support.houses import end, house_at, rows, search, turns
from tests.support.wrecks import canonical, lose_databases

pytestmark = pytest.mark.slow

BIRDS = ruleset([Rule(id="bird", pattern="heron|bittern", keywords=("heron", "bittern"))])
_LINK = re.compile(r"\[\[([^|\]#]+)(?:#([^|\]]+))?")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    told(folder)
    return folder


def archived(root: Path, before: str = BEFORE, **options: bool) -> Archived:
    with house_at(root, now=APRIL) as house:
        return archive(house, before, **options)


def artifacts_of(files: dict[str, bytes]) -> dict[str, bytes]:
    named = ((path, naming.parse_path(path)) for path in files)
    return {path: files[path] for path, name in named if name and name.kind in naming.IMMUTABLE}


def bundle_of(root: Path) -> Path:
    (found,) = root.glob("archive/*/bundles/*.zip")
    return found


def test_artifacts_go_into_the_month_s_bundle_byte_for_byte_and_nothing_else_moves(root: Path) -> None:
    before = canonical(root)
    done = archived(root)
    assert (done.artifacts, done.sessions, dict(done.months)) == (7, 2, {"2026-01": 7})
    after = canonical(root)
    assert bundled(root) == artifacts_of(before)
    assert artifacts_of(after) == {}
    kept = {path: data for path, data in before.items() if path not in artifacts_of(before)}
    assert {path: data for path, data in after.items() if not path.startswith("archive/")} == kept
    with house_at(root, now=APRIL) as house:
        assert verify(house) == []


def test_a_second_run_and_a_dry_run_change_no_byte(root: Path) -> None:
    before = canonical(root)
    would = archived(root, dry_run=True)
    assert canonical(root) == before
    assert archived(root).artifacts == would.artifacts == 7
    after = canonical(root)
    assert archived(root).artifacts == 0
    assert canonical(root) == after


@pytest.mark.parametrize("day", ["2026-03-22", "2026-04-20", "2030-01-01", "soon", "2026-1-1", "2026-02-30", ""])
def test_a_day_inside_the_window_and_what_is_no_day_are_refused(root: Path, day: str) -> None:
    before = canonical(root)
    with pytest.raises(InvalidInput):
        archived(root, day)
    assert canonical(root) == before


def test_the_last_day_outside_the_window_is_taken_and_the_day_itself_is_not_archived(root: Path) -> None:
    assert archived(root, "2026-03-21", dry_run=True).artifacts == 7
    assert archived(root, "2026-01-07").artifacts == 3
    assert sorted(path[7:17] for path in bundled(root)) == ["2026-01-05", "2026-01-05", "2026-01-06"]


def test_what_was_captured_later_stays_though_it_ended_before(root: Path) -> None:
    with house_at(root, now=APRIL) as house:
        end(house, "s-3", captured_at="2026-02-09T10:00:00Z", ended_at="2026-01-09T10:00:00Z")
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


def archived_while(root: Path, flow: Callable[[House], object], rules: Ruleset = BUILTIN) -> None:
    def meanwhile() -> None:
        with house_at(root, now=APRIL, rules=rules) as other:
            flow(other)

    state = root / ".lineage"
    private = Meanwhile(LocalStore(state, locks=state / "locks", private=True), meanwhile)
    with house_at(root, now=APRIL, rules=rules, private=private) as house:
        archive(house, BEFORE)


def test_what_is_removed_while_it_is_packed_leaves_the_bundle_again(root: Path) -> None:
    archived_while(root, lambda house: remove(house, "s-1", reason="asked for"))
    assert mentions(root, "heron") == []
    assert len(bundled(root)) == 2


def test_what_is_redacted_while_it_is_packed_is_archived_as_it_is_then(root: Path) -> None:
    archived_while(root, resanitize, BIRDS)
    assert mentions(root, "heron") == mentions(root, "bittern") == []
    assert len(bundled(root)) == 2
    with house_at(root, now=APRIL, rules=BIRDS) as house:
        assert archive(house, BEFORE).artifacts == 5
        assert verify(house) == []


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
    before = artifacts_of(canonical(root))
    with (
        house_at(root, now=APRIL, store=Failing(LocalStore(root), spoiled)) as house,
        pytest.raises(WorkspaceError, match="not read back"),
    ):
        archive(house, BEFORE)
    assert artifacts_of(canonical(root)) == before
    with house_at(root, now=APRIL) as house:
        resume(house)
        assert verify(house) == []
    assert archived(root).artifacts == 7


def test_everything_is_read_as_before(root: Path) -> None:
    def seen(house: House) -> object:
        shown = [show(house, "s-1", kind).text for kind in ("summary", "transcript", "compaction", "manifest")]
        hits = [(hit.path, hit.snippet) for hit in search(house, "heron plover", None, 9)]
        return shown, show_turns(house, "s-1", 2, 4).text, hits, export_session(house, "s-1").data, rows_of(house)

    with house_at(root, now=APRIL) as house:
        before = seen(house)
    archived(root)
    with house_at(root, now=APRIL) as house:
        assert seen(house) == before


def rows_of(house: House) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if key != "stamp"} for row in rows(house)]


def test_an_index_that_is_lost_is_rebuilt_out_of_the_bundles(root: Path) -> None:
    archived(root)
    with house_at(root, now=APRIL) as house:
        before = rows(house)
    lose_databases(root)
    with house_at(root, now=APRIL) as house:
        assert reindex(house).added == 9
        assert rows(house) == before


def test_a_reindex_reads_no_bundle_that_did_not_change(root: Path) -> None:
    archived(root)
    store = CountingStore(LocalStore(root))
    with house_at(root, now=APRIL, store=store) as house:
        report = reindex(house)
    assert (report.unchanged, report.touched, report.added) == (9, 0, 0)
    assert [key for key in store.reads if key.endswith(".zip") or "/memory/" in key] == []
    assert [key for key in store.reads if "--transcript" in key or "--summary" in key] == []


def test_every_link_of_the_vault_leads_to_a_note_as_obsidian_looks_for_it(root: Path) -> None:
    with house_at(root, now=JANUARY) as house:
        first = house.index.paths_of(house.index.sessions(None, reference="s-1")[0].session_token)
        path = next(path for path, kind in first if kind == naming.TRANSCRIPT)
        turn = transcript.parsed(document_at(house, path).body)[1].id  # type: ignore[union-attr]
    (root / "notes.md").write_text(f"What the agent said: [[{path}#^{turn}]].\n")
    archived(root)
    notes = {key: data.decode() for key, data in canonical(root).items() if key.endswith(".md")}
    links = [(target, part) for text in notes.values() for target, part in _LINK.findall(text)]
    assert len(links) > 30
    for target, part in links:
        found = [key for key in notes if key in (target, f"{target}.md")] or [
            key for key in notes if key.endswith((f"/{target}", f"/{target}.md"))
        ]
        assert len(found) == 1, target
        assert not part.startswith("^") or re.search(rf" {re.escape(part)}$", notes[found[0]], re.MULTILINE)
    assert f"archive/2026-01/{path}" in notes


def test_the_month_s_note_lists_each_capture_with_its_sentence_and_says_nothing_of_private_ones(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    with house_at(root, now=JANUARY) as house:
        ended(house, "s-1", "2026-01-05T11:00:00.000Z", transcript=TALK)
        ended(house, "s-2", "2026-01-06T11:00:00.000Z", transcript=turns("Say plover.", "Plover!"), private=True)
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
    more = turns("And the crane?", "On the roof.", start="2026-04-19T10:00")
    with house_at(root, now=APRIL) as house:
        assert end(house, "s-1", transcript=[*TALK, *MORE]).status == "unchanged"
        outcome = end(house, "s-1", transcript=[*TALK, *MORE, *more], ended_at=APRIL)
        assert (outcome.status, outcome.turns) == ("captured", 2)
        assert show_turns(house, "s-1", 1, 9).text.count("## ") == 7
        assert verify(house) == []


def test_an_artifact_that_is_archived_is_not_written_again_with_other_content(root: Path) -> None:
    archived(root)
    path = next(path for path in bundled(root) if path.endswith("summary.md"))
    with house_at(root, now=APRIL) as house:
        artifact = house.canon.artifacts.get(path)
        assert artifact is not None
        assert house.canon.artifacts.write(artifact) is False
        assert house.canon.artifacts.holds(artifact) is True
        with pytest.raises(ImmutableError):
            house.canon.artifacts.write(artifact._replace(title="other"))
    assert not (root / path).exists()


def test_a_removal_leaves_no_byte_of_the_session_and_every_byte_of_the_others(root: Path) -> None:
    archived(root)
    with house_at(root, now=APRIL) as house:
        token = house.index.sessions(None, reference="s-1")[0].session_token
    others = {path: data for path, data in bundled(root).items() if token not in path}
    with house_at(root, now=APRIL) as house:
        would = remove(house, "s-1", reason="asked for", dry_run=True)
        receipt = remove(house, "s-1", reason="asked for")
        assert would.removed_paths == receipt.removed_paths
        assert (receipt.turns, len(receipt.removed_paths)) == (5, 12)
        assert [path for path in receipt.elsewhere if token in path] == []
        assert verify(house) == []
    assert bundled(root) == others
    assert mentions(root, "heron") == []
    assert mentions(root, token) == [f"memory/tombstones/{token}.md"]
    with house_at(root, now=APRIL) as house:
        remove(house, "s-2", reason="asked for, too")
    assert not list((root / "archive").rglob("*.*"))


@pytest.mark.leaves_findings
def test_a_bundle_that_a_sync_brings_back_is_ignored_where_it_is_old_and_reported_where_it_is_not(root: Path) -> None:
    archived(root)
    shutil.copytree(root / "archive", root.with_name("copy"))
    with house_at(root, now=APRIL) as house:
        token = house.index.sessions(None, reference="s-1")[0].session_token
        remove(house, "s-1", reason="asked for")
        shutil.copytree(root.with_name("copy"), root / "archive", dirs_exist_ok=True)
        found = {finding.path: finding for finding in verify(house)}
        (old,) = house.canon.archives.superseded()
        assert (found[old.path].level, found[old.path].mend) == (MUST, f"lineage remove {token} --again")
        assert reindex(house).added == 0
        remove(house, token, reason="", again=True)
        recover(house)
        assert verify(house) == []
        remove(house, "s-2", reason="asked for")
        shutil.copytree(root.with_name("copy"), root / "archive", dirs_exist_ok=True)
        assert {finding.level for finding in verify(house) if "came back" in finding.what} == {MUST}
        assert house.index.counts() == {}
        remove(house, token, reason="", again=True)
        remove(house, "s-2", reason="", again=True)
        assert verify(house) == []
    assert mentions(root, "heron") == []


def test_what_is_archived_is_redacted_under_new_rules(root: Path) -> None:
    archived(root)
    shutil.copytree(root / "archive" / "2026-01" / "bundles", root.with_name("copy"))
    with house_at(root, now=APRIL, rules=BIRDS) as house:
        assert {finding.mend for finding in verify(house)} == {"lineage resanitize"}
        done = resanitize(house)
        assert (len(done.replaced), done.unchanged) == (5, 2)
        assert verify(house) == []
        assert resanitize(house).replaced == []
        shutil.copytree(root.with_name("copy"), root / "archive" / "2026-01" / "bundles", dirs_exist_ok=True)
        assert {finding.mend for finding in verify(house)} == {"lineage recover"}
        assert recover(house).collected == 2
    assert mentions(root, "heron") == mentions(root, "bittern") == []
    assert artifacts_of(canonical(root)) == {}


def test_large_months_have_many_bundles_and_a_removal_rewrites_only_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "MOST_BYTES", 4000)
    before = artifacts_of(canonical(root))
    archived(root)
    bundles = {path.name: path.read_bytes() for path in root.glob("archive/*/bundles/*.zip")}
    assert len(bundles) > 2
    assert bundled(root) == before
    with house_at(root, now=APRIL) as house:
        remove(house, "s-2", reason="asked for")
    after = {path.name: path.read_bytes() for path in root.glob("archive/*/bundles/*.zip")}
    assert len(bundles.items() & after.items()) >= len(bundles) - 2


def test_what_is_not_whole_stays_and_is_counted_by_reason(root: Path) -> None:
    with house_at(root, now=JANUARY) as house:
        late = "2026-01-09T11:00:00.000Z"
        end(house, "s-3", captured_at=late, ended_at="2026-02-03T10:00:00Z", transcript=turns("Late.", "Yes."))
        paths = [path for path, _ in house.index.paths_of(house.index.sessions(None, reference="s-2")[0].session_token)]
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
    before = artifacts_of(canonical(root))
    archived(root)
    path, data = min(before.items())
    (root / path).write_bytes(data)
    with house_at(root, now=APRIL) as house:
        (finding,) = [found for found in verify(house) if "archived, and there still" in found.what]
        assert finding.mend == "lineage archive --before 2026-01-06"
    assert archived(root, finding.mend.rpartition(" ")[2]).artifacts == 0
    assert not (root / path).exists()
    assert bundled(root) == before


@pytest.mark.leaves_findings
def test_a_torn_original_that_comes_back_takes_nothing_from_the_archive(root: Path) -> None:
    before = artifacts_of(canonical(root))
    archived(root)
    path, data = min(before.items())
    (root / path).write_bytes(data[:-10])
    with house_at(root, now=APRIL) as house:
        assert "is archived with other content" in {finding.what for finding in verify(house)}
    archived(root)
    assert bundled(root) == before
    assert (root / path).read_bytes() == data[:-10]


@pytest.mark.leaves_findings
def test_one_flipped_bit_is_found_and_the_other_artifacts_of_the_bundle_stay_readable(root: Path) -> None:
    archived(root)
    whole = bundled(root)
    bundle = bundle_of(root)
    data = bytearray(bundle.read_bytes())
    first = min(whole)
    place = data.index(first.encode(), data.index(first.encode()) + 1) if data.count(first.encode()) > 2 else 0
    place = data.index(first.encode(), place) + len(first) + 40
    data[place] ^= 1
    bundle.chmod(0o644)
    bundle.write_bytes(data)
    with house_at(root, now=APRIL) as house:
        findings = [finding for finding in verify(house) if finding.level == MUST]
        assert first in {finding.path for finding in findings}
        with pytest.raises(FormatError):
            house.canon.artifacts.get(first)
        assert all(house.canon.artifacts.get(path) for path in whole if path != first)
        house.index.reset()
        assert [path for path, _ in reindex(house, confirmed=True).problems] == [first]


@pytest.mark.leaves_findings
def test_a_bundle_that_cannot_be_opened_is_a_finding_and_its_rows_do_not_go_unasked(root: Path) -> None:
    archived(root)
    bundle = bundle_of(root)
    bundle.chmod(0o644)
    bundle.write_bytes(b"no bundle")
    bundle.with_suffix(".json").unlink()
    with house_at(root, now=APRIL) as house:
        path = bundle.relative_to(root).as_posix()
        assert (MUST, path) in {(finding.level, finding.path) for finding in verify(house)}
        with pytest.raises(Exception, match="gone from the workspace"):
            reindex(house)
        assert path in dict(reindex(house, confirmed=True).problems)


def test_a_catalog_that_is_lost_or_damaged_is_made_again_from_its_bundle(root: Path) -> None:
    archived(root)
    catalog = bundle_of(root).with_suffix(".json")
    whole = catalog.read_bytes()
    for damaged in (None, b"", b"{}", whole[:-20]):
        catalog.unlink()
        if damaged is not None:
            catalog.write_bytes(damaged)
        with house_at(root, now=APRIL) as house:
            assert show(house, "s-1", "summary").text
            recover(house)
            assert verify(house) == []
        assert catalog.read_bytes() == whole


@pytest.mark.leaves_findings
def test_a_catalog_that_says_something_else_than_its_bundle_is_found(root: Path) -> None:
    archived(root)
    catalog = bundle_of(root).with_suffix(".json")
    value = json.loads(catalog.read_bytes())
    value["members"] = value["members"][1:]
    catalog.write_text(json.dumps(value))
    with house_at(root, now=APRIL) as house:
        found = {finding.path: finding for finding in verify(house)}
        assert found[catalog.relative_to(root).as_posix()].level == MUST


def test_notes_that_are_lost_are_made_again_and_strays_are_named(root: Path) -> None:
    archived(root)
    with house_at(root, now=APRIL) as house:
        reindex(house)
    before = canonical(root)
    notes = [root / path for path in before if archived_path(path)]
    assert len(notes) == 7
    for note in (notes[0], root / month_path("2026-01")):
        note.unlink()
        with house_at(root, now=APRIL) as house:
            assert [(finding.what, finding.mend) for finding in verify(house)] == [("is missing", "lineage reindex")]
            reindex(house)
        assert canonical(root) == before
    notes[1].write_text("mine")
    stray = bundle_of(root).with_name("x.sync-conflict-20260401.zip")
    stray.write_bytes(b"")
    with house_at(root, now=APRIL) as house:
        assert {finding.mend for finding in verify(house)} == {"delete it, then lineage reindex", "move it away"}
        notes[1].unlink()
        stray.unlink()
        reindex(house)
    assert canonical(root) == before


@pytest.mark.leaves_findings
def test_what_is_not_lineage_s_in_a_folder_of_that_name_is_left_alone(root: Path) -> None:
    own = {"archive/old.md": "mine", month_path("2026-01"): "# My January\n", "archive/2026-01/pictures/x.md": "mine"}
    for key, text in own.items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_text(text)
    archived(root)
    with house_at(root, now=APRIL) as house:
        (finding,) = verify(house)
        assert finding.path == month_path("2026-01")
        remove(house, "s-1", reason="asked for")
        remove(house, "s-2", reason="asked for")
    left = {key: data.decode() for key, data in canonical(root).items() if key.startswith("archive/")}
    assert left == own


def test_an_exported_bundle_goes_with_its_session_and_the_archive_stays(root: Path) -> None:
    archived(root)
    with house_at(root, now=APRIL) as house:
        house.canon.store.create("mine.zip", export_session(house, "s-1").data)
        others = {path: data for path, data in bundled(root).items() if path in bundled(root)}
        receipt = remove(house, "s-1", reason="asked for")
        assert "mine.zip" in receipt.removed_paths
    assert len(bundled(root)) == 2
    assert bundled(root).items() <= others.items()


def test_the_command_says_what_it_did(lineage: Lineage) -> None:
    today = datetime.now(UTC)
    old, day = today - timedelta(days=60), (today - timedelta(days=40)).strftime("%Y-%m-%d")
    at = old.strftime("%Y-%m-%dT10:00:00Z")
    assert lineage.end("--captured-at", at, "--ended-at", at).code == 0
    would = lineage("archive", "--before", day, "--dry-run")
    assert (would.code, "2 files of 1 session would be archived" in would.out) == (0, True)
    done = lineage("archive", "--before", day, "--json")
    assert set(done.json) == {"before", "dry_run", "artifacts", "sessions", "bytes", "months", "left", "problems"}
    assert (done.json["artifacts"], done.json["months"]) == (2, {old.strftime("%Y-%m"): 2})
    assert lineage("verify").code == 0
    assert "## 3 · assistant" in lineage("show", "5f0c2f7e", "--turns", "3").out
    refused = lineage("archive", "--before", today.strftime("%Y-%m-%d"))
    assert (refused.code, "30 days" in refused.err) == (2, True)
    assert lineage("archive").code == 2


def test_nothing_of_a_workspace_without_an_archive_changes(root: Path) -> None:
    before = unpacked_bytes(root)
    assert archived(root, "2025-01-01").artifacts == 0
    with house_at(root, now=APRIL) as house:
        reindex(house)
    after = unpacked_bytes(root)
    assert [path for path in after if path.startswith("archive")] == []
    assert {path: data for path, data in after.items() if path.startswith("memory/")}.items() <= before.items()
    assert note_path(min(artifacts_of(before))).startswith("archive/2026-01/memory/")
