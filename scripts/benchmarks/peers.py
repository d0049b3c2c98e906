"""`scripts/bench --peers`: other tools over the same files with the same questions, whole commands, where installed.

Each tool is found on PATH and gets its own copy of the files and a home of its own: basic-memory writes into what it
indexes. Searching is by words, without a model, ten results. A question is words of one sentence; it is answered where
that sentence is in one of the first five sessions that are named.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks import table
from benchmarks.commands import Command, environment
from benchmarks.corpus import Corpus
from benchmarks.family import Ended, ended
from benchmarks.searching import answered_questions
from benchmarks.tools import LINEAGE, TOOLS, Tool
from lineage.core.base import naming

PATIENCE = 600.0
"""Seconds that a command of a tool may take."""

_ASKED = 20
_FIRST = 5  # sessions that are looked at for an answer
_REASON = 120  # characters
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_UNKNOWN = ["–"] * 6
_HEAD = f"""
Each tool indexes once; a search is the median of {_ASKED} questions, each asked once. Beside each of them lineage does\
 the same in turn: what it is compared to.

| tool | indexing {{files:,}} files (s) | × lineage | peak memory | index | a search, whole command (ms) | × lineage |\
 answered, of {_ASKED} |
|---|---:|---:|---:|---:|---:|---:|---:|"""


class _Figures(NamedTuple):
    """Seconds of indexing, 0 where there is none, and the median of a search, each with how many times lineage's that
    is; bytes of memory and of the index; how many questions are answered."""

    indexing: float
    times_indexing: float
    peak: int
    size: int
    search: float
    times_search: float
    answers: int

    def cells(self) -> list[str]:
        indexed = [f"{self.indexing:.1f}", f"{self.times_indexing:.1f}"]
        sizes = [table.megabytes(self.peak), table.megabytes(self.size)]
        searched = [f"{self.search * 1000:,.0f}", f"{self.times_search:.1f}", str(self.answers)]
        return [*(indexed if self.indexing else ("–", "–")), *sizes, *searched]


def main(corpus: Corpus, patience: float = PATIENCE, tools: Sequence[Tool] = TOOLS) -> None:
    """Prints the table; the first tool is what the others are compared to. Who is not installed, fails or has a command
    that has not ended within `patience` seconds is in it too."""
    print(_HEAD.format(files=sum(1 for _ in corpus.memory.glob("*.md"))), flush=True)
    for tool in tools:
        with TemporaryDirectory(prefix="lineage-bench-") as folder:
            trial = _Trial(tool, Path(folder, "one"), patience)
            beside = trial if tool is tools[0] else _Trial(tools[0], Path(folder, "two"), patience)
            found = trial.outcome(corpus, beside)
            cells = [found, *_UNKNOWN] if isinstance(found, str) else found.cells()
            print(table.row([trial.told(), *cells]), flush=True)


class _Trial:
    """A tool with a copy of the files and a home of its own in a folder."""

    def __init__(self, tool: Tool, folder: Path, patience: float) -> None:
        self._tool = tool
        self._patience = patience
        self._notes, self._home = folder / "notes", folder / "home"
        self._places = {"notes": str(self._notes), "home": str(self._home)}
        self._home.mkdir(parents=True)

    def told(self) -> str:
        """The tool's name, with the version that it says it has."""
        name, mode, program = self._tool.name, self._tool.mode, shutil.which(self._tool.program)
        try:
            version = _VERSION.search(self._run([program, "--version"]).output) if program else None
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            version = None
        return f"{name} {version[0]}{mode}" if version else f"{name}{mode}"

    def outcome(self, corpus: Corpus, beside: "_Trial") -> _Figures | str:
        """The figures, or why there are none."""
        if shutil.which(self._tool.program) is None:
            return "not installed"
        try:
            return self._figures(corpus, beside)
        except subprocess.TimeoutExpired:
            return f"not ended within {self._patience:,.0f} s"
        except subprocess.CalledProcessError as error:
            return f"failed: {_last(error.stderr) or _last(error.output) or f'exit {error.returncode}'}"

    def _figures(self, corpus: Corpus, beside: "_Trial") -> _Figures:
        own, done = self._in_turn(beside, lambda trial: trial._indexed(corpus))
        size = sum(path.stat().st_size for path in self._kept())
        asked = answered_questions(_ASKED)
        searches = [self._in_turn(beside, partial(_Trial._search, question=question)) for question, _ in asked]
        base, search = (median(one.seconds for one in column) for column in zip(*searches, strict=True))
        answers = zip((found.output for _, found in searches), (sentence for _, sentence in asked), strict=True)
        return _Figures(
            indexing=done.seconds,
            times_indexing=done.seconds / own.seconds if own.seconds else 0.0,
            peak=done.peak,
            size=size,
            search=search,
            times_search=search / base,
            answers=sum(self._is_answered(corpus, output, sentence) for output, sentence in answers),
        )

    def _in_turn(self, beside: "_Trial", action: Callable[["_Trial"], Ended]) -> tuple[Ended, Ended]:
        """What an action comes to for the tool beside this one, and for this one, which may be the same."""
        first = action(beside)
        return first, first if beside is self else action(self)

    def _indexed(self, corpus: Corpus) -> Ended:
        """All commands together. The tool gets every markdown file but claims, which only lineage reads."""
        left_out = None if self._tool is LINEAGE else shutil.ignore_patterns(Path(naming.CLAIMS).name)
        shutil.copytree(corpus.memory, self._notes / naming.MEMORY, ignore=left_out)
        os.sync()  # the disk is the tool's alone
        done = [self._run(command) for command in self._tool.index]
        return Ended("", sum(one.seconds for one in done), max((one.peak for one in done), default=0))

    def _kept(self) -> Iterator[Path]:
        """The files of the index."""
        pattern = Path(self._filled(self._tool.kept))
        return pattern.parent.glob(pattern.name)

    def _is_answered(self, corpus: Corpus, output: str, sentence: str) -> bool:
        names = re.findall(self._tool.named, output)
        sessions = list(dict.fromkeys(token for name in names for token in naming.find_tokens(name)))[:_FIRST]
        transcripts = (corpus.memory.glob(f"*--{token}--{naming.TRANSCRIPT}.md") for token in sessions)
        return any(sentence in path.read_text("utf-8") for paths in transcripts for path in paths)

    def _search(self, question: str) -> Ended:
        return self._run(self._tool.search, {"question": question, "words": "|".join(question.split())})

    def _run(self, command: Command, asked: Mapping[str, str] = {}) -> Ended:
        variables = {name: self._filled(value) for name, value in self._tool.variables.items()}
        own = {**environment(), **variables, "HOME": str(self._home), "NO_COLOR": "1"}
        return ended([self._filled(word, asked) for word in command], own, self._patience)

    def _filled(self, text: str, asked: Mapping[str, str] = {}) -> str:
        return text.format(**self._places, **asked)


def _last(printed: str) -> str:
    """The last line that says something."""
    return next((line for line in reversed(printed.split("\n")) if line.strip()), "")[:_REASON]
