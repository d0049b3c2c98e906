"""`scripts/eval`: our own questions are found as well as by FTS5 and better than by grep, and nothing removed is."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation import among, extraction, fitting, halves, material, recall, regression, synopses
from evaluation.labelled import OWN, is_same, read_labelled
from evaluation.material import Material, Question, Session
from evaluation.measures import interval

from lineage.core.search.language import ENGLISH, detect_language
from lineage.errors import InvalidInput

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TOOLS = "coding sessions with tools"


def evaluated(*arguments: str) -> list[list[str]]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "evaluation", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if line]


def number(cell: str) -> float:
    return float(cell.split(maxsplit=1)[0])


def test_the_table_is_printed_and_search_finds_as_much_as_its_neighbours() -> None:
    lines = [line for line in evaluated() if line[0].startswith("coding sessions") and line[2][0] in "01"]
    sets = {name: [line for line in lines if line[0].split(":")[0] == name] for name in ("coding sessions", TOOLS)}
    assert sum(map(len, sets.values())) == len(lines)
    for search, unpruned, scaled, *others in sets.values():
        assert [ranker[1].split(", ")[-1][:8] for ranker in (unpruned, scaled)] == ["unpruned", "pruned a"]
        assert number(search[4]) >= number(unpruned[4])  # hit@5: what isn't looked at isn't missed
        assert {"FTS5", "grep"} <= {ranker[1].split(",")[0] for ranker in others}
        for other in others:
            for column in (4, 5, 7):  # hit@5, MRR, recall@10
                assert number(search[column]) >= number(other[column]) > 0, (search, other)
        assert search[-1] == "0"


def test_recall_is_right_of_what_was_held_out_and_silent_otherwise() -> None:
    lines = [line for line in evaluated("--recall") if line[0].endswith("held out")]
    assert [line[0].split(",")[0] for line in lines] == ["coding sessions", "each project alone"]
    for _, right, _, tokens, not_held, unrelated in lines:
        (right_one, of), (given, of_missing), (noise, of_unrelated) = map(shares, (right, not_held, unrelated))
        assert (right_one >= 0.9 * of >= 36, 10 * given <= of_missing) == (True, True)
        assert (noise, of_unrelated > 300, int(tokens) <= 250) == (0, True, True)


def test_the_floor_is_above_all_but_a_share_and_a_single_project_has_nothing_unrelated() -> None:
    scores = [float(number) for number in range(100)]
    found = [recall.find_floor(some, share) for some, share in ((scores, 0.05), (scores, 0.0), ([], 0.01))]
    assert (found[:2], found[2] < -10) == ([94.0, 99.0], True)


def shares(cell: str) -> tuple[int, int]:
    part, whole = cell.split(" = ", maxsplit=1)[0].split(" of ")
    return int(part.replace(",", "")), int(whole.replace(",", ""))


def test_our_own_set_has_eight_kinds_of_questions_and_two_halves() -> None:
    questions = [question for question in material.coding().questions if question.answers]
    counts = Counter(question.kind for question in questions)
    assert len(questions) >= 160
    assert len(counts) == 8
    assert min(counts.values()) >= 20
    assert len({question.text for question in questions}) == len(questions)
    texts = [question.text for question in questions]
    other = [one for one in texts if not one.isascii() or detect_language(one.split()) not in (None, ENGLISH)]
    assert len(other) >= len(questions) / 4
    halves = [material.coding().take_half(held_out=held_out).questions for held_out in (False, True)]
    asked = [{question.text for question in half if question.answers} for half in halves]
    assert not asked[0] & asked[1]
    assert asked[0] | asked[1] == {question.text for question in questions}
    assert min(map(len, asked)) > 0.4 * len(questions)


def locomo_file(folder: Path) -> Path:
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
    path = folder / "set.json"
    path.write_text(json.dumps([sample]))
    return path


def qmsum_file(folder: Path) -> Path:
    meetings = [
        {
            "meeting_transcripts": [{"speaker": "Chair", "content": text}, {"speaker": "Clerk", "content": "Noted."}],
            "general_query_list": [{"query": "Summarize the whole meeting."}],
            "specific_query_list": [{"query": asked}],
        }
        for text, asked in (("The remote gets a scroll wheel.", "Which wheel?"), ("Exams move to May.", "Which exams?"))
    ]
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(meeting) + "\n" for meeting in meetings))
    return path


def cranfield_folder(folder: Path) -> Path:
    (folder / "cran.all.1400").write_text(
        ".I 1\n.T\nlift of a wing .\n.A\nsmith,j.\n.B\nj. 1958.\n.W\nlift of a wing .\n  a slipstream was made .\n"
        ".I 2\n.T\n\n.A\n.B\n.W\nheat in composite slabs .\n"
    )
    (folder / "cran.qry").write_text(".I 001\n.W\nwhat lift has\na wing .\n.I 004\n.W\nheat in slabs .\n")
    (folder / "cranqrel").write_text("1 1 2 \n1 2 -1\n2 2 3\n")
    return folder


def test_public_sets_are_read_as_they_are_published(tmp_path: Path) -> None:
    sets = ("--locomo", str(locomo_file(tmp_path)), "--qmsum", str(qmsum_file(tmp_path)))
    lines = evaluated(*sets, "--cranfield", str(cranfield_folder(tmp_path)))
    found = {line[0]: number(line[2]) for line in lines if line[1] == "`lineage search`"}
    assert found == {f"{name}: 2 questions, 2 sessions": 1 for name in ("LoCoMo", "QMSum", "Cranfield")}


@pytest.mark.parametrize("kind", ["files", "workspace"])
def test_other_questions_are_asked_of_other_sessions(tmp_path: Path, kind: str) -> None:
    files = tmp_path / "sessions"
    files.mkdir()
    for name, said in (("plum", "I planted a plum tree."), ("boat", "The boat leaks.")):
        (files / f"{name}.json").write_text(json.dumps([{"role": "user", "text": said}]))
    asked = [
        {"question": "Which tree?", "sessions": ["plum"], "kind": "vague"},
        {"question": "leaks", "sessions": ["boat", "raft"], "kind": "error"},
        {"question": "the plum or the tree", "sessions": ["boat"], "kind": "vague"},
    ]
    questions = tmp_path / "mine.jsonl"
    questions.write_text("\n".join(map(json.dumps, asked)))
    place = files
    if kind == "workspace":
        place = tmp_path / "workspace"
        for command in (["init", str(place)], ["-w", str(place), "import", "generic", str(files)]):
            subprocess.run([sys.executable, "-m", "lineage", *command], check=True, capture_output=True)
    lines = evaluated("--questions", str(questions), "--sessions", str(place))
    (search,) = (line for line in lines if line[:2] == ["mine: 3 questions, 2 sessions", "`lineage search`"])
    assert search[2].startswith("0.667 (2 of 3)")
    by_kind = [line for line in lines if line[:2] == ["vague", "`lineage search`"]]
    assert [line[2].split(" 0.")[0] for line in by_kind] == ["0.500 (1 of 2)"]


def test_a_line_that_is_no_question_is_named(tmp_path: Path) -> None:
    for line in ("[]", '{"question": "Which?"}', "nonsense", '{"question": "Which?", "sessions": 3}'):
        (tmp_path / "mine.jsonl").write_text('{"question": "Which?", "sessions": []}\n' + line)
        with pytest.raises(InvalidInput, match=r"line 2 of mine\.jsonl is no question"):
            material.chosen(tmp_path / "mine.jsonl", tmp_path, None)


def test_an_interval_holds_the_share_and_narrows_with_questions() -> None:
    few, many = interval([True] * 6 + [False] * 4), interval([True] * 600 + [False] * 400)
    assert few[0] < many[0] < 0.6 < many[1] < few[1]
    # The normal approximation of so many gives 0.6 ± 0.030.
    assert many == pytest.approx((0.570, 0.630), abs=0.006)
    assert interval([True] * 5) == (1.0, 1.0)


def test_a_half_is_tried_with_what_was_best_on_the_other() -> None:
    said = [{"role": "user", "text": "I planted a plum tree."}], [{"role": "user", "text": "The boat leaks."}]
    sessions = [Session(f"s{n}", "one", None, "2026-01-05T10:00:00.000Z", turns) for n, turns in enumerate(said)]
    asked = [Question("Which tree?", "one", frozenset({"s0"})), Question("Whose boat?", "one", frozenset({"s1"}))]
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
    one_set = Material("One", [one], asked)
    for folder, named in ((None, "its own words"), (tmp_path, f"files of {tmp_path.name}")):
        _, *table = "".join(line + "\n" for line in among.lines(one_set, 9, folder)).splitlines()
        assert f"One, among 9 passages of {named}" in table[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
        assert [row[0] for row in rows] == ["`lineage search`", "`lineage search`, unpruned", "any word, bare FTS5"]
        assert rows[2][6] == rows[2][8] == "1.000 / 1.000"
        assert rows[2][1] == "0.500" or folder is None  # other text has more boats
    with pytest.raises(SystemExit, match=r"only 1\d passages"):
        list(among.lines(one_set, 900, tmp_path))


def test_our_own_labelled_sessions_are_of_seven_languages_with_statements_and_traps_in_each() -> None:
    sessions = list(read_labelled(OWN))
    assert len(sessions) >= 20
    assert {session.language for session in sessions} == {"en", "pt", "de", "es", "fr", "ja", "zh"}
    for session in sessions:
        spoken = "\n".join(turn.text for turn in session.turns)
        assert session.traps
        assert all(label["quote"] in spoken for label in (*session.statements, *session.traps))


def test_what_is_learned_of_labelled_sessions_is_counted_by_speaker_and_kind(tmp_path: Path) -> None:
    words = "We decided to keep the queue in worker.py."
    given = [{"role": "assistant", "text": f"{words} We decided to eat at noon."}]
    (tmp_path / "turns").mkdir()
    (tmp_path / "turns" / "s-1.json").write_text(json.dumps(given))
    statement = {"kind": "decision", "speaker": "assistant", "quote": words, "weight": 2}
    trap = {"quote": "We decided to eat at noon."}
    label = {"session": "s-1", "author": "ann", "statements": [statement], "traps": [trap]}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n")
    rows = {line.split(" | ")[0].strip("| "): line for line in extraction.lines(list(read_labelled(tmp_path)))}
    assert "| 2 | 1 of 2 = 0.50 | 1 of 2 = 0.50 |" in rows["assistant's decisions"]
    assert "| 1 of 1 = 1.00 | 0 of 0 |" in rows["all"]
    assert "| 0 | 0 of 0 |" in rows["user's"]


def test_what_sentences_tell_of_labelled_sessions_is_counted_and_fitted_the_same_twice(tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    labels = []
    for number, author in enumerate(("ann", "bob", "cat")):
        asked, achieved = "Please rename the parser of all tables.", "Renamed the parser of tables in four files."
        turns = [
            ("user", f"Hello there. {asked}"),
            ("assistant", f"{achieved} The weather is fine, and so am I today."),
        ]
        (tmp_path / "turns" / f"s-{number}.json").write_text(
            json.dumps([{"role": role, "text": text} for role, text in turns])
        )
        wanted = asked if number else "something that nobody ever wrote"
        labels.append(
            {"session": f"s-{number}", "author": author, "ask": {"quote": wanted}, "outcome": {"quote": achieved}}
        )
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    sessions = list(read_labelled(tmp_path))
    assert list(synopses.lines(sessions)) == ["ask told: 2 of 3", "outcome told: 3 of 3"]
    weights, by_author = synopses.fit(sessions)
    assert (weights, by_author) == synopses.fit(sessions)
    assert by_author.keys() == {"ann", "bob", "cat"}
    assert weights["outcome"]["begins with a result"] > 0


@pytest.mark.parametrize("language", ["en", "pt", "de", "es", "fr", "ja", "zh"])
def test_what_users_state_is_learned_in_each_language_and_no_trap_is(language: str) -> None:
    sessions = [session for session in read_labelled(OWN) if session.language == language]
    found = sum((extraction.count(session, list(extraction.keep(session))) for session in sessions), Counter[str]())
    assert found["in force right"] + found["waiting right"] == found["in force"] + found["waiting"]
    assert found["in force traps"] + found["waiting traps"] == 0
    assert found["got user"] >= 0.5 * found["wanted user"] > 3
    assert found["got assistant"] >= 0.4 * found["wanted assistant"] > 1


def test_weights_are_fitted_the_same_each_time_and_each_author_is_judged_by_the_others() -> None:
    examples = fitting.read_examples(
        replace(session, author=f"{session.author} {number % 4}") for number, session in enumerate(read_labelled(OWN))
    )
    fitted = fitting.fit(examples)
    assert fitted == fitting.fit(examples)
    assert len(fitted.by_author) == 4
    own = fitted.weights["user"]
    assert own.features["verb"] != fitted.by_author["statements 0"]["user"].features["verb"]
    assert own.compute_score(["standing"]) > own.compute_score([])
    assert 0 < own.in_force < 1


def test_the_weights_of_an_order_put_what_is_right_before_the_others() -> None:
    rows = [([(0, 1.0), (1, 1.0)], True), ([(0, 1.0)], False), ([(0, 2.0), (1, -1.0)], False)]
    groups = [[regression.Sample(*row) for row in rows[:count]] for count in (2, 3, 3)]
    length, use = regression.rank(groups, [0.1, 0.1], 20)
    assert length + use > max(length, 2 * length - use)
    assert regression.rank([], [0.1, 0.1], 20) == [0, 0]


def test_a_table_has_the_rules_before_and_every_cue_beside_today_s() -> None:
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in extraction.lines(list(read_labelled(OWN)))}
    kept = [int(rows[name][1]) for name in ("all", "by the rules before", "every sentence with a cue")]
    assert min(kept) > 50
    assert rows["by the rules before"][4] != "0"  # what users decided had to be confirmed


def test_an_entry_is_a_label_s_by_its_runs_of_words() -> None:
    assert is_same("the **queue** stays in worker.py", "Decision: the queue stays in worker.py")
    assert not is_same("the queue stays", "the parser stays where it is")
    assert not is_same("queue", "the queue stays in worker.py for good")
    assert is_same("我们决定继续用make。", "我们决定继续用make")
