"""`scripts/bench --peers`: other tools over the same files with the same questions, whole commands, where installed.

Each tool is found on PATH (basic-memory needs Python 3.12, qmd needs bun) and gets its own copy of the files and a home
of its own: basic-memory writes into what it indexes. Searching is by words, without a model, ten results.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import commands, table
from benchmarks.corpus import Corpus
from benchmarks.searching import questions

_HEAD = """
| tool | indexing {files:,} files (s) | × lineage | a search, whole command (ms) | × lineage |
|---|---:|---:|---:|---:|"""
_QUESTIONS = 5
_PATIENCE_SECONDS = 600
_FOUND = "10"

Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool: how it takes in a folder and how it is asked. Commands may name `{notes}`, `{home}` and `{question}`."""

    name: str
    program: str
    index: Sequence[Command]
    search: Command
    variables: Mapping[str, str]
    version: Command = ()

    def told(self) -> str:
        """Its name and, where it says that, its version."""
        if not self.version:
            return self.name
        done = subprocess.run(self.version, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS)
        return f"{self.name} {done.stdout.split()[-1]}" if done.stdout.split() else self.name


@dataclass(frozen=True, slots=True)
class _Measured:
    """Seconds: of indexing, 0 where there is none, and the median of a search. `problem` is why there are none."""

    indexing: float = 0.0
    search: float = 0.0
    problem: str = ""


_LINEAGE = Peer(
    "lineage",
    commands.LINEAGE[1],
    [[*commands.LINEAGE, "-w", "{notes}", "reindex"]],
    [*commands.LINEAGE, "-w", "{notes}", "search", "{question}", "--limit", _FOUND],
    {},
)

PEERS = (
    _LINEAGE,
    Peer(
        "basic-memory",
        "basic-memory",
        [
            ["basic-memory", "project", "add", "bench", "{notes}/memory", "--default"],
            ["basic-memory", "reindex", "--full", "--search", "-p", "bench"],
        ],
        ["basic-memory", "tool", "search-notes", "{question}", "--project", "bench", "--local", "--page-size", _FOUND],
        {
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_HOME": "{home}/notes",
            "BASIC_MEMORY_CONFIG_DIR": "{home}/basic-memory",
        },
        ["basic-memory", "--version"],
    ),
    Peer(
        "qmd, BM25",
        "qmd",
        [["qmd", "collection", "add", "{notes}/memory", "--name", "bench"]],
        ["qmd", "search", "{question}", "-n", _FOUND],
        {"XDG_CACHE_HOME": "{home}/cache", "XDG_CONFIG_HOME": "{home}/config"},
    ),
    Peer(
        "memvid",
        "memvid",
        [
            ["memvid", "create", "{home}/notes.mv2"],
            ["memvid", "put", "{home}/notes.mv2", "--input", "{notes}/memory", "--no-embedding"],
        ],
        ["memvid", "find", "{home}/notes.mv2", "--query", "{question}", "--mode", "lex", "--top-k", _FOUND],
        {},
        ["memvid", "--version"],
    ),
    Peer("grep, any word", "grep", [], ["grep", "-rliwE", "{words}", "{notes}/memory"], {}),
)


def main(corpus: Corpus, runs: int) -> None:
    """Prints the table; who is not installed, fails or takes more than ten minutes is in it too."""
    files = sum(entry.is_file() for entry in os.scandir(corpus.memory))
    print(_HEAD.format(files=files), flush=True)
    own: _Measured | None = None
    for peer in PEERS:
        with TemporaryDirectory(prefix="lineage-bench-") as folder:
            found = _measured(peer, corpus, Path(folder), runs)
        own = own or found
        print(table.row([peer.told() if found else peer.name, *_cells(found, own)]), flush=True)


def _cells(found: _Measured | None, own: _Measured | None) -> list[str]:
    if found is None:
        return ["not installed", "–", "–", "–"]
    if found.problem or own is None:
        return [found.problem, "–", "–", "–"]
    indexed = [f"{found.indexing:.1f}", f"{found.indexing / own.indexing:.1f}"] if found.indexing else ["–", "–"]
    return [*indexed, f"{found.search * 1000:,.0f}", f"{found.search / own.search:.1f}"]


def _measured(peer: Peer, corpus: Corpus, folder: Path, runs: int) -> _Measured | None:
    if shutil.which(peer.program) is None:
        return None
    notes, home = folder / "notes", folder / "home"
    shutil.copytree(corpus.memory, notes / "memory")
    home.mkdir()
    places = {"notes": str(notes), "home": str(home)}
    try:
        began = perf_counter()
        for command in peer.index:
            _run(peer, command, places)
        indexing = perf_counter() - began if peer.index else 0.0
        return _Measured(indexing, median(_searches(peer, places, runs)))
    except subprocess.TimeoutExpired:
        return _Measured(problem=f"more than {_PATIENCE_SECONDS}")
    except subprocess.CalledProcessError as error:
        return _Measured(problem=f"failed: {' '.join(error.cmd)[:60]}")


def _searches(peer: Peer, places: Mapping[str, str], runs: int) -> list[float]:
    """The seconds of every search but the first, which does not count."""
    seconds = []
    for _ in range(runs):
        for question in questions(_QUESTIONS):
            began = perf_counter()
            _run(peer, peer.search, {**places, "question": question, "words": "|".join(question.split())})
            seconds.append(perf_counter() - began)
    return seconds[1:]


def _run(peer: Peer, command: Command, values: Mapping[str, str]) -> None:
    variables = {name: value.format(**values) for name, value in peer.variables.items()}
    own = {**os.environ, **variables, "HOME": values["home"], "NO_COLOR": "1"}
    filled = [word.format(**values) for word in command]
    done = subprocess.run(filled, env=own, capture_output=True, check=False, timeout=_PATIENCE_SECONDS)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, filled)
