"""The hook where somebody waits for it, at a prompt and at an action: whole processes that read a large index."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from benchmarks import commands
from benchmarks.corpus import Corpus
from benchmarks.pairing import Pair
from benchmarks.searching import answered_questions, opened_passages
from lineage.app.locations import STATE_FOLDER
from lineage.core.base import hook_protocol
from lineage.core.base.book_paths import BookRef
from lineage.core.books.book import new_book, serialize_book
from lineage.core.books.book_edits import add
from lineage.core.books.entry import MANUAL, new_entry
from lineage.index.books import BookFile, BookFiles
from lineage.index.sqlite import SqliteIndex

_PROMPTS = 40
_BOOKS, _LESSONS, _KIND = 20, 100, "lesson"
_PROJECT = "/home/ada/lantern"  # of the made-up rows


@contextmanager
def at_prompt(corpus: Corpus) -> Iterator[Pair]:
    """Prompts that memory answers and others in turn, each of a session of its own."""
    drawn = answered_questions(_PROMPTS)
    prompts = [sentence if number % 2 else question for number, (question, sentence) in enumerate(drawn)]
    payloads = [{"hook_event_name": "UserPromptSubmit", "prompt": prompt} for prompt in prompts]
    with opened_passages(corpus.artifacts) as index:
        workspace = corpus.scratch("recalled")
        (workspace / STATE_FOLDER).mkdir()
        (workspace / STATE_FOLDER / index.path.name).symlink_to(index.path)
        yield from _pair(corpus, workspace, "at a prompt", payloads)


@contextmanager
def at_action(corpus: Corpus) -> Iterator[Pair]:
    """Edits of files that lessons are bound to, and commands that none is, in turn."""
    with opened_passages(corpus.artifacts) as index:
        workspace = corpus.scratch("recalled-action")
        (workspace / STATE_FOLDER).mkdir()
        shutil.copyfile(index.path, workspace / STATE_FOLDER / index.path.name)
    with closing(SqliteIndex(workspace / STATE_FOLDER / index.path.name)) as own:
        own.index_books(map(_bind_lessons, range(_BOOKS)))
    edits = [{"tool_name": "Edit", "tool_input": {"file_path": f"{_PROJECT}/src/m{n}.py"}} for n in range(_PROMPTS)]
    commands_run = [{"tool_name": "Bash", "tool_input": {"command": f"make part{n}"}} for n in range(_PROMPTS)]
    pairs = zip(edits, commands_run, strict=True)
    payloads = [{"hook_event_name": "PreToolUse", **one} for both in pairs for one in both]
    yield from _pair(corpus, workspace, "at an action", payloads)


def _bind_lessons(number: int) -> BookFiles:
    """Return a book of a hundred lessons about files; the first one is the project's own."""
    scope = f"project/lantern-{sha256(b'~/lantern').hexdigest()[:8]}" if number == 0 else f"project/other-{number}"
    book = new_book(scope, _KIND)
    for n in range(_LESSONS):
        text, about = f"Lesson {n} of the lantern: trim the wick before the storm.", (f"file:src/m{n}.py",)
        book = add(book, new_entry(scope, _KIND, text, at="2026-11-20T00:00:00.000Z", source=MANUAL, about=about))
    data = serialize_book(book)
    return BookFiles(scope, _KIND, (BookFile(BookRef(scope, _KIND), data, scope),), frozenset())


def _pair(corpus: Corpus, workspace: Path, when: str, payloads: Sequence[dict[str, Any]]) -> Iterator[Pair]:
    numbers = count()
    words = ["hook", "claude-code", "--workspace", str(workspace)]

    def make_payload() -> str:
        number = next(numbers)
        return json.dumps({**payloads[number % len(payloads)], "session_id": f"s-{number}", "cwd": _PROJECT})

    floors, subjects = list[float](), list[float]()
    try:
        yield Pair(
            what=f"`lineage hook` {when} over {corpus.artifacts:,} passages, against a bare interpreter",
            floor=partial(_time, floors, partial(commands.run, commands.BARE)),
            subject=partial(_time, subjects, lambda: commands.run([*commands.LINEAGE, *words], make_payload())),
            peak=lambda: max(commands.launched(words, make_payload()).peak for _ in payloads[:5]),
            figures=lambda: {"p95_ratio": quantiles(subjects, n=20)[-1] / median(floors), "given": _count(workspace)},
        )
        log = workspace / STATE_FOLDER / hook_protocol.HOOK_LOG
        if log.exists():  # too late or broken: then the figures are of something else
            raise RuntimeError(log.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(workspace)


def _time(taken: list[float], action: Callable[[], object]) -> None:
    start = perf_counter()
    action()
    taken.append(perf_counter() - start)


def _count(workspace: Path) -> int:
    """Return the number of items that all sessions together were given."""
    files = (workspace / STATE_FOLDER / hook_protocol.RECALL_LOG).iterdir()
    return sum(file.read_text(encoding="utf-8").count('"id"') for file in files)
