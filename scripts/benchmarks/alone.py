"""One subject, once, in a process of its own: its peak of memory.

As a program: `python -m benchmarks.alone CASE ROW FOLDER ARTIFACTS [FOLDER ARTIFACTS …]` prints it in bytes; the
further folders are the smaller corpora.
"""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.cases import CASES, pairs_of
from benchmarks.corpus import Corpus
from benchmarks.launched import peak_bytes


def peak_alone(name: str, row: str, corpus: Corpus) -> int:
    """The peak of the subject of a case's pair, in bytes."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    folders = [word for one in (corpus, *corpus.smaller) for word in (str(one.folder), str(one.artifacts))]
    command = [sys.executable, "-m", "benchmarks.alone", name, row, *folders]
    return int(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    name, row, *words = sys.argv[1:]
    folders = [(Path(folder), int(artifacts)) for folder, artifacts in zip(words[::2], words[1::2], strict=True)]
    first, *smaller = folders
    corpus = Corpus(*first, tuple(Corpus(*one) for one in smaller))
    with CASES[name](corpus) as found:
        next(pair for pair in pairs_of(found) if pair.row == row).subject()
    print(peak_bytes())


if __name__ == "__main__":
    main()
