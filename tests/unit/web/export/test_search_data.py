"""The words of an export: the same from memory and from runs on disk, sorted and split as `search.js` reads them.

Fails without the merge of runs, for runs that are not sorted, and for differences that don't add up.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.web.export import search_data
from lineage.web.export.search_data import SearchData, split_words

texts = st.lists(
    st.sampled_from(("alpha", "Beta", "béta", "日本語", "a_b", "x1", "\U00020001\U00020002", "ﬁn", "z" * 60))
)


def read_scripts(data: SearchData) -> dict[str, Any]:
    found = {}
    for path, script in data.iter_files():
        called = re.fullmatch(r'lineageData\("([\w-]+)", (.*)\);\n', script.decode("ascii"), re.DOTALL)
        assert called
        assert path == f"search/{called[1]}.js"
        found[called[1]] = json.loads(called[2])
    return found


def read_words(scripts: dict[str, Any]) -> dict[str, list[int]]:
    words: dict[str, list[int]] = {}
    for number in range(len(scripts["index"]["words"])):
        for line in scripts[f"words-{number}"].split("\n"):
            word, *steps = line.split(" ")
            place, places = 0, []
            for step in steps:
                place += int(step, 36)
                places.append(place)
            words[word] = places
    return words


@given(pages=st.lists(st.tuples(texts, texts), max_size=12))
def test_runs_on_disk_and_memory_give_the_same(
    tmp_path_factory: pytest.TempPathFactory, pages: list[tuple[list[str], list[str]]]
) -> None:
    made = []
    for most in (1, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search_data, "_MAX_NUMBERS", most)
            patch.setattr(search_data, "MAX_WORDS_BYTES", 30)
            data = SearchData(tmp_path_factory.mktemp("words"))
            for number, (names, said) in enumerate(pages):
                data.add([f"p-{number}.html"], names, said)
            made.append(list(data.iter_files()))
            scripts = read_scripts(data) if most > 1 else {}
    assert made[0] == made[1]
    expected: dict[str, list[int]] = {}
    for number, (names, said) in enumerate(pages):
        strong = {word for name in names for word in split_words(name)}
        for word in strong | {word for text in said for word in split_words(text)}:
            expected.setdefault(word, []).append(2 * number + (word in strong))
    assert read_words(scripts) == expected
    firsts = scripts["index"]["words"]
    assert firsts == sorted(firsts, key=lambda word: word.encode("utf-16-be"))


def test_pages_are_told_by_number(tmp_path: Path) -> None:
    data = SearchData(tmp_path)
    for number in range(450):
        data.add([f"sessions/{number}.html", "title"], ["title"], ["text"])
    scripts = read_scripts(data)
    assert [len(scripts[f"pages-{number}"]) for number in range(3)] == [200, 200, 50]
    assert scripts["pages-2"][49][0] == "sessions/449.html"
