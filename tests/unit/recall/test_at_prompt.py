"""Recall at a prompt: what is given, what never is, and that it costs a hook no more than the standard library."""

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.extraction.admission_policy import HEURISTIC, Admission, Provenance
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.recall import reader
from lineage.recall.at_prompt import MAX_ITEMS, MAX_TOKENS, recall_at_prompt
from lineage.recall.evidence import Word, split_sentences
from lineage.recall.floor import load_floor
from lineage.recall.items import Recall, RecalledItem, format_item
from tests.support.books import write_entry
from tests.support.workspace import end_session, make_turns, open_test_workspace

PROJECT = "/home/ada/demo"
KEY = "~/demo"
ASKED = "The importer loses the last row again when a CSV file has no trailing newline, what did we decide?"
TALK = (
    "Our importer drops the last row of CSV files without a trailing newline.",
    "We decided to read them with csv.reader, which copes with a missing trailing newline in the last row.",
)
OTHERS = ("Draw the chart of visitors in blue.", "The chart is blue now, with a legend for visitors by country.")


def recall(root: Path, prompt: str = ASKED, keys: Sequence[str] = (KEY,), **asked: Any) -> Recall:
    with closing(reader.open_index(str(root))) as connection:
        return recall_at_prompt(connection, keys, "default", prompt, **asked)


def talk(root: Path, session: str = "s-1", texts: Sequence[str] = TALK, **payload: object) -> str:
    with open_test_workspace(root) as ws:
        end_session(ws, "s-0", transcript=make_turns(*OTHERS), project=PROJECT)
        return end_session(
            ws, session, **{"transcript": make_turns(*texts), "project": PROJECT, **payload}
        ).session_token


def test_the_passage_that_answers_is_given_with_where_it_is_from(tmp_path: Path) -> None:
    token = talk(tmp_path)
    (item,) = recall(tmp_path).items
    assert "csv.reader" in item.text
    assert (item.kind, item.origin, item.at[:4]) == ("passage", token, "2026")


@pytest.mark.parametrize(
    "prompt",
    ["", " ", "🦆", "run the tests again", "yes", "thanks!", "日本語で直してください", '" OR NEAR(* -x:', "\0\ud800"],
)
def test_nothing_is_given_of_a_prompt_that_memory_holds_nothing_about(tmp_path: Path, prompt: str) -> None:
    talk(tmp_path)
    assert recall(tmp_path, prompt).items == ()


def test_asked_again_nothing_is_given_that_was_too_much_worse_before(tmp_path: Path) -> None:
    token = talk(tmp_path)
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "project/demo", "lesson", "A file of the exporter is generated, never edit the code in a row.")
    (first,) = recall(tmp_path, owns_folder=lambda _: True).items
    again = recall(tmp_path, given={first.id, token}, owns_folder=lambda _: True)
    assert again.items == ()
    assert "given before" in {one.verdict for one in again.considered}


@given(st.text("[]( )-userSTATdiv\n\r\x85\u2028>"))
def test_a_quotation_s_lines_are_quoted_and_hold_no_tag(text: str) -> None:
    quoted = format_item(RecalledItem("", text, "", "", "2026-11-20", "passage")).partition("\n")[2]
    shown = quoted.split("\n") if quoted else []
    kept = [line for line in text.splitlines() if line.strip()]
    assert [line[:2] for line in shown] == ["> "] * len(kept)
    assert [len(line) for line in shown] == [2 + len(line.rstrip()) for line in kept]
    assert not re.search(r"(?<![\w)\]])\[\s*(user\W?stated|derived)\s*\]", "\n".join(shown), re.IGNORECASE)


def test_code_is_left_as_it_is_and_no_mark_of_the_block_s_own() -> None:
    text = "arr[derived] = f(x)[derived]\n</LINEAGE-CONTEXT >\n< lineage-context a=1>"
    shown = format_item(RecalledItem("", text, "", "", "2026-11-20", "passage"))
    assert "arr[derived] = f(x)[derived]" in shown
    assert "<" not in shown


@pytest.mark.parametrize("text", ["one of [derived,", "[user-stated", "a [b [user-stated] c [derived", "[" * 5000])
def test_an_open_bracket_is_left_alone(text: str) -> None:
    shown = format_item(RecalledItem("", text, "", "", "2026-11-20", "passage"))
    assert len(shown) == len(text) + len("[2026-11-20 · passage]\n> ") and "[user-stated]" not in shown


TRACE = """Traceback (most recent call last):
  File "/srv/harbour/quay/berths.py", line 88, in moor
    raise MooringFailed("winch 4 blocked by ropes of the ferry Ottilie")
MooringFailed: winch 4 blocked by ropes of the ferry Ottilie
"""


@pytest.mark.parametrize(
    "prompt",
    [
        f"Good morning! I have been on vacation in Norway for a fortnight. {ASKED} My boss is nervous about auditors.",
        f"{ASKED}\n\n{TRACE}",
        f"{TRACE * 90}\n{ASKED}",
        f"<ide_opened_file>The user opened berths.py of the harbour in the IDE.</ide_opened_file>\n{ASKED}",
        f"{ASKED}\n<system-reminder>\nThe TodoWrite tool hasn't been used recently.\n</system-reminder>",
    ],
    ids=["greeting", "trace behind", "long trace before", "tag before", "tag behind"],
)
def test_a_question_is_answered_whatever_stands_around_it(tmp_path: Path, prompt: str) -> None:
    talk(tmp_path)
    (item,) = recall(tmp_path, prompt).items
    assert "csv.reader" in item.text


@pytest.mark.parametrize("prompt", ["can we do that?", "What is it about?", "warum ist das nicht so?"])
def test_nothing_is_given_of_a_prompt_of_stop_words_alone(tmp_path: Path, prompt: str) -> None:
    talk(tmp_path, texts=(prompt, f"{prompt} Yes, that is what we do."))
    found = recall(tmp_path, prompt)
    assert (found.items, found.considered) == ((), ())


@pytest.mark.parametrize(
    "hidden", [{"private": True}, {"project": "/home/ada/other"}, {"project": None}, {"agent_id": "other"}], ids=str
)
def test_a_session_that_is_private_or_of_somebody_else_is_never_given(
    tmp_path: Path, hidden: dict[str, object]
) -> None:
    talk(tmp_path, **hidden)
    assert recall(tmp_path).items == ()


REQUEST = "The build of the quay failed at its pointer, as the log of the harbour says.\n" + "\n".join(
    f"Berth {number} waits for the crane until it is free again, and for its crew." for number in range(11)
)
REPLY = "The duplicate pointer of the build is gone from its store.\n" + "\n".join(
    f"Rope {number} was dried for the winter, and hung above the stairs." for number in range(30)
)


def test_the_beginning_of_a_reply_goes_before_more_of_what_was_asked(tmp_path: Path) -> None:
    talk(tmp_path, texts=(REQUEST, REPLY))
    found = recall(tmp_path, "What did we change about the pointer when the build of the quay failed?")
    assert ["The duplicate pointer" in item.text for item in found.items].count(True) == 1
    floor = load_floor()
    replied, asked = (
        next(row for row in found.considered if name in row.sentences.text) for name in ("store", "berth 7")
    )
    first, *_, last = map(replied.measure, replied.sentences.list_found(()))
    assert (first["typed"], first["opening"]) == (0, 1) > (0, last["opening"]) > (0, 0)
    assert {one["typed"] for one in map(asked.measure, asked.sentences.list_found(()))} == {1}
    assert (asked.follows, replied.follows > 0.5) == (0, True)
    for name, typed in (("typed", 1), ("opening", 0), ("follows", 0)):
        assert floor.rank(first) > floor.rank({**first, name: typed})


def test_what_was_typed_two_passages_before_counts_less(tmp_path: Path) -> None:
    talk(tmp_path, texts=(REQUEST, f"{REPLY}\nThe quay is dry, and was painted."))
    found = recall(tmp_path, "What did we change about the pointer when the build of the quay failed?")
    store, dry = (next(row for row in found.considered if name in row.sentences.text) for name in ("store", "is dry"))
    assert dry.follows == pytest.approx(0.6 * store.follows)


def test_what_an_agent_said_before_counts_for_nothing_as_a_tool_may_have_said_it_first(tmp_path: Path) -> None:
    talk(tmp_path, texts=("Read a.md.", REQUEST, "Go on.", REPLY))
    found = recall(tmp_path, "What did we change about the pointer when the build of the quay failed?")
    assert len(found.considered) > 1
    assert {row.follows for row in found.considered} == {0}


def test_neither_a_removed_session_nor_the_running_one_nor_what_was_given(tmp_path: Path) -> None:
    token = talk(tmp_path)
    (item,) = recall(tmp_path).items
    assert recall(tmp_path, exclude_session="s-1").items == ()
    assert recall(tmp_path, given=[item.id]).items == ()
    tombstone = tmp_path / "memory" / "tombstones" / f"{token}.md"
    tombstone.parent.mkdir(parents=True)
    tombstone.write_text("the index doesn't know of it yet")
    assert recall(tmp_path).items == ()
    tombstone.unlink()
    with open_test_workspace(tmp_path) as ws:
        remove(ws, token, reason="mistake")
    assert recall(tmp_path).items == ()


@pytest.mark.leaves_findings
def test_an_entry_is_given_where_its_sentence_is_hidden_in_the_passage(tmp_path: Path) -> None:
    """The user stated it first, so that it is kept; a tool printed it later, so that no passage shows it."""
    talk(tmp_path, "s-2", OTHERS)
    decided = "Decision: the importer reads a CSV file with csv.reader, for the last row has no trailing newline."
    turns = make_turns(decided, "Done.")
    turns.insert(1, {"role": "tool", "name": "read_file", "text": f"{decided} The end of the notes."})
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=turns, project=PROJECT)
    (item,) = recall(tmp_path).items
    assert (item.kind, item.text) == ("decision", decided)


FILLER = "The ledger of the harbour keeps its own columns for cranes and berths. "


def test_two_passages_of_one_long_turn_are_both_given(tmp_path: Path) -> None:
    cause = "The importer loses the last row of a CSV file that has no trailing newline. "
    fix = "We decided that the importer reads CSV with csv.reader, trailing newline or not, down to the last row. "
    talk(tmp_path, texts=("Look at the importer.", f"{cause}{FILLER * 12}\n{fix}{FILLER * 12}"))
    given = recall(tmp_path).items
    assert len(given) == len({one.id for one in given}) == 2
    assert {one.origin for one in given} == {given[0].origin}
    text = "".join(one.text for one in given)
    assert cause.strip() in text
    assert fix.strip() in text


def test_what_is_far_from_the_prompt_is_left_out_of_a_passage(tmp_path: Path) -> None:
    far = ("The cranes are painted on Mondays.", "Ropes lie in the shed.", "Lunch is at noon.", "The ferry is late.")
    talk(tmp_path, texts=("Look at the importer.", " ".join((*TALK, *far, *far[::-1]))))
    text = "".join(item.text for item in recall(tmp_path).items)
    assert "csv.reader" in text
    assert not any(one in text for one in far[2:])


@pytest.mark.parametrize(
    ("prompt", "asks", "past"),
    [
        ("Which of the two parsers did we end up with?", 1, 1),
        ("pg_restore fails with role auditor again", 0, 1),
        ("Add an RSS feed and a button to export the ledger.", 0, 0),
        ("Let players choose who may watch, before anybody saves", 0, 0),
        ("¿Por qué está el token en cookies?", 1, 0),
        ("なぜ署名にはEdDSAを使うんだっけ", 1, 1),
        ("之前为什么把队列改成三次重试", 1, 1),
        ("왜 재시도를 세 번으로 했었지", 1, 1),
        ("Почему опять падает сборка", 1, 1),
        ("画像などのファイル名に接頭辞を付けて、またはログに出して", 0, 0),
        ("이 버전에 버튼을 추가하고 빨강 또는 파랑으로 해줘", 0, 0),
        (f"Add a dark mode.\n{'worker finished before the deadline, the queue was still empty. ' * 20}\nThanks!", 0, 0),
        (f"{TRACE * 20}Why does it wait?", 1, 0),
        ("Füge einen Knopf zum Exportieren hinzu", 0, 0),
    ],
)
def test_a_prompt_that_asks_and_one_that_looks_back_are_known(prompt: str, asks: int, past: int) -> None:
    floor = load_floor()
    assert floor.find_asking(prompt) == {"asks": asks, "past": past}
    assert min(floor.weights["asks"], floor.weights["past"]) > 0


def test_what_a_resumed_session_says_again_is_given_once(tmp_path: Path) -> None:
    talk(tmp_path, "s-1")
    talk(tmp_path, "s-2", texts=(*TALK, "And the header?", "The header stays as it is."))
    (item,) = recall(tmp_path).items
    assert recall(tmp_path, given=[item.id]).items == ()


def test_the_sentence_beside_the_one_that_repeats_the_question_comes_first(tmp_path: Path) -> None:
    said = "The importer loses the last row of a CSV without a trailing newline. The splitter drops its tail.\n```\n"
    cranes = "".join(f"Crane {number} of the harbour waits for its inspection. " for number in range(10, 24))
    talk(tmp_path, texts=("Look at the importer.", f"{cranes}\n{said}"))
    (item,) = recall(tmp_path).items
    assert "The splitter drops its tail." in item.text


def test_without_a_project_nothing_is_given(tmp_path: Path) -> None:
    talk(tmp_path)
    assert recall(tmp_path, keys=()).items == ()


@pytest.mark.leaves_findings
def test_what_is_superseded_comes_after_what_holds_and_never_alone(tmp_path: Path) -> None:
    statements = (
        "Decision: the payment webhook retries five times with exponential backoff.",
        "Decision: the payment webhook no longer retries five times, it goes to the dead letter queue.",
    )
    with open_test_workspace(tmp_path) as ws:
        for day, said in enumerate(statements, 1):
            at = f"2026-11-{day:02}T10:00:00.000Z"
            turns = make_turns(said, "Done.", start=at[:16])
            found = end_session(ws, f"s-{day}", transcript=turns, project=PROJECT, captured_at=at, ended_at=at)
            quote = Provenance(HEURISTIC, found.session_token, f"t-000000000{day}", "user", "", said)
            learned = [Admission("decision", said, "project/demo", False, quote)]
            write_entries(ws, learned, at=at, origin=found.transcript_path or "", tags=(HEURISTIC,))
    connection = reader.open_index(str(tmp_path))
    assert connection.execute("select sum(standing), count(*) from book_entries where shelf = ''").fetchone() == (1, 2)
    told = recall(tmp_path, "How often does the payment webhook retry, five times with exponential backoff?")
    first, *others = told.items
    assert {one.id for one in told.considered if one.verdict == "given"} == {one.id for one in told.items}
    assert "dead letter queue" in first.text
    assert all(one.title.startswith("superseded on 2026-11") for one in others)
    assert "five times" in " ".join(one.text for one in others)
    again = recall(tmp_path, "How often does the payment webhook retry?", given=[first.id], exclude_session="s-2").items
    assert again == ()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(f"{' '.join(TALK)} {ASKED}".split()), max_size=400), st.text(max_size=200))
def test_any_prompt_gives_the_same_twice_and_stays_within_its_bounds(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], rest: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "bounds"
    if not root.exists():
        for number in range(6):
            talk(root, f"s-{number + 1}", [f"{text} Case {number}. " * 6 for text in TALK])
    prompt = f"{' '.join(words)} {rest}"
    found = recall(root, prompt)
    assert [one.id for one in found.items] == [one.id for one in recall(root, prompt).items]
    assert len(found.items) <= MAX_ITEMS
    assert sum(one.tokens for one in found.items) <= MAX_TOKENS


def test_past_the_deadline_it_fails_and_a_missing_index_is_not_created(tmp_path: Path) -> None:
    talk(tmp_path)
    connection = reader.open_index(str(tmp_path))
    with pytest.raises(sqlite3.OperationalError):
        reader.set_deadline(connection, time.monotonic() - 1)
    reader.set_deadline(connection, time.monotonic() + 0.001)
    time.sleep(0.002)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
        ).fetchone()
    with pytest.raises(sqlite3.OperationalError):
        reader.open_index(str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_a_hook_pays_for_no_regular_expression() -> None:
    program = (
        "import sys, lineage.recall.at_prompt; print(*{'re', 'dataclasses', 'typing', 'json'} & sys.modules.keys())"
    )
    asked = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    assert asked.stdout.strip() == ""


def test_a_short_number_tells_little_and_an_identifier_much() -> None:
    floor = load_floor()
    weights = [floor.weigh_everyday(word) for word in ("7", "12", "404", "2026", "77812", "0xe4")]
    assert weights == sorted(weights) and weights[:2] == [0.1, 0.1] and weights[4:] == [1.0, 1.0]


def test_endings_tell_nothing_and_signs_without_cases_are_no_names() -> None:
    floor = load_floor()
    weights = [floor.weigh_everyday(pair) for pair in ("まし", "を実", "バー", "서버", "署名")]
    assert weights == sorted(weights) and weights[1] < weights[2] < 1
    assert [Word(text, "", 1.0).is_name for text in ("署名", "서버", "Über", "EdDSA", "use_cache")] == [
        False, False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["ქართული", "ứng", "Ｑｕａｙ", "ἀρχή", "мост"])
def test_a_word_of_a_script_with_spaces_counts_as_one(word: str) -> None:
    assert (load_floor().weigh_everyday(word), Word(word, "", 1.0).is_pair) == (1.0, False)


def test_words_that_go_on_in_another_script_are_no_names() -> None:
    assert [Word(text, "", 1.0).is_name for text in ("RSAに", "EdDSAの署名", "Playwright가")] == [False] * 3
    assert all(load_floor().weigh_everyday(pair) == 0.1 for pair in ("습니", "에서", "了吗", "什么", "に"))


def test_a_path_is_a_name_in_any_script() -> None:
    for path in ("docs/設計.md", "src/テスト.py"):
        assert (Word(path, "", 1.0).is_name, load_floor().weigh_everyday(path)) == (True, 1.0)
    assert all(load_floor().weigh_everyday(sign) < 1 for sign in ("々", "〇", "ㅋㅋ"))


def test_what_meets_the_whole_prompt_needs_no_margin() -> None:
    floor = load_floor()
    met = dict.fromkeys(floor.least, 9.0) | {"margin": -0.5, "coverage": 0.9, "sentence": 0.9}
    assert floor.find_missed(met) == []
    assert floor.find_missed(met | {"coverage": 0.5}) == ["margin"]
    assert floor.find_missed(met | {"words": 1}) == ["words"]


def test_a_prompt_that_shares_endings_alone_is_given_nothing(tmp_path: Path) -> None:
    talk(tmp_path, texts=("受診日の表示が崩れていますので、直してください。", "表示を直しましたので、ご確認ください。"))
    decision = "署名にはEdDSAを使うことに決めました。RSAより鍵が短く、署名の検証も速いからです。"
    talk(tmp_path, "s-2", ("公開鍵の署名方式を選びたいです。", decision))
    assert recall(tmp_path, "天気を調べて教えてくださいますか。どうしていますか、していましたので。").items == ()
    (item, *_) = recall(tmp_path, "公開鍵の署名方式をRSAに変えたいです。EdDSAに決めた理由は検証の速さですか。").items
    assert decision in item.text


def test_names_and_the_title_count_for_a_passage(tmp_path: Path) -> None:
    talk(tmp_path)
    plain, named = (recall(tmp_path, f"Our importer loses rows, {what}?") for what in ("why", "is csv.reader why"))
    assert plain.considered[0].features["names"] == 0 < named.considered[0].features["names"]
    assert 0 < plain.considered[0].features["title"] <= 1


def test_one_word_is_no_topic_unless_it_is_a_name(tmp_path: Path) -> None:
    talk(tmp_path, texts=("Is the webhook safe?", "The webhook is idempotent: book_payment looks it up first."))
    (alone,) = recall(tmp_path, "what does idempotent mean?").considered
    assert (alone.missed, alone.features["words"]) == (["words"], 1)
    for prompt in ("Should the webhook be idempotent?", "why does book_payment exist?"):
        (found,) = recall(tmp_path, prompt).considered
        assert found.features["words"] >= 2 and "words" not in found.missed, prompt


def test_what_is_done_next_is_given_after_what_is_so(tmp_path: Path) -> None:
    said = "split the last row of the CSV where the importer misses its trailing newline"
    texts = ("Look at it.", f"We {said}.\nI'll {said}.\nWe'd {said}.")
    talk(tmp_path, texts=texts)
    found = recall(tmp_path)
    floor = load_floor()
    (one,) = (one for one in found.considered if one.verdict == "given")
    ranks = {
        one.sentences.parts[sentence.place][:5]: (sentence.narrates, floor.rank(one.measure(sentence)))
        for sentence in one.sentences.list_found(floor.deciding, floor.narrating)
    }
    assert [narrates for narrates, _ in ranks.values()] == [False, False, True, False]
    assert ranks["I'll "][1] < ranks["We'd "][1]


def test_the_number_of_an_item_stays_with_it() -> None:
    text = "Two things:\n 1. Read with csv.reader. 2. Keep the 3 dates.\nIt was in 2026. \n4. \n5\nEnd."
    parts = split_sentences(text)
    assert parts[:4] == ["Two things:\n", " 1. Read with csv.reader. ", "2. Keep the 3 dates.\n", "It was in 2026. \n"]
    assert parts[4:] == ["4. \n", "5\n", "End."]
    assert "".join(parts) == text
