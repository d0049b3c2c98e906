"""Every link of a workspace leads where it should, as Obsidian follows it: alone, and as one folder of a vault.

Fails when `wikilink` of core/links.py drops a folder, when a page of the handbook links by name alone,
when `_shadowing` of app/initializing.py looks at nothing, and when the canvas has file nodes.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.app.init_workspace import init_workspace
from lineage.app.locations import find_template
from lineage.core.base import naming
from lineage.core.books.book import parse_book
from lineage.harness.detect_caller import Caller
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.transfer.bundle_export import export_session
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.workspace import Workspace
from tests.support.obsidian import ObsidianLink, ObsidianVault
from tests.support.workspace import compact_session, end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

TALK = make_turns(
    "In all projects I prefer tabs over spaces in Makefiles. Why does reader.py drop the last line, as in [[evil]]?",
    "We decided to use splitlines(). TODO: add a test for it.",
    "From now on always run the tests before you push.",
    "Understood. The bug was in the split: it drops what follows the last newline.",
)
FOREIGN = {
    "Books.md": "# Books\n\nNovels.\n",
    "Search.md": "mine",
    "notes/Privacy removal.md": "mine",
    "notes/README.md": "mine",
    "a/deep/er/Files.md": "mine",
    "memory/Summer.md": "# Summer",
    "agents/Smith.md": "not an agent's",
}


def with_handbook(root: Path) -> None:
    """The pages that stay in the package, where earlier versions put them: their links are as good as before."""
    for folder in ("handbook", "integrations", "services"):
        shutil.copytree(find_template() / folder, root / folder)


def lived_in(root: Path, other: Path) -> None:
    """Resumed, compacted, forked and private sessions of two agents, books on two shelves, an imported bundle."""
    with open_test_workspace(other) as there:
        end_session(there, "elsewhere", transcript=TALK)
        compact_session(there, "elsewhere", captured_at="2026-11-20T13:00:00Z")
        bundle = export_session(there, "elsewhere").data
    with open_test_workspace(root) as ws:
        end_session(ws, transcript=TALK[:2], captured_at="2026-11-20T11:00:00Z")
        compact_session(ws, transcript=TALK, summary="Goal: ![[evil.png]] fix it.", captured_at="2026-11-20T12:00:00Z")
        end_session(ws, transcript=TALK, captured_at="2026-11-20T12:30:00Z")
        compact_session(ws, "only-compacted", captured_at="2026-11-20T14:00:00Z")
        end_session(ws, "another", agent_id="Reviewer", transcript=TALK[:2], captured_at="2026-11-20T15:00:00Z")
        end_session(ws, "hidden", private=True, transcript=make_turns("My salary is high.", "Noted."))
        end_session(
            ws, "older", transcript=make_turns("Hello?", "Yes.", start="2026-11-18T10:00"), project="/home/ada/a ]] b"
        )
        _remembered(ws)
        import_bundle(ws, bundle)
        reindex(ws)


def _remembered(ws: Workspace) -> None:
    remember(ws, Memo(text="Prefers short commit messages.", kind="preference"))
    remember(ws, Memo(text="Write the release notes", kind="task", project="demo"))
    remember(ws, Memo(text="Prefers Go over Python.", kind="preference"), Caller("codex"))
    remember(ws, Memo(text="Today it rained.", kind="daily"))


def everything(vault: ObsidianVault, below: str = "") -> list[ObsidianLink]:
    """Every link of the notes below a folder, and the origin of every entry: people follow these too.

    An agent's memo leads to its session only when that is captured: until then there is nothing to follow.
    """
    found = []
    for path in (path for path in vault.files if path.startswith(below)):
        book = parse_book((vault.root / path).read_bytes(), "", "")
        origins = [entry.origin for entry in book.entries if entry.origin and not entry.is_unjudged]
        found += [*vault.list_links(path), *(ObsidianLink.parse(path, origin[2:-2]) for origin in origins)]
    return found


@pytest.fixture
def vault(tmp_path: Path) -> ObsidianVault:
    root = tmp_path / "vault"
    init_workspace(root)
    with_handbook(root)
    lived_in(root, tmp_path / "other")
    return ObsidianVault(root)


@pytest.fixture
def within(tmp_path: Path) -> ObsidianVault:
    """A vault of somebody's, with the workspace in one folder of it."""
    root = tmp_path / "notes"
    for path, text in FOREIGN.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    assert init_workspace(root, "brain/lineage").shadowing == []
    with_handbook(root / "brain" / "lineage")
    lived_in(root / "brain" / "lineage", tmp_path / "other")
    return ObsidianVault(root)


def test_every_link_leads_to_a_file_and_to_its_place_in_it(vault: ObsidianVault) -> None:
    found = everything(vault)
    assert len(found) > 150
    assert [link for link in found if not vault.is_resolved(link)] == []


def test_a_memo_names_nothing_but_the_claim_that_its_session_will_have(vault: ObsidianVault) -> None:
    """In a comment, where Obsidian has no link that would make the file; `judge_memos` names the manifest then."""
    books = {path: (vault.root / path).read_bytes() for path in vault.files if path.startswith("books/pending/")}
    waiting = [
        (path, entry) for path, data in books.items() for entry in parse_book(data, "", "").entries if entry.is_unjudged
    ]
    ((path, memo),) = waiting
    assert memo.body == "Prefers Go over Python."
    assert re.fullmatch(rf"\[\[{naming.CLAIMS}[a-z2-7]{{16}}\.md\]\]", memo.origin or "")
    assert (memo.origin or "")[2:-2] not in {link.path for link in vault.list_links(path)}


def test_every_sort_of_link_is_among_them(vault: ObsidianVault) -> None:
    found = everything(vault)
    sorts: dict[str, Callable[[ObsidianLink], bool]] = {
        "a turn": lambda link: link.subpath.startswith("#^t-"),
        "a day of the ledger": lambda link: (link.path, link.subpath[:6]) == ("MEMORY.md", "#2026-"),
        "another agent's ledger": lambda link: link.path == "agents/~reviewer/MEMORY.md",
        "a waiting entry's origin": lambda link: link.source.startswith("books/pending/") and "memory/" in link.path,
        "a view": lambda link: link.path.endswith(".base"),
        "the canvas": lambda link: link.source.endswith(".canvas"),
        "a heading of the handbook": lambda link: link.subpath == "#Review what waits",
    }
    assert [name for name, is_one in sorts.items() if not any(map(is_one, found))] == []


def test_links_lead_to_the_path_that_they_name(vault: ObsidianVault) -> None:
    """Nothing depends on guessing: what is written is the path from the root, to the letter."""
    assert [link for link in everything(vault) if link.path and vault.resolve(link) != link.path] == []


def test_in_a_folder_of_a_vault_every_link_stays_within_the_folder(within: ObsidianVault) -> None:
    own = "brain/lineage/"
    found = everything(within, own)
    assert len(found) > 150
    assert [link for link in found if not within.is_resolved(link)] == []
    assert [link for link in found if link.path and within.resolve(link) != own + link.path] == []


def test_the_graph_of_fifty_sessions_shows_projects(tmp_path: Path) -> None:
    """What is left of the links under the graph's filter: one cluster a project, not one a session."""
    root = tmp_path / "vault"
    init_workspace(root)
    with open_test_workspace(root) as ws:
        for number in range(50):
            said = make_turns(f"Mend part {number}.", "Mended.", start=f"2026-11-{10 + number % 9}T10:00")
            end_session(ws, f"s-{number}", project=f"/srv/{('reader', 'shop', 'site')[number % 3]}", transcript=said)
    vault = ObsidianVault(root)
    search = json.loads((root / ".obsidian/graph.json").read_text())["search"]
    hidden = re.findall(r'-(path|file):(?:"([^"]+)"|(\S+))', search)
    terms = [(place, quoted or plain) for place, quoted, plain in hidden]

    def is_shown(path: str) -> bool:
        names = {"path": path, "file": path.rpartition("/")[2]}
        return path.endswith(".md") and not any(term in names[place] for place, term in terms)

    shown = list(filter(is_shown, vault.files))
    cluster = {path: {path} for path in shown}
    links = [(path, vault.resolve(link)) for path in shown for link in vault.list_links(path)]
    for one, other in ((one, other) for one, other in links if other in cluster):
        merged = cluster[one] | cluster[other or ""]
        cluster.update(dict.fromkeys(merged, merged))
    found = {frozenset(paths) for path, paths in cluster.items() if "--manifest" in path}
    sizes = {path: sum("--manifest" in other for other in paths) for paths in found for path in paths}
    assert [sizes[f"projects/{name}.md"] for name in ("reader", "shop", "site")] == [17, 17, 16]
    assert len(found) == 3


def test_a_file_at_the_vault_s_root_that_takes_a_link_is_named(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / "views").mkdir(parents=True)
    (root / "MEMORY.md").write_text("mine")
    (root / "views" / "Books.base").write_text("mine")
    made = init_workspace(root, "lineage")
    assert made.shadowing == ["MEMORY.md", "views/Books.base"]
    with_handbook(root / "lineage")
    vault = ObsidianVault(root)
    taken = {link.path for link in everything(vault, "lineage/") if vault.resolve(link) != f"lineage/{link.path}"}
    assert taken == {"MEMORY.md", "views/Books.base"}, "as the resolver has it"


def test_every_view_is_linked_from_start_here(tmp_path: Path) -> None:
    """The handbook stays in the package; `test_handbook.py` holds that its pages are named."""
    init_workspace(tmp_path / "vault")
    vault = ObsidianVault(tmp_path / "vault")
    links = vault.list_links("Start here.md")
    assert [link for link in links if not vault.is_resolved(link)] == []
    views = {path for path in vault.files if path.startswith("views/")}
    assert views - {vault.resolve(link) for link in links} == set()


# The resolver itself, on vaults small enough to see through.

SMALL = {
    "Root.md": "# One\n\n## Two *words*\n\ntext ^block-1\n\n# Three\n\n## Two words\n",
    "a/Note.md": "x",
    "a/b/Note.md": "x",
    "c/Note.md": "x",
    "c/Other Page.md": "x",
    "c/picture.png": "x",
    "c/v1.2.md": "x",
    "É.md": "x",
    "q/Page.md": "x",
    "z/sub/deep/Page.md": "x",
    "z/start.md": "x",
}


@pytest.fixture
def small(tmp_path: Path) -> ObsidianVault:
    for path, text in SMALL.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return ObsidianVault(tmp_path)


@pytest.mark.parametrize(
    ("source", "written", "leads_to"),
    [
        ("Root.md", "Note", "a/Note.md"),
        ("Root.md", "note.MD", "a/Note.md"),
        ("c/Other Page.md", "Note", "c/Note.md"),
        ("a/b/Note.md", "Note", "a/b/Note.md"),
        ("Root.md", "b/Note", "a/b/Note.md"),
        ("Root.md", "c/Note.md|its name", "c/Note.md"),
        ("a/Note.md", "b/Note", "a/b/Note.md"),
        ("a/Note.md", "other page", "c/Other Page.md"),
        ("a/Note.md", "picture.png", "c/picture.png"),
        ("a/Note.md", "picture", None),
        ("a/Note.md", "v1.2", "c/v1.2.md"),
        ("a/Note.md", "/Root", "Root.md"),
        ("Root.md", "/b/Note", None),
        ("a/b/Note.md", "../Note", "a/Note.md"),
        ("a/b/Note.md", "./Note", "a/b/Note.md"),
        ("Root.md", "Page", "q/Page.md"),
        ("z/start.md", "Page", "z/sub/deep/Page.md"),
        ("Root.md", "deep/Page", "z/sub/deep/Page.md"),
        ("Root.md", "eep/Page", None),
        ("Root.md", "ote", None),
        ("Root.md", "x/Note", None),
        ("Root.md", "E\u0301", "É.md"),
        ("c/Note.md", "#One", "c/Note.md"),
    ],
)
def test_paths_lead_where_obsidian_goes(small: ObsidianVault, source: str, written: str, leads_to: str | None) -> None:
    assert small.resolve(ObsidianLink.parse(source, written)) == leads_to


@pytest.mark.parametrize(
    ("subpath", "is_there"),
    [("#two words", True), ("#One#Two words", True), ("#Three#two Words", True), ("#Two words#One", False),
     ("#^block-1", True), ("#^block", False), ("#Four", False), ("#Three#Four", False)],
)  # fmt: skip
def test_headings_and_blocks(small: ObsidianVault, subpath: str, is_there: bool) -> None:
    assert small.is_resolved(ObsidianLink("a/Note.md", "Root", subpath)) is is_there


def test_what_is_a_link_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        '---\nup: "[[p]]"\nlist: ["[[q|Q]]", "see [[no]]"]\naliases: ["[[alias]]"]\n---\n'
        "[[one]] ![[two#x|y]] | [[three\\|3]] | \\[[no]] `[[no]]` ``a ` [[no]]``\n\n"
        "~~~~\n[[no]]\n~~~\n[[no]]\n~~~~~\n[[four]]\n\n    [[no]]\n\n- item\n\n    [[five]]\n\n"
        "<!-- [[hidden]]\n[[hidden]] --> %% [[hidden]] %%\n```\n[[no]]",
        encoding="utf-8",
    )
    vault = ObsidianVault(tmp_path)
    assert [link.path for link in vault.list_links("a.md")] == [
        "p",
        "q",
        "alias",
        "one",
        "two",
        "three",
        "four",
        "five",
    ]
    two = vault.list_links("a.md")[4]
    assert (two.subpath, two.label, two.is_embed) == ("#x", "y", True)


def test_an_alias_is_no_name_and_hidden_folders_are_no_notes(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "secret.md").write_text("x")
    (tmp_path / "a.md").write_text('---\naliases: ["Another name"]\n---\n')
    vault = ObsidianVault(tmp_path)
    assert vault.files == ["a.md"]
    assert vault.resolve(ObsidianLink("a.md", "Another name")) is None
    assert vault.resolve(ObsidianLink("a.md", "secret")) is None


def test_no_page_of_the_handbook_names_a_path_that_is_not_there(vault: ObsidianVault) -> None:
    """`handbook/…`, `views/…` in code spans are read as paths, too."""
    for path in (path for path in vault.files if path.startswith(("handbook/", "views/")) and path.endswith(".md")):
        for named in re.findall(
            r"`((?:handbook|views|templates|integrations|services)/[^`<]+\.\w+)`", vault.read_text(path)
        ):
            assert named in vault.files, (path, named)
