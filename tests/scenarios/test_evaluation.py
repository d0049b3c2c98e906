"""`scripts/eval`: our own questions are found better than by plain FTS5, and nothing that was removed is."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def evaluated(*arguments: str) -> list[list[str]]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "evaluation", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]


def test_the_table_is_printed_and_search_goes_before_plain_fts5_and_grep() -> None:
    search, plain, grep = evaluated()
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
    assert lines[3][:3] == ["LoCoMo: 2 questions, 2 sessions", "`lineage search`", "1.000"]
