"""The template as a vault: each file of it is what Obsidian takes, and speaks of things that are there.

Fails when a view names a property that no note has, or a function that there isn't, when a type is forgotten for a new
key of the frontmatter, when a bookmark leads nowhere, and when the handbook shows a command or an option that is gone.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from lineage.app.locations import find_template
from lineage.cli.main import cli
from lineage.core.books.book import new_book, parse_book
from lineage.core.format import frontmatter
from lineage.core.format.documents import Artifact, Claim, Manifest, Tombstone, frontmatter_keys

ROOT = find_template()
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
BASES = [path for path in FILES if path.endswith(".base")]
PAGES = [path for path in FILES if path.startswith(("handbook/", "views/", "Start")) and path.endswith(".md")]
OPTIONAL = {"imported_from", "sub_agents", "subfolder", "project_name", "previous", "related"}
BOOK = set(frontmatter.load(new_book("global", "note").head).metadata)
KEYS = {key for cls in (Artifact, Manifest, Claim, Tombstone) for key in frontmatter_keys(cls)} | OPTIONAL | BOOK

# Obsidian's help: "Bases syntax", "Functions".
FILE_FIELDS = {"backlinks", "basename", "ctime", "embeds", "ext", "file", "folder", "links", "mtime", "name", "path",
               "properties", "size", "tags"}  # fmt: skip
GLOBALS = {"date", "duration", "escapeHTML", "file", "html", "icon", "if", "image", "link", "list", "max", "min", "now",
           "number", "today"}  # fmt: skip
METHODS = {"asFile", "asLink", "contains", "containsAll", "containsAny", "date", "endsWith", "filter", "format",
           "hasLink", "hasProperty", "hasTag", "inFolder", "isEmpty", "isTruthy", "isType", "join", "length", "lower",
           "map", "matches", "relative", "replace", "reverse", "slice", "sort", "split", "startsWith", "time", "title",
           "toFixed", "toString", "trim", "unique"}  # fmt: skip
VIEW_KEYS = {"type", "name", "filters", "groupBy", "order", "sort", "limit", "summaries"}
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME = re.compile(r"(\.?)\b([A-Za-z_]\w*)(\s*\()?")


def read_json(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def base(path: str) -> dict[str, Any]:
    found = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def statements(filters: Any) -> Iterator[str]:
    """The statements of a filter object; each object has one of `and`, `or`, `not`."""
    if isinstance(filters, str):
        yield filters
        return
    ((word, parts),) = filters.items()
    assert word in ("and", "or", "not")
    for part in parts:
        yield from statements(part)


def problems(expression: str, formulas: set[str], keys: set[str]) -> list[str]:
    """What an expression names that isn't there."""
    found, before = [], ""
    for dot, name, call in _NAME.findall(_STRING.sub('""', expression)):
        if dot:
            known = {"formula": formulas, "file": FILE_FIELDS | METHODS, "note": keys}.get(before, METHODS)
        else:
            known = GLOBALS if call else keys | {"file", "formula", "note", "true", "false"}
        found += [name] if name not in known else []
        before = name if not dot and not call else ""
    return found


def expressions(found: dict[str, Any]) -> Iterator[str]:
    """Every expression and every property that a base names."""
    yield from statements(found["filters"])
    yield from found["formulas"].values()
    yield from found["properties"]
    for view in found["views"]:
        yield from statements(view["filters"]) if "filters" in view else ()
        yield from view["order"]
        yield from (sort["property"] for sort in view.get("sort", ()))
        yield from [view["groupBy"]["property"]] if "groupBy" in view else ()


@pytest.mark.parametrize("path", BASES)
def test_a_base_names_properties_and_functions_that_there_are(path: str) -> None:
    found = base(path)
    keys = BOOK if "Books" in path else set(frontmatter_keys(Artifact))
    assert found.keys() == {"filters", "formulas", "properties", "views"}
    wrong = {text: missing for text in expressions(found) if (missing := problems(text, set(found["formulas"]), keys))}
    assert wrong == {}


@pytest.mark.parametrize("path", BASES)
def test_the_views_of_a_base_are_of_the_documented_shape(path: str) -> None:
    found = base(path)
    names = [view["name"] for view in found["views"]]
    assert len(names) == len(set(names))
    for view in found["views"]:
        assert (view["type"], view.keys() - VIEW_KEYS) == ("table", set())
        assert {sort["direction"] for sort in view.get("sort", ())} | {view.get("groupBy", {}).get("direction")} <= {
            "ASC", "DESC", None,
        }  # fmt: skip
        for text in statements(view.get("filters", found["filters"])):
            assert text.count("(") == text.count(")")
    assert all(re.match(r"(?:note|file|formula)\.", name) for name in found["properties"])


def test_the_check_of_expressions_finds_what_is_wrong() -> None:
    assert problems('kind == "summary" && file.hasTag("x")', set(), {"kind"}) == []
    assert problems("knid == 1 || formula.gone > nwo()", {"there"}, {"kind"}) == ["knid", "gone", "nwo"]
    assert problems('note.kind.lower().explode("kind") && file.age', set(), {"kind"}) == ["explode", "age"]


def test_the_views_that_were_asked_for_are_there() -> None:
    names = {view["name"] for path in BASES for view in base(path)["views"]}
    assert names >= {"In window", "By project", "By harness", "Fallback sentences", "Open tasks", "Findings", "Waiting"}


def test_every_key_of_the_frontmatter_has_a_type_and_no_other() -> None:
    types = read_json(".obsidian/types.json")["types"]
    assert types.keys() == KEYS
    assert set(types.values()) <= {"text", "multitext", "number", "checkbox", "date", "datetime", "aliases", "tags"}
    times = {key for key in KEYS if key.endswith("_at")}
    assert {key for key, value in types.items() if value == "datetime"} == times
    assert (types["private"], types["revision"], types["captures"]) == ("checkbox", "number", "multitext")


def leaves(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        yield from leaves(item["items"]) if item["type"] == "group" else [item]


def test_bookmarks_lead_to_files_and_views() -> None:
    marks = list(leaves(read_json(".obsidian/bookmarks.json")["items"]))
    assert {mark["type"] for mark in marks} == {"file", "search"}
    for mark in (mark for mark in marks if mark["type"] == "file"):
        assert mark["path"] in {*FILES, "MEMORY.md"}
        if view := mark.get("subpath", "").lstrip("#"):
            assert view in [view["name"] for view in base(mark["path"])["views"]]


def test_the_settings_name_files_that_there_are() -> None:
    for name in read_json(".obsidian/appearance.json")["enabledCssSnippets"]:
        assert f".obsidian/snippets/{name}.css" in FILES
    folder = read_json(".obsidian/templates.json")["folder"]
    assert [path for path in FILES if path.startswith(f"{folder}/")]
    plugins = read_json(".obsidian/core-plugins.json")
    assert all(plugins[name] for name in ("bases", "bookmarks", "canvas", "graph", "global-search", "templates"))
    groups = read_json(".obsidian/graph.json")["colorGroups"]
    assert {"tag:#lineage/manifest", "tag:#lineage/transcript"} <= {group["query"] for group in groups}
    assert all(0 <= group["color"]["rgb"] <= 0xFFFFFF for group in groups)
    app = read_json(".obsidian/app.json")
    assert (app["alwaysUpdateLinks"], app["showInlineTitle"], app["propertiesInDocument"]) == (False, False, "hidden")


def test_the_style_sheet_is_whole_and_loads_nothing() -> None:
    text = (ROOT / ".obsidian/snippets/lineage.css").read_text(encoding="utf-8")
    assert text.count("{") == text.count("}") > 10
    assert not re.search(r"url\(|@import|expression\(|https?:", text)
    assert ".lineage .metadata-container" in text
    assert {f'data-callout="{kind}"' in text for kind in ("agent", "tool", "result", "thinking")} == {True}


def test_canvases_follow_json_canvas() -> None:
    for path in (path for path in FILES if path.endswith(".canvas")):
        canvas = read_json(path)
        assert canvas.keys() == {"nodes", "edges"}
        ids = [one["id"] for one in (*canvas["nodes"], *canvas["edges"])]
        assert len(ids) == len(set(ids))
        nodes = {node["id"]: node for node in canvas["nodes"]}
        for node in nodes.values():
            assert node["type"] in ("text", "group"), "a file node needs the path from the vault's root, which varies"
            assert all(type(node[key]) is int for key in ("x", "y", "width", "height"))
            assert node.get("color", "1") in "123456"
        for edge in canvas["edges"]:
            assert edge["fromNode"] in nodes
            assert edge["toNode"] in nodes
            assert {edge["fromSide"], edge["toSide"]} <= {"top", "right", "bottom", "left"}


def test_a_book_made_from_the_template_is_one() -> None:
    text = (ROOT / "templates/Book.md").read_text(encoding="utf-8")
    filled = text.replace("{{title}}", "decision").replace("{{date}}", "2026-11-20").replace("{{time}}", "10:00")
    book = parse_book(f"{filled}We ship on Mondays.\n".encode(), "global", "decision")
    assert book.problems == ()
    assert [entry.body for entry in book.handwritten_entries] == ["We ship on Mondays."]


def shown_commands() -> list[tuple[str, str]]:
    """(page, command line) of every indented line and code span of the handbook that is a command line of lineage's."""
    found = []
    for page in PAGES:
        text = re.sub(r"(?ms)^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"))
        lines = re.findall(r"(?m)^    (lineage .+?)(?:$|  |#)", text)
        spans = re.findall(r"`([^`\n]+)`", re.sub(r"(?m)^    .*$", "", text))
        found += [(page, line.strip()) for line in (*lines, *spans) if line.startswith("lineage ")]
    return found


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words name, and what is left of them."""
    group: click.Command = cli
    if words[:1] == ["-w"]:
        words = words[2:]
    while isinstance(group, click.Group) and words:
        with click.Context(group) as context:
            found = group.get_command(context, words[0])
        assert found is not None, words
        group, words = found, words[1:]
    return group, words


def test_the_handbook_shows_commands_and_options_that_there_are() -> None:
    shown = shown_commands()
    assert len(shown) > 80
    for page, line in shown:
        words = shlex.split(line.replace("…", ""))[1:]
        command, rest = resolved([word for word in words if word != "--help"])
        options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
        assert [word for word in rest if word.startswith("--") and word not in options] == [], (page, line)


def test_the_handbook_is_of_one_shape() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.startswith(f"# {Path(page).stem}\n"), page
        assert text.endswith("\n")
        assert "\t" not in text
        assert not re.search(r"[ \t]$", text, re.MULTILINE), page


def test_the_template_is_plain_text_without_traces_of_a_machine() -> None:
    for path in FILES:
        text = (ROOT / path).read_bytes().decode("utf-8")
        assert "\r" not in text
        assert not re.search(r"/home/(?!ada/)|/tmp/|/Users/", text), path
