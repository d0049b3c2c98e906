"""What two readers of other authors see of a transcript: an Obsidian-flavoured one and one of CommonMark.

Fails if a mark loses its escape in `core/base/markdown.py`, in any of thousands of combinations: neither reader finds a
link, an embed, a tag, a task, mathematics, a comment, HTML or a heading in what somebody said, nor a fence that a
plug-in would run, and each block ends where lineage ended it.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lineage.core.base.markdown import choose_language
from lineage.core.capture.ledger import NotedCapture
from lineage.core.format.clipping import ClipLimits, clip_turn
from lineage.core.format.transcript import render_turns
from lineage.core.format.turns import ASSISTANT, TOOL, USER, InputPart, Turn, assign_ids
from lineage.projection.memory_item import MemoryItem
from lineage.projection.session_notes import render_day_note, render_month_note, render_project_note
from tests.support.markdown import FRAGMENTS

pytestmark = pytest.mark.slow

PACKAGES = Path(__file__).parents[2] / ".venv/readers/node_modules"
SCRIPT = Path(__file__).parents[1] / "support/markdown_reader.mjs"
# What a reader makes of a mark that is live, and a text in which it is.
LIVE = {
    "wikilink": "[[x]]", "tag": "#tag", "task": "- [ ] t", "inlineMath": "$a$", "math": "$$\na\n$$", "html": "<b>",
    "link": "[a](b)", "image": "![a](b)", "definition": "[a]: b", "footnoteReference": "x[^1]\n\n[^1]: y",
    "footnoteDefinition": "x[^1]\n\n[^1]: y", "heading": "# h", "comment": "a %%x%% b",
    "linkReference": "[a]\n\n[a]: b", "imageReference": "![a]\n\n[a]: b", "code:dataviewjs": "```dataviewjs\n```",
}  # fmt: skip
LIVE_TOKENS = {"link_open", "image", "html_block", "html_inline", "heading_open"}
COUNT = 4000
OWN_MARKS = re.compile(
    r"\[\[(?:memory|projects|days|books)/[^\]\n]*\]\]|^#{1,3} (?=\S)|#(?:lineage|project)/\w+|^```base\n.*?\n```$",
    re.MULTILINE | re.DOTALL,
)


def make_texts() -> list[str]:
    dice = Random(20260328)
    return ["".join(dice.choice(FRAGMENTS) for _ in range(dice.randrange(1, 18))) for _ in range(COUNT)]


def make_bodies() -> Iterator[str]:
    """A transcript for each four texts, without the headings and links of its own."""
    texts = iter(make_texts())
    for said, answer, command, output in zip(texts, texts, texts, texts, strict=True):
        part = InputPart(command, "bash", label=answer[:20])
        turns = [
            Turn(USER, said),
            Turn(ASSISTANT, answer),
            Turn(ASSISTANT, "", name="Bash", input=command, parts=(part,), call_id="1"),
            Turn(TOOL, output, name="Bash", call_id="1"),
        ]
        body = render_turns("", [clip_turn(turn, ClipLimits()) for turn in assign_ids(turns, "token")])
        yield body.replace("\n## 1 · user", "\n1 · user") + "\nend\n"


def read_as_obsidian(texts: Sequence[str], folder: Path) -> list[set[str]]:
    if not PACKAGES.is_dir() or not shutil.which("node"):
        reason = "the readers of Markdown are not installed: .ci/run installs them"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    (folder / "node_modules").symlink_to(PACKAGES)
    script = shutil.copy(SCRIPT, folder)
    lines = "".join(f"{json.dumps(text)}\n" for text in texts)
    done = subprocess.run(["node", script], input=lines, capture_output=True, text=True, check=True)
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_an_obsidian_flavoured_reader_sees_nothing_live(tmp_path: Path) -> None:
    bodies = list(make_bodies())
    kinds = read_as_obsidian([*LIVE.values(), *bodies], tmp_path)
    for (kind, text), seen in zip(LIVE.items(), kinds, strict=False):
        assert kind in seen, (kind, text)
    for body, seen in zip(bodies, kinds[len(LIVE) :], strict=True):
        assert not seen & LIVE.keys(), body
        languages = {kind.removeprefix("code:") for kind in seen if kind.startswith("code:")} - {""}
        assert all(name.startswith("text:") or choose_language(name) for name in languages), (languages, body)


def walk(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or ())


def test_a_reader_of_commonmark_sees_nothing_live_and_each_block_end() -> None:
    reader = MarkdownIt("commonmark").enable("table")
    for body in make_bodies():
        tokens = list(walk(reader.parse(body)))
        assert not LIVE_TOKENS & {token.type for token in tokens}, body
        ids = [token.content for token in tokens if token.type == "inline" and token.content.startswith("^t-")]
        assert len(ids) == 3, body
        assert [token.content for token in tokens if token.type == "text"][-1] == "end", body


def make_notes() -> Iterator[str]:
    """The notes of a project, a month and a day with such titles and entries, without lineage's own links and marks."""
    texts = iter(make_texts())
    for title, harness, entry, label in zip(texts, texts, texts, texts, strict=True):
        capture = NotedCapture("2026-11-20T10:00:00.000Z", "", "a", "/srv/x", title, "", harness, "memory/x.md")
        sections = {"Rules": [MemoryItem(entry, "[derived]", label, "books/x.md")]}
        yield OWN_MARKS.sub("x", render_project_note("demo", [capture], ["2026-11"], sections))
        yield OWN_MARKS.sub("x", render_month_note("demo", "2026-11", [capture], ["2026-11-01"]))
        yield OWN_MARKS.sub("x", render_day_note("2026-11-20", [capture], lambda _: "demo"))


@pytest.mark.slow
def test_neither_reader_sees_anything_live_in_a_note_of_a_project_or_a_day(tmp_path: Path) -> None:
    found = list(make_notes())
    reader = MarkdownIt("commonmark").enable("table")
    for text, seen in zip(found, read_as_obsidian(found, tmp_path), strict=True):
        assert not seen & LIVE.keys(), text
        assert not LIVE_TOKENS & {token.type for token in walk(reader.parse(text))}, text
