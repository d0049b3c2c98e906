"""`lineage export`: what leaves the workspace, in which form, and what never does.

Fails without each reason of `_find_reason`, without `may_show`, the redaction of `BookReader`, `ExportLinks.plan`, the
policy of a page, and for anything of the day or the machine in a page.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lineage.app import clock
from lineage.app.workspace import run_in_workspace
from lineage.core.base.naming import derive_session_token
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web.export.site import POLICY, build_site
from lineage.web.pages import panels, sessions
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand, run_process
from tests.support.sample_workspace import write_sample_workspace
from tests.support.workspace import compact_session, end_session, make_turns

pytestmark = pytest.mark.slow

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    return LineageCommand(write_sample_workspace(tmp_path / "vault", length=120), capsys)


@pytest.fixture(params=["long pages", "short pages"])
def site(
    lineage: LineageCommand, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An export with lists on one page, or on as many as they have items."""
    if request.param == "short pages":
        for module, name in ((sessions, "PER_PAGE"), (panels, "PER_PAGE"), (panels, "PER_PANEL")):
            monkeypatch.setattr(module, name, 1)
    return export(lineage, export(lineage, tmp_path / "site"))


def export(lineage: LineageCommand, place: Path, *more: str) -> Path:
    done = lineage("export", "--site", str(place), *more)
    assert done.code == 0, done.err
    return place


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_pages(folder: Path) -> dict[str, str]:
    return {name: data.decode() for name, data in read_files(folder).items() if name.endswith(".html")}


def holds(folder: Path, words: str) -> bool:
    """Whether any file says so, also in the letters of JSON."""
    return any(words.encode() in data or words.lower().encode() in data.lower() for data in read_files(folder).values())


def list_links(text: str) -> Iterator[str]:
    return (unescape(link) for link in re.findall(r'(?:href|src)="([^"]*)"', text))


def fill(lineage: LineageCommand, work: Any) -> Any:
    return run_in_workspace(lineage.root, work, writes=True)


def test_every_link_leads_to_a_file_and_to_a_place_in_it(site: Path) -> None:
    pages = read_pages(site)
    for name, text in pages.items():
        assert list(list_links(text)), name
        for link in list_links(text):
            path, _, anchor = link.partition("#")
            assert not path.startswith("/"), (name, link)
            assert "://" not in link
            assert "?" not in link
            target = (site / name).parent / path if path else site / name
            assert target.is_file(), (name, link)
            assert not anchor or f'id="{anchor}"' in target.read_text(), (name, link)


def test_every_page_is_reached_from_the_first(site: Path) -> None:
    pages, seen, waiting = read_pages(site), set[str](), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in pages:
            continue
        seen.add(name)
        found = (link.partition("#")[0] for link in list_links(pages[name]))
        waiting += [
            ((site / name).parent / path).resolve().relative_to(site.resolve()).as_posix() for path in found if path
        ]
    assert seen == set(pages)
    assert len(seen) > 10


def test_the_activity_is_that_of_named_days_whenever_it_is_read(site: Path) -> None:
    index = read_pages(site)["index.html"]
    assert re.search(r"sessions? in the 30 days to \d+ \w+ 20\d\d", index)
    assert "last 30 days" not in index


def test_pages_are_small_and_ask_nothing(site: Path) -> None:
    for name, text in read_pages(site).items():
        assert len(text.encode()) < 150_000, name
        assert "<form" not in text, name
        assert "csrf" not in text, name
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert unescape(policy) == POLICY
        assert set(re.findall(r"<script[^>]*>", text)) == {
            f'<script src="{"../" * name.count("/")}static/{script}" defer>' for script in ("search.js", "lineage.js")
        }


def test_a_long_session_is_split_as_on_the_page(site: Path) -> None:
    token = derive_session_token("default", "long")
    counts = [
        (site / f"sessions/{token}{number}.html").read_text().count('<article class="turn ')
        for number in ("", ".2", ".3")
    ]
    assert counts == [50, 50, 20]
    document = (site / f"sessions/{token}.md").read_text()
    assert "## 119 · user" in document
    assert "turn 120 about parser.py" in document


def test_the_same_state_gives_the_same_bytes_on_any_day(
    lineage: LineageCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = export(lineage, tmp_path / "site")
    other = run_process(lineage.root, "export", "--site", str(tmp_path / "other"), PYTHONHASHSEED="7")
    assert other.code == 0
    assert read_files(tmp_path / "other") == read_files(site)
    monkeypatch.setattr(clock, "now", lambda: "2027-02-03T04:05:06.789Z")
    export(lineage, site)
    assert read_files(tmp_path / "other") == read_files(site)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "site", "vault"]


def test_private_removed_and_trial_sessions_stay_and_all_that_came_of_them(
    lineage: LineageCommand, tmp_path: Path
) -> None:
    def work(ws: Workspace) -> None:
        asked = make_turns("Always use the word quokka in commits. The wombat file is next.", "Noted: quokka it is.")
        end_session(ws, "gone", project="/home/ada/shop", transcript=asked)
        end_session(ws, "trial", project="/tmp/scratch", transcript=make_turns("A numbat was here.", "It was."))
        hidden = make_turns("Always salt the axolotl file.", "I did as asked.")
        end_session(ws, "secret-parent", project="/home/ada/axolotl", private=True, transcript=hidden)
        end_session(ws, "fork", project="/home/ada/shop", transcript=make_turns("What does checkout do?", "It pays."))
        remember(ws, Memo(text="Prefers the tapir branch.", kind="preference", scope="session/gone"))
        remove(ws, "gone", reason="no")

    fill(lineage, work)
    done = lineage("export", "--site", str(tmp_path / "site"), "--json").json
    assert done["left_out"] == {"private": 2, "trial": 1}
    assert done["sessions"] == 3
    tokens = [derive_session_token("default", name) for name in ("gone", "trial", "hidden", "secret-parent")]
    for words in (*tokens, "quokka", "wombat", "numbat", "axolotl", "tapir", "salary", "secret-parent"):
        assert not holds(tmp_path / "site", words), words
    assert holds(tmp_path / "site", "checkout")


def test_a_session_that_is_removed_meanwhile_is_in_no_export(
    lineage: LineageCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(ws: Workspace, *others: Any) -> Iterator[tuple[str, bytes]]:
        yield from build_site(ws, *others)
        remove(ws, "short", reason="no")

    place = export(lineage, tmp_path / "site")
    before = read_files(place)
    monkeypatch.setattr("lineage.web.export.folder.build_site", build)
    done = lineage("export", "--site", str(place))
    assert (done.code, "removed while it was exported" in done.err) == (1, True)
    assert read_files(place) == before
    monkeypatch.undo()
    export(lineage, place)
    assert not holds(place, "checkout")


def test_what_a_session_was_given_of_others_is_no_link_to_them(lineage: LineageCommand, tmp_path: Path) -> None:
    tokens = {name: derive_session_token("default", name) for name in ("short", "long", "hidden")}
    line = '{"id": "%s/1", "at": "2026-11-20T10:00:00.000Z", "kind": "prompt", "tokens": 9, "marks": []}\n'
    log = lineage.root / ".lineage" / "recall" / f"{tokens['short']}.jsonl"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    log.write_text(line % tokens["long"] + line % tokens["hidden"])
    export(lineage, tmp_path / "site")
    text = (tmp_path / f"site/sessions/{tokens['short']}.html").read_text()
    assert text.count("words of an earlier session") == 1
    assert f'<a href="../sessions/{tokens["long"]}.html">words of an earlier session</a>' in text
    assert not holds(tmp_path / "site", tokens["hidden"])


@pytest.mark.leaves_findings
def test_what_was_marked_private_by_hand_stays_before_any_reindex(lineage: LineageCommand, tmp_path: Path) -> None:
    token = derive_session_token("default", "short")
    (manifest,) = lineage.root.glob(f"memory/*{token}--manifest.md")
    manifest.chmod(0o600)
    manifest.write_text(manifest.read_text().replace("private: false", "private: true", 1))
    export(lineage, tmp_path / "site")
    assert not holds(tmp_path / "site", token)


@pytest.mark.leaves_findings
def test_memory_is_there_but_what_waits_was_forgotten_or_is_a_secret(lineage: LineageCommand, tmp_path: Path) -> None:
    def work(ws: Workspace) -> str:
        kept = remember(ws, Memo(text="Prefers the zebra colours.", kind="preference"))
        lost = remember(ws, Memo(text="Prefers the giraffe colours.", kind="preference"))
        return f"{kept.id} {lost.id}"

    kept, lost = fill(lineage, work).split()
    book = lineage.root / "books" / "global" / "preference.md"
    whole = book.read_text()
    assert lineage("book", "forget", lost).code == 0
    # a sync client brought back what was forgotten, without its words in the list
    book.write_text(f"{whole}\n<!-- lineage:forgotten {lost} -->\n\nMy own line with {SECRET} in it.\n")
    (pending,) = (lineage.root / "books" / "pending").rglob("preference.md")
    pending.write_text(f"{pending.read_text()}\nMy gazelle line that waits.\n")
    export(lineage, tmp_path / "site")
    assert "zebra colours" in (tmp_path / f"site/entries/{kept}.html").read_text()
    assert "My own line" in (tmp_path / "site/memory.html").read_text()
    for words in (SECRET, "giraffe", lost, "short commit messages", "gazelle"):
        assert not holds(tmp_path / "site", words), words


def test_filters_narrow_sessions_and_memory(lineage: LineageCommand, tmp_path: Path) -> None:
    def work(ws: Workspace) -> None:
        made = make_turns("From now on, always pin the okapi library here.", "Pinned.", start="2026-11-10T10:00")
        end_session(
            ws, "early", agent_id="ann", project="/home/ada/zoo", transcript=made, ended_at="2026-11-10T11:00:00Z"
        )

    fill(lineage, work)
    project = export(lineage, tmp_path / "project", "--project", "shop")
    assert [path.stem for path in (project / "sessions").glob("*.md")] == [derive_session_token("default", "short")]
    assert not holds(project, "parser")
    assert not holds(project, "okapi")
    assert not holds(project, "Makefiles")
    assert not holds(project, "release notes")
    assert holds(export(lineage, tmp_path / "reader", "--project", "reader"), "release notes")
    assert any("okapi" in path.read_text() for path in (lineage.root / "books" / "project").rglob("*.md"))
    agent = export(lineage, tmp_path / "agent", "--agent", "ann")
    assert [path.stem for path in (agent / "sessions").glob("*.md")] == [derive_session_token("ann", "early")]
    assert not holds(agent, "checkout")
    early = export(lineage, tmp_path / "early", "--until", "2026-11-15")
    assert [path.stem for path in (early / "days").glob("*")] == ["2026-11-10"]
    assert export(lineage, tmp_path / "late", "--since", "2026-11-15", "--until", "2026-11-21")
    assert not holds(tmp_path / "late", "okapi")
    nothing = lineage("export", "--site", str(tmp_path / "none"), "--project", "nowhere")
    assert (nothing.code, (tmp_path / "none").exists()) == (1, False)
    assert "no session is left" in nothing.err


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--site", "x", "--html", "y"], ["short", "--site", "x"], ["--html", "x"],
        ["--site", "x", "--since", "may"],
        ["short", "--html", "x", "--project", "shop"], ["hidden", "--html", "x"], ["hidden", "--markdown", "-"],
        ["hidden", "--bundle", "x.zip"], ["nobody", "--html", "x"], ["--site", "missing/x"], ["--site", "vault/x"],
        ["short", "--html", "vault/x.html"], ["--site", "mine"], ["short", "--html", "mine/there.html"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_writes_nothing(
    lineage: LineageCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/there.html").write_text("mine")
    before = read_files(tmp_path / "mine")
    done = lineage("export", *arguments)
    assert done.code in (1, 2)
    assert done.err.count("\n") >= 2
    assert read_files(tmp_path / "mine") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "vault"]


def test_one_session_is_one_page(lineage: LineageCommand, tmp_path: Path) -> None:
    def work(ws: Workspace) -> None:
        turns = [
            *make_turns("Print it."),
            {"role": "tool", "name": "Bash", "text": "a line\n" * 9_000 + "the last line"},
        ]
        end_session(ws, "wide", project="/home/ada/shop", transcript=turns)

    fill(lineage, work)
    for session, words in (("long", "turn 120 about parser.py"), ("wide", "the last line")):
        done = lineage("export", session, "--html", str(tmp_path / f"{session}.html"), "--json").json
        text = (tmp_path / f"{session}.html").read_text()
        assert done["bytes"] == len(text.encode())
        assert words in text
        assert "characters more" not in text
        assert "default-src 'none'; style-src 'sha256-" in unescape(text)
        assert not [link for link in list_links(text) if not link.startswith("#")]
        assert all(f'id="{link[1:]}"' in text for link in list_links(text))
        assert not re.search(r"<(script|form|link|img|button)", text)
    assert (tmp_path / "long.html").stat().st_mode & 0o777 == 0o600
    assert lineage("export", "long", "--html", str(tmp_path / "long.html")).code == 2
    assert lineage("export", "long", "--html", str(tmp_path / "long.html"), "--force").code == 0


def test_one_session_is_markdown(lineage: LineageCommand, tmp_path: Path) -> None:
    printed = lineage("export", "short", "--markdown", "-").out
    assert printed.startswith("# ")
    assert "Why does checkout.py fail?" in printed
    assert lineage("export", "short", "--markdown", str(tmp_path / "short.md")).code == 0
    assert (tmp_path / "short.md").read_text() == printed
    assert lineage("export", "short", "--markdown", "-", "--json").json == {"markdown": printed}
    hidden = lineage("export", "hidden", "--markdown", "-", "--include-private").out
    assert "My salary is high." in hidden


def test_a_bundle_is_that_of_the_other_command(lineage: LineageCommand, tmp_path: Path) -> None:
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    first = lineage("export", "short", "--bundle", str(one), "--json").json
    second = lineage("bundle", "export", "short", "-o", str(other), "--json").json
    assert {**first, "file": ""} == {**second, "file": ""}
    assert one.read_bytes() == other.read_bytes()
    assert "bundle.json" in zipfile.ZipFile(one).namelist()


def test_what_is_said_at_the_end_is_true(lineage: LineageCommand, tmp_path: Path) -> None:
    fill(lineage, lambda ws: compact_session(ws, "short", project="/home/ada/shop", summary="Goal: the till."))
    place = tmp_path / "site"
    told = lineage("export", "--site", str(place), "--json").json
    files = read_files(place)
    assert (told["files"], told["bytes"]) == (len(files), sum(map(len, files.values())))
    assert told["pages"] == len(read_pages(place))
    assert told["entries"] == len(list((place / "entries").iterdir()))
    assert json.loads(files["lineage-export.json"]) == {"format": 1, "sessions": 2, "entries": told["entries"]}
    said = lineage("export", "--site", str(place)).out
    assert f"2 sessions and {told['entries']} entries on {told['pages']} pages" in said
    assert "left out: private 1" in said
    token = derive_session_token("default", "short")
    assert "Goal: the till." in (place / f"sessions/{token}-compaction.html").read_text()
