"""A vault as Obsidian sees it: which links a file has, and where each of them leads.

The rules are those of Obsidian's help ("Internal links", "Embed files", "Aliases", "Properties") and, for what the help
leaves open, of the application itself:

- A link names a file by its path or the end of it, whatever the case; `.md` may be left out, other endings may not. A
  path that is right from the vault's root comes first, then one from the source's folder, then the ends of longer ones:
  those within the source's folder before the others, each the shortest first. `/x` is from the root alone, `./x` and
  `../x` from the source's folder alone. An empty path is the source itself.
- An alias is no name: Obsidian writes `[[file|alias]]` where one is chosen.
- `#A#B` is heading B below heading A, signs of markup and case apart; `#^id` is a block; of a base `#X` is a view.
- Nothing in fences, indented code, code spans, `%%` and HTML comments is a link. In properties a link is a whole value.
  In tables the bar is escaped. Hidden files and folders are not part of the vault.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

_LINK = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]+?)\]\]")
_FRONTMATTER = re.compile(r"\A---\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|%%.*?%%", re.DOTALL)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_BLOCK = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_MARKUP = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True, slots=True)
class ObsidianLink:
    """A link as it is written: `path` may be empty, `subpath` begins with `#` where there is one."""

    source: str
    path: str
    subpath: str = ""
    label: str = ""
    is_embed: bool = False

    @staticmethod
    def parse(source: str, written: str, *, is_embed: bool = False) -> "ObsidianLink":
        text, _, label = re.sub(r"\\\|", "|", written).partition("|")
        path, sign, subpath = text.strip().partition("#")
        return ObsidianLink(source, path.strip(), sign + subpath.strip(), label.strip(), is_embed)


class ObsidianVault:
    """The files below a folder that Obsidian shows, by their paths from it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        self.files = sorted(path.as_posix() for path in found if not any(p.startswith(".") for p in path.parts))
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in self.files:
            self._by_name[_fold_case(path.rpartition("/")[2])].append(path)

    def read_text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="surrogateescape")

    def list_links(self, path: str) -> list[ObsidianLink]:
        """Every link of a note or a canvas; other files have none."""
        if path.endswith(".canvas"):
            nodes = json.loads(self.read_text(path)).get("nodes", [])
            texts = [node["text"] for node in nodes if node["type"] == "text"]
            files = [ObsidianLink(path, "/" + n["file"], n.get("subpath", "")) for n in nodes if n["type"] == "file"]
            return files + [link for text in texts for link in _find_text_links(path, text)]
        if not path.endswith(".md"):
            return []
        text = self.read_text(path)
        return [*_find_property_links(path, text), *_find_text_links(path, _strip_hidden(text))]

    def resolve(self, link: ObsidianLink) -> str | None:
        """The file that a link leads to, None for a link that leads nowhere yet."""
        wanted = _fold_case(link.path)
        if not wanted:
            return link.source
        name = wanted.rpartition("/")[2]
        for ending in ("", ".md"):
            if candidates := self._by_name.get(name + ending, []):
                return _choose_candidate(candidates, wanted + ending, link.source)
        return None

    def is_resolved(self, link: ObsidianLink) -> bool:
        """Whether a link's file is there, and its heading, block or view in it."""
        path = self.resolve(link)
        if path is None:
            return False
        if not link.subpath:
            return True
        if path.endswith(".base"):
            views = yaml.safe_load(self.read_text(path))["views"]
            return link.subpath[1:] in [view["name"] for view in views]
        visible = _strip_hidden(self.read_text(path))
        if link.subpath.startswith("#^"):
            blocks = (match[1].lower() for line in visible.split("\n") if (match := _BLOCK.search(line)))
            return link.subpath[2:].lower() in blocks
        return _has_heading(visible, link.subpath[1:].split("#"))


def _choose_candidate(candidates: list[str], wanted: str, source: str) -> str | None:
    """The candidate that a path leads to; `wanted` is folded, and of the same name as they."""
    folder = _fold_case(source.rpartition("/")[0])
    exact = {_fold_case(path): path for path in reversed(candidates)}
    if wanted.startswith("/"):
        return exact.get(wanted[1:])
    if wanted.startswith(("./", "../")):
        return exact.get(_join_paths(folder, wanted))
    if found := exact.get(wanted) or exact.get(_join_paths(folder, wanted)):
        return found
    fitting = [path for path in candidates if f"/{_fold_case(path)}".endswith(f"/{wanted}")]
    within = f"{folder}/" if folder else ""
    ordered = sorted(fitting, key=lambda path: (not _fold_case(path).startswith(within), len(path), path))
    return ordered[0] if ordered else None


def _join_paths(folder: str, path: str) -> str:
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFC", path).lower()


def _find_property_links(path: str, text: str) -> Iterator[ObsidianLink]:
    match = _FRONTMATTER.match(text)
    meta = yaml.safe_load(match[1]) if match else None
    for value in meta.values() if isinstance(meta, dict) else ():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and (link := _LINK.fullmatch(one.strip())):
                yield ObsidianLink.parse(path, link[2])


def _find_text_links(path: str, text: str) -> Iterator[ObsidianLink]:
    return (ObsidianLink.parse(path, match[2], is_embed=bool(match[1])) for match in _LINK.finditer(text))


def _strip_hidden(text: str) -> str:
    """What is left of a note where links, headings and blocks are looked for."""
    return _HIDDEN.sub("", _strip_code(_FRONTMATTER.sub("", text)))


def _strip_code(text: str) -> str:
    """The text without fences, indented code and code spans."""
    kept: list[str] = []
    fence, after_blank, in_list = "", True, False
    for line in text.splitlines():
        match = _FENCE.fullmatch(line)
        if fence:
            is_end = match and match[1].startswith(fence) and not match[2].strip()
            fence = "" if is_end else fence
        elif match and not (match[1].startswith("`") and "`" in match[2]):
            fence = match[1]
        elif line.startswith(("    ", "\t")) and after_blank and not in_list:
            continue
        else:
            kept.append(_SPAN.sub("", line))
        after_blank = not line.strip()
        in_list = bool(_ITEM.match(line)) or (in_list and (after_blank or line.startswith(" ")))
    return "\n".join(kept)


def _has_heading(visible: str, wanted: list[str]) -> bool:
    """Whether the headings that are wanted lie one below the other."""
    found = (match for line in visible.split("\n") if (match := _HEADING.fullmatch(line)))
    headings = [(len(match[1]), _normalize_heading(match[2])) for match in found]
    return _matches_path(headings, [_normalize_heading(part) for part in wanted])


def _matches_path(headings: list[tuple[int, str]], wanted: list[str]) -> bool:
    if not wanted:
        return True
    for number, (level, text) in enumerate(headings):
        if text == wanted[0]:
            rest = headings[number + 1 :]
            end = next((n for n, (other, _) in enumerate(rest) if other <= level), len(rest))
            if _matches_path(rest[:end], wanted[1:]):
                return True
    return False


def _normalize_heading(heading: str) -> str:
    return _MARKUP.sub(" ", heading).strip().lower()
