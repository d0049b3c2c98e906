"""Statements that amend others, in chains, and pairs that have nothing to do with each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent


class Chain(NamedTuple):
    """A decision and its amendments, oldest first, each with its speaker, and a question that all of them answer."""

    language: str
    question: str
    statements: tuple[tuple[str, str], ...]


def read_chains() -> list[Chain]:
    chains = []
    for block in (_FOLDER / "chains.txt").read_text("utf-8").strip().split("\n\n"):
        head, *lines = block.split("\n")
        _, language, question = head.split(" ", 2)
        statements = (line.split(": ", 1) for line in lines)
        chains.append(Chain(language, question, tuple((speaker, text) for speaker, text in statements)))
    return chains


def read_unrelated() -> Iterator[tuple[str, str]]:
    """Yield pairs of an older and a newer statement, of which the newer replaces something else."""
    for line in (_FOLDER / "unrelated.txt").read_text("utf-8").splitlines():
        older, newer = line.split(" | ")
        yield older, newer
