"""The notes of projects and days: what stands in them, whose they are, and what a capture pays for them.

Fails when a private, a removed or an archived session stands in one, when a person's text or file is written over, when
`render` makes other bytes than the captures did, and when a capture reads or writes more for a longer past.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lineage.app import locations
from lineage.core.base.naming import derive_session_token
from lineage.core.base.note_paths import find_block
from lineage.core.capture.ledger import NotedCapture
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.upgrade import upgrade
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.remember import Memo, remember
from lineage.projection.session_notes import MAX_SESSIONS, NEWEST_SESSIONS, render_day_note
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.faults import CountingStore
from tests.support.indexes import delete_database
from tests.support.obsidian import ObsidianVault
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, write_capture

HOSTILE = (
    "[[x]] ![[y]] #tag `<%` $a$ %%b%% <img src=x> [a](http://b) == c :: d ^block <!-- lineage:end -->"
    " `<!-- lineage:end -->`"
)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path) as ws:
        yield ws


def end(
    ws: Workspace, session: str, project: str = "/home/ada/demo", day: str = "2026-11-20", **payload: object
) -> str:
    said = make_turns(f"Please mend {session}.", f"Mended {session}.", start=f"{day}T10:00")
    return end_session(ws, session, project=project, transcript=said, **payload).session_token


def notes(root: Path) -> dict[str, str]:
    paths = (path for folder in ("projects", "days") for path in (root / folder).glob("*"))
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in paths}


def test_a_session_stands_in_the_notes_of_its_day_its_project_and_its_month(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "first")
    end(ws, "second", day="2026-10-31")
    end(ws, "elsewhere", "/home/ada/shop")
    end(ws, "homeless", "/home/ada")
    found = notes(tmp_path)
    assert {path: re.findall(r"mend (\w+)", text) for path, text in found.items()} == {
        "days/2026-10-31.md": ["second"],
        "days/2026-11-20.md": ["first", "elsewhere", "homeless"],
        "projects/demo.md": ["first", "second"],
        "projects/demo 2026-11.md": ["first"],
        "projects/demo 2026-10.md": ["second"],
        "projects/shop.md": ["elsewhere"],
        "projects/shop 2026-11.md": ["elsewhere"],
    }
    vault = ObsidianVault(tmp_path)
    links = [link for path in found for link in vault.list_links(path)]
    assert len(links) > 15
    assert [link for link in links if not vault.is_resolved(link)] == []
    assert verify(ws) == []


def test_a_project_s_note_says_what_its_books_say_and_follows_them(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "first")
    remember(ws, Memo(text="Ship on Fridays only.", kind="decision", project="demo"))
    remember(ws, Memo(text="Write the docs", kind="task", project="demo"))
    text = notes(tmp_path)["projects/demo.md"]
    assert re.search(r"## Decisions\n\n- \[user-stated\] Ship on Fridays only\.", text)
    assert re.search(r"## Open tasks\n\n- \[user-stated\] Write the docs", text)
    assert 'file.hasTag("project/demo")' in text
    assert verify(ws) == []


def test_what_was_decided_last_stands_first_one_click_from_where_it_was_said(ws: Workspace, tmp_path: Path) -> None:
    said = make_turns("Always run the importer with uv.", "I will.", start="2026-11-02T10:00")
    end_session(ws, "older", project="/home/ada/demo", transcript=said, captured_at="2026-11-02T10:05:00Z")
    remember(at_time(ws, "2026-11-09T10:00:00.000Z"), Memo(text="Read CSV by hand.", kind="decision", project="demo"))
    said = make_turns(
        "Which one?",
        "I decided to use calamine instead of openpyxl: it reads Excel files ten times faster.",
        start="2026-11-19T10:00",
    )
    end_session(ws, "newer", project="/home/ada/demo", transcript=said, captured_at="2026-11-19T10:05:00Z")
    first, second = notes(tmp_path)["projects/demo.md"].partition("## Decisions\n\n")[2].splitlines()[:2]
    assert "calamine" in first
    assert "2026-11-19" in first
    assert "by hand" in second
    vault = ObsidianVault(tmp_path)
    links = [
        link for link in vault.list_links("projects/demo.md") if "--transcript" in link.path and link.path in first
    ]
    assert links
    assert all(map(vault.is_resolved, links))


def test_private_and_test_sessions_stand_nowhere_and_link_nowhere(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "salary", private=True)
    end(ws, "scratch", "/tmp/scratch")
    assert notes(tmp_path) == {}
    end(ws, "open")
    assert not any(word in text for text in notes(tmp_path).values() for word in ("salary", "scratch"))
    manifests = [path.read_text() for path in (tmp_path / "memory").glob("*manifest.md")]
    assert sum("project/demo" in text for text in manifests) == 1
    assert sum("[[days/" in text for text in manifests) == 1
    assert not any("## The session before" in text for text in manifests)


def test_whatever_a_person_does_to_every_note_stays_and_is_no_fault(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "first")
    remember(ws, Memo(text="Ship on Fridays only.", kind="decision", project="demo"))
    before = notes(tmp_path)
    for number, path in enumerate(before):
        text = f"---\nmine: true\n---\nabove\n{before[path]}below\n"
        (tmp_path / path).write_bytes(text.replace("\n", "\r\n" if number % 2 else "\n").encode())
    assert verify(ws) == []
    end(ws, "second")
    publish_all(ws)
    after = notes(tmp_path)
    assert all(text.startswith("---") and text.rstrip().endswith("below") for text in after.values())
    assert all("mend second" in text for text in after.values())
    assert verify(ws) == []


def test_a_file_of_a_person_s_own_is_never_written(ws: Workspace, tmp_path: Path) -> None:
    mine = {"days/2026-11-20.md": b"# Dear diary\n", "projects/demo.md": b"", "days/2026-11-01.md": b"\xff\x00",
            "projects/Plans.md": b"mine", "days/notes/x.md": b"mine"}  # fmt: skip
    for path, data in mine.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    token = end(ws, "first")
    publish_all(ws)
    remove(ws, token, reason="x")
    assert {path: (tmp_path / path).read_bytes() for path in mine} == mine
    assert verify(ws) == []


def test_notes_that_a_person_moved_or_emptied_are_theirs_and_others_are_made(ws: Workspace, tmp_path: Path) -> None:
    said = make_turns("Please mend the last row of the importer.", "Mended.", start="2026-11-20T10:00")
    token = end_session(ws, "first", project="/home/ada/demo", transcript=said).session_token
    (tmp_path / "projects").rename(tmp_path / "Areas")
    (tmp_path / "days").rename(tmp_path / "Journal")
    moved = {path: path.read_bytes() for folder in ("Areas", "Journal") for path in (tmp_path / folder).iterdir()}
    assert {(finding.level, finding.what) for finding in verify(ws)} == {("SHOULD", "is missing")}
    end(ws, "second")
    assert verify(ws) == []
    (tmp_path / "days/2026-11-20.md").write_bytes(b"")
    end(ws, "third")
    assert notes(tmp_path)["days/2026-11-20.md"] == ""
    assert all("mend third" in text for path, text in notes(tmp_path).items() if path.startswith("projects/"))
    assert verify(ws) == []
    vault = ObsidianVault(tmp_path)
    links = [link for path in moved for link in vault.list_links(path.relative_to(tmp_path).as_posix())]
    assert links
    assert [link for link in links if not vault.is_resolved(link)] == []
    receipt = remove(ws, token, reason="x")
    assert set(receipt.elsewhere) >= {path.relative_to(tmp_path).as_posix() for path in moved}
    assert {path: path.read_bytes() for path in moved} == moved


@pytest.mark.leaves_findings
def test_what_is_in_a_note_s_way_stops_no_capture_and_is_named(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "days").write_text("a file")
    (tmp_path / "projects" / "demo.md").mkdir(parents=True)
    end(ws, "first")
    assert {finding.path for finding in verify(ws)} == {"days/2026-11-20.md", "projects/demo.md"}
    assert (tmp_path / "days").read_text() == "a file"


def test_projects_with_any_name_have_notes_of_their_own(ws: Workspace, tmp_path: Path) -> None:
    projects = ["/srv/a/demo", "/srv/b/demo", "/srv/CON", "/srv/demo.md", "/srv/demo 2026-11", "/srv/مشروع",
                "/srv/" + "x" * 300, "C:\\work\\nul", "/srv/[[x]] #y"]  # fmt: skip
    for number, project in enumerate(projects):
        end(ws, f"s{number}", project)
    named = {path: re.findall(r"mend (\w+)", text) for path, text in notes(tmp_path).items() if " 2026" not in path}
    assert sorted(found for path, found in named.items() if path.startswith("projects/")) == [
        [f"s{number}"] for number in range(len(projects))
    ]
    vault = ObsidianVault(tmp_path)
    assert [link for path in notes(tmp_path) for link in vault.list_links(path) if not vault.is_resolved(link)] == []
    assert verify(ws) == []


def test_nothing_that_was_said_is_live_in_a_note(ws: Workspace, tmp_path: Path) -> None:
    end_session(ws, "h", project="/home/ada/demo", transcript=make_turns(HOSTILE, "done"))
    remember(ws, Memo(text=f"Never {HOSTILE}", kind="decision", project="demo"))
    vault = ObsidianVault(tmp_path)
    found = notes(tmp_path)
    assert all(vault.is_resolved(link) for path in found for link in vault.list_links(path))
    tags = {tag for text in found.values() for tag in re.findall(r"(?<![\\\w])#[\w/-]+", text)}
    assert tags == {"#lineage/day", "#lineage/project", "#project/demo"}
    assert all(text.count("<!--") == 2 and "<img" not in text for text in found.values())
    assert verify(ws) == []


def test_a_removed_session_vanishes_from_notes_and_manifests(ws: Workspace, tmp_path: Path) -> None:
    first, _ = end(ws, "first"), end(ws, "second")
    last = end(ws, "last", day="2026-10-31")
    (tmp_path / "days" / "2026-10-31.md").write_text(f"{notes(tmp_path)['days/2026-10-31.md']}mine\n")
    token = derive_session_token("default", "second")
    assert f"{first}--manifest" in next((tmp_path / "memory").glob(f"*{token}--manifest.md")).read_text()
    remove(ws, first, reason="x")
    remove(ws, last, reason="x")
    texts = [path.read_text() for path in tmp_path.rglob("*.md") if "tombstones" not in path.parts]
    assert not any(word in text for text in texts for word in (first, last, "mend first", "mend last"))
    assert notes(tmp_path).keys() == {"days/2026-10-31.md", "days/2026-11-20.md", "projects/demo.md",
                                      "projects/demo 2026-11.md"}  # fmt: skip
    assert (tmp_path / "days" / "2026-10-31.md").read_text() == "mine\n"
    assert verify(ws) == []


def test_a_block_that_a_sync_brought_back_is_reported(ws: Workspace, tmp_path: Path) -> None:
    token, _ = end(ws, "first"), end(ws, "second")
    old = notes(tmp_path)["days/2026-11-20.md"]
    remove(ws, token, reason="x")
    (tmp_path / "days" / "2026-11-20.md").write_text(old)
    assert [(finding.level, finding.path) for finding in verify(ws)] == [("MUST", "days/2026-11-20.md")]
    remove(ws, token, reason="x", again=True)
    assert verify(ws) == []


def test_archived_sessions_vanish_from_the_notes(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "old", day="2026-08-20", captured_at="2026-08-20T10:05:00Z")
    end(ws, "new")
    assert "projects/demo 2026-08.md" in notes(tmp_path)
    archive(ws, "2026-09-01")
    assert notes(tmp_path).keys() == {"days/2026-11-20.md", "projects/demo.md", "projects/demo 2026-11.md"}
    assert not any("mend old" in text for text in notes(tmp_path).values())
    assert verify(ws) == []


def test_a_render_and_a_rebuild_make_the_bytes_of_the_captures(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        for number in range(8):
            end(ws, f"s{number}", f"/home/ada/{'demo' if number % 2 else 'shop'}", f"2026-11-{10 + number // 3}")
        remember(ws, Memo(text="Ship on Fridays only.", kind="decision", project="demo"))
        captured = notes(tmp_path)
        for path in captured:
            (tmp_path / path).unlink()
        assert {finding.what for finding in verify(ws)} == {"is missing"}
        publish_all(ws)
        assert notes(tmp_path) == captured
        for path in captured:
            (tmp_path / path).write_bytes(captured[path].encode().replace(b"mend", b"bend"))
        assert {finding.what for finding in verify(ws)} == {"is not what the files say"}
    delete_database(tmp_path)
    with open_test_workspace(tmp_path) as ws:
        reindex(ws)
        assert notes(tmp_path) == captured


def test_sessions_that_end_at_once_all_stand_in_the_note(tmp_path: Path) -> None:
    def run(number: int) -> None:
        with open_test_workspace(tmp_path) as own:
            end(own, f"s{number}")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(12)))
    with open_test_workspace(tmp_path) as ws:
        assert verify(ws) == []
    assert set(re.findall(r"mend s(\d+)", notes(tmp_path)["projects/demo.md"])) == {str(n) for n in range(12)}


@pytest.mark.slow
def test_a_capture_pays_no_more_for_a_longer_past(tmp_path: Path) -> None:
    store = CountingStore(locations.open_store(tmp_path))
    costs, sizes = list[tuple[int, int, int]](), list[int]()
    with open_test_workspace(tmp_path, store=store) as ws:
        for number in range(2 * NEWEST_SESSIONS + 10):
            store.reads.clear()
            store.written.clear()
            statements = list[str]()
            with ws.index.trace_statements(statements.append):
                end(ws, f"s{number:03}", day=f"2026-11-{1 + number // 5:02}")
            if number % 5 == 1:
                costs.append((len(store.reads), store.written.total(), len(statements)))
                sizes.append(len((tmp_path / "projects" / "demo.md").read_bytes()))
    assert costs[-1] == costs[-2] == costs[2], "but for one step a month"
    assert sizes[-1] == sizes[-2] == sizes[-3]
    rows = (tmp_path / "projects" / "demo.md").read_text().count("--manifest.md|")
    assert (rows, MAX_SESSIONS) == (NEWEST_SESSIONS, 200)


def test_upgrade_links_what_older_versions_captured(ws: Workspace, tmp_path: Path) -> None:
    for number, at in enumerate(("2026-11-18T10:00:00.000Z", "2026-11-19T10:00:00.000Z")):
        write_capture(
            ws,
            f"old-{number}",
            sentence="Asked to mend the reader.",
            captured_at=at,
            transcript=make_turns("x", "y", start=at[:16]),
        )
    assert notes(tmp_path) == {}
    report = upgrade(ws, dry_run=False)
    assert len(report.manifests) == 2
    assert {"projects/demo.md", "projects/demo 2026-11.md"} <= notes(tmp_path).keys()
    texts = [path.read_text() for path in sorted((tmp_path / "memory").glob("*manifest.md"))]
    assert ["## The session before" in text for text in texts] == [False, True]
    assert all("[[projects/demo.md|project]]" in text for text in texts)
    assert upgrade(ws, dry_run=False).manifests == []
    assert verify(ws) == []


def test_sessions_that_edited_the_same_files_know_each_other(ws: Workspace, tmp_path: Path) -> None:
    def edit(session: str, file: str, day: int) -> str:
        calls = [
            {"role": "user", "text": f"Mend {file}", "at": f"2026-11-{day}T10:00:00Z", "id": f"{session}1"},
            {"role": "assistant", "text": "", "name": "Edit", "input": {"file_path": file, "old_string": "a",
             "new_string": "b"}, "at": f"2026-11-{day}T10:01:00Z", "id": f"{session}2"},
        ]  # fmt: skip
        at = f"2026-11-{day}T11:00:00Z"
        return end_session(ws, session, project="/srv/demo", transcript=calls, captured_at=at).session_token

    one, other = edit("one", "src/a.py", 10), edit("other", "src/b.py", 11)
    third = edit("third", "src/a.py", 12)
    text = next((tmp_path / "memory").glob(f"*{third}--manifest.md")).read_text()
    assert re.findall(r"--(\w{16})--manifest", text.partition("## The session before")[2].partition("##")[0]) == [other]
    assert re.findall(r"--(\w{16})--manifest", text.partition("## Sessions with the same files")[2]) == [one]


def test_a_note_has_one_block(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "first")
    assert all((find_block(text.encode()) or b"").startswith(b"# ") for text in notes(tmp_path).values())


def test_a_late_note_of_another_time_reads_the_same(ws: Workspace, tmp_path: Path) -> None:
    end(ws, "first")
    before = notes(tmp_path)
    publish_all(at_time(ws, "2027-11-21T12:00:00.000Z"))
    assert notes(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("cli 2026", "## [[projects/cli~020~2026.md|cli 2026]]"), ("日本 語", "## [[projects/日本~020~語.md|日本 語]]"),
        ("a|b", "## [[projects/a~07c~b.md]]"),
    ],
)  # fmt: skip
def test_a_link_to_a_project_is_called_by_its_name(name: str, heading: str) -> None:
    at = "2026-11-20T10:00:00.000Z"
    capture = NotedCapture(at, "stem", "h7k3n4p2m2x6q3r5", "/p", "Mend it", "", "generic", "memory/x--manifest.md")
    assert heading in render_day_note("2026-11-20", [capture], lambda _: name).splitlines()
