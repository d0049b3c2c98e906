"""tantivy over the same passages, in a process of the bench's own environment: how fast full text can be.

As a program: `python rivals.py FOLDER INDEX` indexes the passages of lineage's INDEX into FOLDER,
prints tantivy's version, and then answers lines of JSON, [[question, …], how many], each with a line of counts.
"""

import importlib.metadata
import importlib.util
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

_PASSAGES = "select rowid, title || ' ' || sentence || ' ' || body from search"
_MEMORY = 200_000_000


class Tantivy:
    """A process that answers; its index is gone with the folder."""

    def __init__(self, process: "subprocess.Popen[str]", version: str) -> None:
        self.version = version
        self._process = process

    @staticmethod
    @contextmanager
    def opened(index: Path) -> "Iterator[Tantivy | None]":
        """None where no interpreter has the package."""
        python = interpreter("tantivy")
        if python is None:
            yield None
            return
        with TemporaryDirectory(prefix="lineage-bench-") as folder:
            command = [python, str(Path(__file__)), folder, str(index)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                version = _stream(process.stdout).readline().strip()
                yield Tantivy(process, version)
                _stream(process.stdin).close()

    def search(self, questions: Sequence[str], limit: int) -> list[int]:
        """How many passages each question finds, at most `limit`."""
        asked = _stream(self._process.stdin)
        asked.write(json.dumps([list(questions), limit]) + "\n")
        asked.flush()
        counts: list[int] = json.loads(_stream(self._process.stdout).readline())
        return counts


def interpreter(package: str) -> str | None:
    """This interpreter, else that of the bench's environment in it or beside it, whichever has the package."""
    if importlib.util.find_spec(package):
        return sys.executable
    finding = ["-c", f"import sys, importlib.util; sys.exit(not importlib.util.find_spec({package!r}))"]
    for folder in (Path(sys.prefix), Path(sys.prefix).parent):
        python = folder / "bench" / "bin" / "python"
        if python.exists() and subprocess.run([python, *finding], check=False).returncode == 0:
            return str(python)
    return None


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream
    return stream


def _serve(folder: str, index: str) -> None:
    import tantivy  # noqa: PLC0415  (only the bench's environment has it)

    schema = tantivy.SchemaBuilder().add_text_field("body").build()
    made = tantivy.Index(schema, path=folder)
    writer = made.writer(_MEMORY)
    for _, text in sqlite3.connect(f"file:{index}?mode=ro", uri=True).execute(_PASSAGES):
        writer.add_document(tantivy.Document(body=text))
    writer.commit()
    made.reload()
    searcher = made.searcher()
    print(importlib.metadata.version("tantivy"), flush=True)
    for line in sys.stdin:
        questions, limit = json.loads(line)
        found = [searcher.search(made.parse_query(question, ["body"]), limit).hits for question in questions]
        print(json.dumps(list(map(len, found))), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
