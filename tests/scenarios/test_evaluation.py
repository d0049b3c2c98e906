"""`scripts/eval`: our own questions are found better than by plain FTS5, and nothing that was removed is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation import among, halves
from evaluation.material import Material, Question, Session

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def evaluated(*arguments: str) -> list[list[str]]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "evaluation", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]


def test_the_table_is_printed_and_search_goes_before_plain_fts5_and_grep() -> None:
    lines = evaluated()
    assert [line[0].split(":")[0] for line in lines] == ["coding sessions"] * 5 + ["coding sessions with tools"] * 5
    for search, unpruned, scaled, plain, grep in (lines[:5], lines[5:]):
        assert [ranker[1].split(", ")[-1][:8] for ranker in (unpruned, scaled)] == ["unpruned", "pruned a"]
        assert float(search[3]) >= float(unpruned[3])  # hit@5: what isn't looked at isn't missed
        for column in (2, 3, 4, 5):
            assert float(search[column]) > float(plain[column]) >= 0, (search, plain)
            assert float(search[column]) > float(grep[column])
        assert search[-1] == "0"


def test_a_file_in_locomo_s_format_is_asked_too(tmp_path: Path) -> None:
    said = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I planted a plum tree."}]
    other = [{"speaker": "Bob", "dia_id": "D2:1", "text": "The boat leaks.", "blip_caption": "a wet cat"}]
    sample = {
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": said,
            "session_2_date_time": "9:00 am on 9 May, 2023",
            "session_2": other,
        },
        "qa": [
            {"question": "Which tree?", "evidence": ["D1:1"]},
            {"question": "Which cat?", "evidence": ["D2:1"]},
            {"question": "Nothing?", "evidence": []},
        ],
    }
    (tmp_path / "set.json").write_text(json.dumps([sample]))
    lines = evaluated("--locomo", str(tmp_path / "set.json"))
    assert lines[10][:3] == ["LoCoMo: 2 questions, 2 sessions", "`lineage search`", "1.000"]


def test_a_half_is_tried_with_what_was_best_on_the_other() -> None:
    said = [{"role": "user", "text": "I planted a plum tree."}], [{"role": "user", "text": "The boat leaks."}]
    sessions = [Session(f"s{n}", "one", None, "2026-01-05T10:00:00.000Z", turns) for n, turns in enumerate(said)]
    asked = [Question("Which tree?", "one", frozenset({"s0"})), Question("Which boat?", "one", frozenset({"s1"}))]
    table = list(halves.lines(Material("Two", sessions, [*asked, Question("Nothing?", "one", frozenset())])))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]
    assert [row[:2] for row in rows] == [["even", "odd"], ["shipped", "odd"], ["odd", "even"], ["shipped", "even"]]
    assert {row[3] for row in rows} == {"1.000"}


def test_questions_are_asked_among_other_text_too(tmp_path: Path) -> None:
    said = [{"role": "user", "text": "I planted a plum tree near the leaking boat."}]
    one = Session("s0", "one", None, "2026-01-05T10:00:00.000Z", said)
    asked = [Question(text, "one", frozenset({"s0"})) for text in ("Where is the plum tree?", "Whose boat?")]
    (tmp_path / "other.md").write_text("\n".join(f"A harbour with boat {number}." for number in range(400)))
    (tmp_path / "a.png").write_text("\n".join(f"no text {number}" for number in range(90_000)))
    material = Material("One", [one], asked)
    for folder, named in ((None, "its own words"), (tmp_path, f"files of {tmp_path.name}")):
        _, *table = "".join(line + "\n" for line in among.lines(material, 9, folder)).splitlines()
        assert f"One, among 9 passages of {named}" in table[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
        assert [row[0] for row in rows] == ["`lineage search`", "`lineage search`, unpruned", "any word, bare FTS5"]
        assert rows[2][6] == rows[2][8] == "1.000 / 1.000"
        assert rows[2][1] == "0.500" or folder is None  # other text has more boats
    with pytest.raises(SystemExit, match=r"only 1\d passages"):
        list(among.lines(material, 900, tmp_path))
