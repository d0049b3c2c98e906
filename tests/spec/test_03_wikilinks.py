"""Spec, test 3: every wikilink of every file is relative to the workspace root, and leads somewhere.

Fails when `wikilink` in core/links.py drops `memory/`, when a link is written to a file that is not made, and when
`escaped` in the renderers lets a value of the session open a link.
"""

import re
from pathlib import Path

from lineage.pipeline.maintenance.reindex import reindex
from tests.support.workspace import compact_session, end_session, make_turns, open_test_workspace

LINK = re.compile(r"(?<!\\)\[\[([^\]|#]*)(?:#([^\]|]*))?(?:\|([^\]]*))?\]\]")
NO_MARKDOWN = re.compile(r"\A---\n.*?^---\n|^((?:> )?)(~{3,}|`{3,}).*?^\1\2$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
ROOT_RELATIVE = re.compile(
    r"memory/[^/]+\.md|MEMORY\.md|agents/[^/]+/MEMORY\.md|(?:projects|days)/[^/]+\.md|books/.+\.md"
)

EVIL = "a ]] | [[evil]] #tag ![[evil.png]] \n## x"
TALK = [
    {"role": "user", "text": f"Look at {EVIL}", "at": "2026-11-20T10:00:00Z", "id": "1"},
    {
        "role": "assistant",
        "text": f"{EVIL} ~~~\n[[evil]]",
        "name": "Bash",
        "input": {"command": "[ -f x ] && [[ -f y ]]"},
        "id": "2",
    },
    {"role": "tool", "text": "~~~~~\n[[evil]]", "name": "[[evil]]", "id": "3"},
]


def busy_workspace(root: Path) -> None:
    """Two captures, three compactions, a session that was only compacted, another agent, hostile values everywhere."""
    with open_test_workspace(root) as ws:
        compact_session(
            ws,
            transcript=TALK[:2],
            summary=f"Goal: {EVIL.replace('[[evil]]', '')}",
            captured_at="2026-11-20T10:30:00Z",
        )
        end_session(ws, transcript=TALK, captured_at="2026-11-20T11:00:00Z", project=f"/home/ada/{EVIL}")
        end_session(ws, transcript=[*TALK, *make_turns("And then?", "Done.")], captured_at="2026-11-20T12:00:00Z")
        compact_session(ws, transcript=TALK, summary="Goal: two.", captured_at="2026-11-20T13:00:00Z")
        compact_session(ws, "only-compacted", captured_at="2026-11-20T14:00:00Z")
        end_session(ws, "another", agent_id="reviewer", captured_at="2026-11-20T15:00:00Z")
        end_session(ws, "of-another-day", transcript=make_turns("Hello?", start="2026-11-18T10:00"))
        reindex(ws)


def links(root: Path) -> list[tuple[str, str, str]]:
    """(file, target, anchor) of every link in the markdown, embeds included: not in frontmatter, fences and code."""
    found = []
    notes = [*root.glob("projects/*.md"), *root.glob("days/*.md")]
    for path in sorted([*root.glob("memory/**/*.md"), *root.glob("**/MEMORY.md"), *notes]):
        text = NO_MARKDOWN.sub("", path.read_text(encoding="utf-8"))
        found += [(path.relative_to(root).as_posix(), match[1], match[2] or "") for match in LINK.finditer(text)]
    return found


def test_every_wikilink_is_relative_to_the_workspace_root(tmp_path: Path) -> None:
    busy_workspace(tmp_path)
    found = links(tmp_path)
    assert len(found) > 40
    assert [link for link in found if not ROOT_RELATIVE.fullmatch(link[1])] == []


def test_every_wikilink_leads_to_a_file_and_to_a_heading_in_it(tmp_path: Path) -> None:
    busy_workspace(tmp_path)
    for source, target, anchor in links(tmp_path):
        assert (tmp_path / target).is_file(), (source, target)
        headings = re.findall(r"^#+ (.*)$", (tmp_path / target).read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in headings, (source, target, anchor)


def test_every_artifact_opens_with_links_to_its_siblings(tmp_path: Path) -> None:
    busy_workspace(tmp_path)
    by_source: dict[str, set[str]] = {}
    for source, target, _ in links(tmp_path):
        by_source.setdefault(source, set()).add(target)
    for path in tmp_path.glob("memory/*--transcript.md"):
        own = path.relative_to(tmp_path).as_posix()
        assert own.replace("--transcript", "--summary") in by_source[own]
        assert any(target.endswith("--manifest.md") for target in by_source[own])


def test_the_manifest_links_to_everything_of_the_session(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
        compact_session(ws, captured_at="2026-11-22T10:00:00Z")
        manifest = (tmp_path / (outcome.manifest_path or "")).name
        token = outcome.session_token
    targets = {target for source, target, _ in links(tmp_path) if source.endswith(manifest)}
    own = {f"memory/{path.name}" for path in tmp_path.glob(f"memory/*{token}--*.md") if path.name != manifest}
    assert own | {"MEMORY.md", "projects/demo.md", "days/2026-11-20.md"} == targets


def test_a_ledger_row_links_to_summary_transcript_and_manifest(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
    row = next(
        line for line in (tmp_path / "MEMORY.md").read_text(encoding="utf-8").split("\n") if "session=s-1" in line
    )
    links_of_row = ((outcome.summary_path, "summary"), (outcome.transcript_path, "transcript"))
    expected = "".join(f" [[{path}|{label}]]" for path, label in (*links_of_row, (outcome.manifest_path, "manifest")))
    assert row.endswith(expected)
