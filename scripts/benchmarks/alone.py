"""One subject, once, in a process of its own; prints its peak of memory in bytes. Arguments: the case, the corpus."""

import sys
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.corpus import Corpus
from benchmarks.launched import peak_bytes


def main() -> None:
    name, folder = sys.argv[1:]
    with CASES[name](Corpus(Path(folder))) as pair:
        pair.subject()
    print(peak_bytes())


if __name__ == "__main__":
    main()
