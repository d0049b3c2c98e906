"""Labelled sessions: what should be kept of each, and what looks like it, by careful reading.

A folder holds `labels.jsonl` (or `*.labels.jsonl`), a line for each session, and its turns: `turns/ID.json`, a list of
turns with role, text, name and input, or `sessions/ID.jsonl` of Claude Code, which may be packed (`.gz`). A line that
has `judged` labels these sentences alone.

`statements.txt` is this project's own set, in seven languages: a session begins with `==` (id, language), turns with
`U:`, `A:` and `T tool input`; braces hold a statement with its kind, or a trap.
"""

import gzip
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.format.turns import ASSISTANT, USER, InputPart, Turn
from lineage.harness.claude_code import read

_WORD = re.compile(r"[\w']+")
_MARKUP = re.compile(r"[*`_\\]")
_HOME = re.compile(r"/(?:Users|home)/(\w+)")
_SHORT = 3
_MARKED = re.compile(r"\{(\w+):([^{}]*)\}")
_SPEAKERS = {"U": USER, "A": ASSISTANT}
OWN = Path(__file__).with_name("statements.txt")
STATEMENTS, TRAPS = "statements", "traps"
TOLD = ("ask", "outcome")


@dataclass(frozen=True, slots=True)
class LabelledSession:
    """A session with its author, and its labels: statements with kind, speaker, quote and weight, and traps.

    `judged` are the only sentences that somebody read, where not the whole session was. `told` are the quotes of what
    was asked ("ask") and achieved ("outcome").
    """

    name: str
    author: str
    language: str
    turns: Sequence[Turn]
    statements: Sequence[Mapping[str, Any]]
    traps: Sequence[Mapping[str, Any]]
    judged: frozenset[str] = frozenset()
    told: Mapping[str, str] = field(default_factory=dict)


def read_labelled(folder: Path) -> Iterator[LabelledSession]:
    """Yield the labelled sessions of a folder, or of a file like `statements.txt`.

    Raises FileNotFoundError without labels or turns.
    """
    if folder.is_file():
        yield from map(_parse_session, folder.read_text(encoding="utf-8").split("== ")[1:])
        return
    files = sorted(folder.glob("*labels.jsonl"))
    if not files:
        raise FileNotFoundError(f"no labels.jsonl in {folder}")
    for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()):
        label = json.loads(line)
        turns = _read_turns(folder, label["session"])
        author = label.get("author") or _guess_author(turns)
        language = label.get("language", "en")
        yield LabelledSession(
            label["session"], author, language, turns, label.get(STATEMENTS, ()), label.get(TRAPS, ()),
            frozenset(label.get("judged", ())), {kind: label[kind]["quote"] for kind in TOLD if label.get(kind)},
        )  # fmt: skip


def _parse_session(text: str) -> LabelledSession:
    head, *lines = text.splitlines()
    name, language = head.split()
    turns, labels = list[Turn](), list[dict[str, Any]]()
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == "T":
            tool, _, given = rest.partition(" ")
            turns.append(_build_turn({"role": ASSISTANT, "text": "", "name": tool, "input": given}))
            continue
        speaker = _SPEAKERS[mark[0]]
        labels += [
            {"kind": kind, "speaker": speaker, "quote": quote, "weight": 2} for kind, quote in _MARKED.findall(rest)
        ]
        turns.append(Turn(speaker, _MARKED.sub(r"\2", rest)))
    statements = [label for label in labels if label["kind"] != "trap"]
    traps = [label for label in labels if label["kind"] == "trap"]
    return LabelledSession(name, OWN.stem, language, turns, statements, traps)


def _read_turns(folder: Path, name: str) -> Sequence[Turn]:
    file = folder / "turns" / f"{name}.json"
    if file.exists():
        return [_build_turn(row) for row in json.loads(file.read_text(encoding="utf-8"))]
    source = next((folder / "sessions").glob(f"{name}.jsonl*"))
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / f"{name}.jsonl"
        copy.write_bytes(data)
        return list(read(copy).turns)


def _build_turn(row: Mapping[str, Any]) -> Turn:
    given = str(row.get("input") or "")
    return Turn(
        row["role"], row.get("text") or "", name=row.get("name") or "", input=given,
        parts=(InputPart(given),) if given else (),
    )  # fmt: skip


def _guess_author(turns: Sequence[Turn]) -> str:
    """Return the owner of the home folder that is named most."""
    counts = Counter(name for turn in turns for name in _HOME.findall(turn.text + turn.input))
    return counts.most_common(1)[0][0] if counts else "?"


def is_same(one: str, other: str) -> bool:
    """Return whether an entry is a label's: they share half of the shorter one's runs of three words, or one holds the
    other. An entry that is much longer or much shorter than the label is none.
    """
    mine, yours = _words(one), _words(other)
    if not mine or not yours or len(mine) > 4 * len(yours) + 20 or 3 * len(mine) < len(yours):
        return False
    a, b = " ".join(mine), " ".join(yours)
    if min(len(mine), len(yours)) >= _SHORT and (a in b or b in a):
        return True
    own, theirs = _runs(mine), _runs(yours)
    return len(own & theirs) * 2 >= min(len(own), len(theirs))


def _words(text: str) -> list[str]:
    # Signs of scripts without spaces count one by one.
    spaced = re.sub(r"([\u3040-\u30ff\u3400-\u9fff])", r" \1 ", _MARKUP.sub(" ", text))
    return _WORD.findall(spaced.lower())


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _SHORT]) for start in range(max(1, len(words) - _SHORT + 1))}
