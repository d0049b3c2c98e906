"""The sentence's floor, and the fallback that passes it for every session."""

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.format.digest import Digest
from lineage.core.format.sentence import (
    SentenceContext,
    base_name,
    build_fallback,
    count_words,
    extract_anchors,
    find_faults,
    is_one_sentence,
    to_plain_text,
)
from tests.support.parametrize import each
from tests.support.strategies import INVISIBLE, draw_named_tuples, draw_texts

SCRIPTS = (
    "修复登录错误。然后运行测试！", "ログインを直してください。", "로그인을 고쳐 주세요. ",
    "Исправь вход. Затем «проверь.» Потом ",
    "أصلح تسجيل الدخول؟ ", "תקן את הכניסה. ", "लॉगिन ठीक करें। ", "Διόρθωσε το. Éxito. Über ", "ʼno. Then", "x.' Then ",
    "(see a.) And ", "e.g. this. ", "a.b.C ", "... !!! ??? ", "http://x.y/z?q=1 ", "名" * 60, "ﬁ" * 50, "İ" * 50,
)  # fmt: skip
PROSE = draw_texts(*SCRIPTS)
NAMES = PROSE | st.sampled_from(["名" * 48, "a.py", "src/app.py", "..", "foo.", "A.", "C:\\x\\y.ts", "a名" * 24])
LISTS = st.lists(NAMES, max_size=6).map(tuple)
DIGESTS = draw_named_tuples(
    Digest,
    turns=st.integers(0, 10**9),
    requests=st.lists(PROSE, max_size=2).map(tuple),
    asks=st.lists(PROSE, max_size=3).map(tuple),
    outcomes=st.lists(PROSE, max_size=3).map(tuple),
    committed=PROSE,
    opened=PROSE,
    replies=st.integers(0, 10**6),
    edited_files=LISTS,
    most_edited=LISTS,
    read_files=LISTS,
    commands=LISTS,
    tools=st.lists(st.tuples(NAMES, st.integers(1, 10**6)), max_size=3).map(tuple),
    names=LISTS,
)
SETTINGS = draw_named_tuples(
    SentenceContext,
    harness=st.sampled_from(["claude-code", "codex", "generic", "pi"]),
    session_id=PROSE.filter(str.strip),
    project=st.none() | NAMES,
)
SETTING = SentenceContext("codex", "s-1", "/home/ada/demo")
ENDINGS = st.sampled_from(["ended", "was compacted"])
SENTENCE_END = re.compile(r"[.!?]['\"”’»)\]]*\s+['\"“‘«(\[]*[A-ZА-ЯÀ-ÖØ-Þ]|[。！？]")


UNSPACED = Digest(asks=("侧边栏不显示登出的按钮" * 4,) * 3, outcomes=("已将您提供的链接配置到意见反馈页面" * 4,) * 3)


WORDY = "of the old system and the new one " * 9
FULL = Digest(asks=(WORDY,) * 3, outcomes=(WORDY,) * 3, committed=WORDY, opened=WORDY)


@example(
    FULL, SentenceContext("claude-code", "s-1", "/home/ada/a very long name of a project"), "was resumed and ended"
)
@example(UNSPACED, SentenceContext("codex", "s-1", "/home/ada/demo"), "was resumed and ended")
@example(Digest(outcomes=("Исправь вход. Затем «проверь.» Потом ",)), SentenceContext("codex", "0", "0"), "ended")
@example(
    Digest(outcomes=("0 0 0 0 0 0", "Исправь вход. Затем «проверь.» Потом תקן את הכניסה. 0"), opened="名" * 60),
    SentenceContext("claude-code", "0"),
    "was compacted",
)
@given(DIGESTS, SETTINGS, ENDINGS)
def test_the_fallback_passes_the_floor_for_every_session(digest: Digest, setting: SentenceContext, ending: str) -> None:
    sentence = build_fallback(digest, setting, ending)
    assert find_faults(sentence, extract_anchors(setting, digest)) == []
    assert 12 <= len(sentence.split()) <= 48
    assert not SENTENCE_END.search(sentence)


@given(DIGESTS, SETTINGS, ENDINGS)
def test_the_fallback_is_plain_text_on_one_line(digest: Digest, setting: SentenceContext, ending: str) -> None:
    sentence = build_fallback(digest, setting, ending)
    assert not INVISIBLE.search(sentence)
    assert not re.search(r"[\[\]|<>`]|://", sentence)
    assert build_fallback(digest, setting, ending) == sentence


@pytest.mark.parametrize(
    ("digest", "sentence"),
    [
        (
            Digest(),
            "In demo, no request → no answer, and the codex session ended after 0 turns.",
        ),
        (
            Digest(turns=10_000, requests=("Why?",), asks=("Why?",), replies=1, commands=("ls",) * 9_000),
            "In demo, “Why?” → ran 9000 commands, and the codex session ended after 10000 turns.",
        ),
        (
            Digest(
                turns=1, requests=("<script>", "Why?"), edited_files=("src/a.py", "b.py", "c.py", "d.py"),
                most_edited=("d.py",),
            ),
            "In demo, “script” → edited d.py, a.py, b.py and 1 more, and the codex session ended after 1 turn.",
        ),
        (
            Digest(turns=2, requests=("8", "1, please"), replies=1),
            "In demo, “1, please” → the agent answered, and the codex session ended after 2 turns.",
        ),
        (
            Digest(turns=2, requests=("8",), replies=1),
            "In demo, a request → the agent answered, and the codex session ended after 2 turns.",
        ),
        (
            Digest(turns=4, asks=("Why is the last row lost?", "Fix it."), outcomes=("Fixed rows: it keeps it.",)),
            "In demo, “Why is the last row lost?” → “Fixed rows: it keeps it”.",
        ),
        (
            Digest(turns=4, asks=("Fix it.",), outcomes=("Fixed rows. Done",)),
            "In demo, “Fix it” → “Fixed rows – Done”, and the codex session ended after 4 turns.",
        ),
        (
            Digest(turns=4, asks=("Keep the last row.",), outcomes=("Rows are a table with:", "The last row is kept.")),
            "In demo, “Keep the last row” → “The last row is kept”.",
        ),
        (
            Digest(turns=4, asks=("hi, keep <b>rows</b> of importers",)),
            "In demo, “keep b rows /b of importers” → no answer, and the codex session ended after 4 turns.",
        ),
    ],
    ids=["empty", "long", "no words", "menu", "numbers", "outcome", "short", "leads into a list", "markup"],
)  # fmt: skip
def test_the_fallback_says_what_happened(digest: Digest, sentence: str) -> None:
    assert build_fallback(digest, SentenceContext("codex", "s-1", "/home/ada/demo")) == sentence


@each(
    ("said", "quoted"),
    [
        ("Can you please make the title blue?", "make the title blue"),
        ("Great! I've successfully moved the docs into one folder.", "moved the docs into one folder"),
        ("I would like to know who calls it: the hook or the worker?", "know who calls it: the hook or the worker"),
        ("Is the row lost?", "Is the row lost?"),
        ("Read @C:\\Users\\ada\\work\\docs\\plan.md and /home/ada/a/b/rows.py, then https://www.x.org/a?b=1 here",
         "Read …/plan.md and …/rows.py, then x.org here"),
        ("Review https://github.com/ada/demo/pull/12#files and https://gitlab.com/a/b/c/-/issues/7?x=1",
         "Review demo#12 and c#7"),
        ("Show a text (e.g. a dash) instead, vs. nothing", "Show a text (e.g a dash) instead, vs nothing"),
        ("key:: value of std::move", "key : value of std::move"),
    ],
)  # fmt: skip
def test_a_quotation_begins_with_what_is_said_and_shortens_paths_and_links(said: str, quoted: str) -> None:
    assert build_fallback(Digest(asks=(said,)), SETTING).startswith(f"In demo, “{quoted}” →")


FIXED = "Fixed the importer, which keeps every row of the table that was exported from the old system last year"


@each(
    ("said", "quoted"),
    [
        ("fix the reader of all the rows because the importer drops what stands behind the last line of the table that"
         " was exported from the old system last year", "fix the reader of all the rows"),
        ("the reader of all tables (of the old system and the new one, of the test and of the two clones of it) loses"
         " one row at the end of each month in winter",
         "the reader of all tables (of the old system and the new one, of the test and of the two clones of it)"),
        ("when the table is read again by the importer, the rows of the last year are lost so that the reader has to"
         " ask for all of the others once more",
         "when the table is read again by the importer, the rows of the last year are lost"),
        ("drop the rows of the last year and the rows of the year before it from every table, but only those that"
         " nobody has read for more than two months",
         "drop the rows of the last year and the rows of the year before it from every table"),
    ],
)  # fmt: skip
def test_what_is_too_long_is_cut_where_a_clause_ends(said: str, quoted: str) -> None:
    told = build_fallback(Digest(asks=(said,), outcomes=(f"{FIXED}.",)), SETTING)
    assert told == f"In demo, “{quoted}…” → “{FIXED}”."


def test_what_stands_in_brackets_is_left_out_where_there_is_no_room_for_it() -> None:
    aside = "(of the old system and the new one, of the test and of the two clones of it)"
    done = f"moved the reader of all tables {aside} behind the parser() that keeps the rows of each of them in memory"
    told = build_fallback(Digest(asks=("fix the reader of all the rows",), outcomes=(done,)), SETTING)
    assert "“moved the reader of all tables… behind the parser() that keeps the rows of each of them in memory”" in told
    short = build_fallback(Digest(asks=("fix the reader (of rows) now",), outcomes=("Fixed.",)), SETTING)
    assert "“fix the reader (of rows) now”" in short


def test_what_was_edited_most_is_told_where_nothing_was_committed_and_there_is_room() -> None:
    said = Digest(asks=("build the page of all the groups",), outcomes=("The list of open points is empty now",))
    edited = replace(said, edited_files=("src/a.py", "web/groups.tsx", "b.py", "c.py"), most_edited=("groups.tsx",))
    whole = "In demo, “build the page of all the groups” → “The list of open points is empty now”"
    assert build_fallback(edited, SETTING) == f"{whole}, edited groups.tsx, a.py, b.py and 1 more."
    assert build_fallback(said, SETTING) == f"{whole}."
    committed = replace(edited, committed="Add the page of all the groups")
    assert "edited" not in build_fallback(committed, SETTING)
    told = replace(said, outcomes=("Added a.py to the list",), edited_files=("src/a.py",))
    assert "edited" not in build_fallback(told, SETTING)
    other = replace(said, outcomes=("Added data.py to the list",), edited_files=("src/a.py",))
    assert build_fallback(other, SETTING).endswith("edited a.py.")
    nameless = Digest(asks=("do it",), outcomes=("It is green",), edited_files=("B",))
    setting = SentenceContext("codex", "s-1", "/x/d")
    assert find_faults(build_fallback(nameless, setting), extract_anchors(setting, nameless)) == []


def test_what_was_committed_is_told_before_what_a_message_says() -> None:
    said = Digest(asks=("fix the reader",), outcomes=("All of the tests pass",), outcome_odds=(0.06,))
    told = build_fallback(replace(said, committed="Keep the last row of every table"), SETTING)
    assert told == (
        "In demo, “fix the reader” → committed “Keep the last row of every table”, “All of the tests pass”."
    )
    alone = build_fallback(Digest(asks=("fix the reader",), committed="Keep the last row of every table"), SETTING)
    assert alone == "In demo, “fix the reader” → committed “Keep the last row of every table”."
    opened = build_fallback(replace(said, committed="Keep it", opened="Keep the last row of every table"), SETTING)
    assert opened == "In demo, “fix the reader” → opened “Keep the last row of every table”, “All of the tests pass”."


@pytest.mark.parametrize(
    "said",
    ["Committed as 7be65c9 — 3 files changed.", "All 5 commits created.", "The commit 7be65c9 is on the remote."],
)
def test_that_something_was_committed_is_not_told_beside_what(said: str) -> None:
    digest = Digest(asks=("fix the reader",), outcomes=(said,), committed="Keep the last row of every table")
    assert (
        build_fallback(digest, SETTING) == "In demo, “fix the reader” → committed “Keep the last row of every table”."
    )
    assert to_plain_text(said) in build_fallback(replace(digest, committed=""), SETTING)


@pytest.mark.parametrize(
    "said",
    [
        "Merged the two readers into one",
        "Pushed the filter down into the query",
        "The new branch predictor now works",
        "The pull request template now asks for tests",
        "Commit messages are linted now",
    ],
)
def test_what_reads_like_a_commit_and_is_a_result_is_told_beside_it(said: str) -> None:
    digest = Digest(asks=("fix the reader",), outcomes=(said,), committed="Keep the last row of every table")
    assert f"“{said}”" in build_fallback(digest, SETTING)


def test_what_is_best_stays_whole_before_others_are_quoted() -> None:
    asks = (
        "find out why and fix it, with a test",
        "use the csv module instead of splitting by hand",
        "our importer drops all of the rows of some tables",
    )
    told = build_fallback(Digest(asks=asks, outcomes=(FIXED, "Moved it.")), SETTING)
    assert told == f"In demo, “{asks[0]}”, “{asks[1]}” → “{FIXED}”."
    few = build_fallback(Digest(asks=asks, outcomes=("Mended the reader of rows",)), SETTING)
    assert few == f"In demo, “{asks[0]}”, “{asks[1]}”, “{asks[2]}” → “Mended the reader of rows”."


@given(PROSE.filter(lambda text: len(text) > 3))
def test_the_fallback_quotes_neither_whole_reply_nor_command_nor_tool(text: str) -> None:
    said = Digest(turns=3, requests=("Why?",), asks=("Why?",), replies=2)
    more = replace(said, last_reply=text, decisions=(text,), names=(text,), open_items=(text,), checks=(text,))
    setting = SentenceContext("codex", "s-1")
    assert build_fallback(more, setting) == build_fallback(said, setting)
    assert build_fallback(Digest(commands=(text,), tools=((text, 1),)), setting) == build_fallback(
        Digest(commands=("ls",), tools=(("Bash", 1),)), setting
    )


GOOD = "In demo, the agent fixed the reader so that the last line is kept, and all of the tests pass."


def test_a_good_sentence_has_no_faults() -> None:
    assert find_faults(GOOD, {"demo"}) == []


@each(
    ("sentence", "fault"),
    [
        ("In demo, it works.", "4 words, not 12 to 48"),
        ("In demo " + "word " * 50 + "end.", "53 words, not 12 to 48"),
        (GOOD.rstrip("."), "no terminal punctuation"),
        (GOOD + " Then it ended.", "not exactly one sentence"),
        (GOOD.replace(", and", ".\nAnd"), "not exactly one sentence"),
        (GOOD.replace("demo", "it"), "no concrete anchor of this session"),
        ("Investigated issue.", "a low-signal template"),
        ("  worked ON task!", "a low-signal template"),
        ("Reviewed code", "a low-signal template"),
    ],
)
def test_every_check_of_the_floor_finds_its_fault(sentence: str, fault: str) -> None:
    assert fault in find_faults(sentence, {"demo"})


def test_lesson_11_an_anchor_stands_as_a_whole_and_a_path_is_one() -> None:
    setting = SentenceContext("codex", "s-1", "/home/ada/issuewas")
    digest = Digest(edited_files=("src/app.py",), names=("#12",))
    assert "no concrete anchor of this session" in find_faults(
        "The issue was found in the session.", extract_anchors(setting, digest)
    )
    for anchor in ("issuewas", "src/app.py", "app.py", "#12", "codex", "s-1"):
        assert anchor in extract_anchors(setting, digest)
        assert "no concrete anchor of this session" not in find_faults(
            f"It was in {anchor}, they said.", extract_anchors(setting, digest)
        )
    assert "no concrete anchor of this session" in find_faults("It was in myapp.pyx and #123.", {"app.py", "#12"})
    assert "no concrete anchor of this session" not in find_faults("他修复了demo中的错误。", {"demo"})
    assert not {"session", "the", "user", "agent"} & extract_anchors(SentenceContext("codex", "0a1b"), Digest())


@pytest.mark.parametrize(
    "text", ["Use it, e.g. In tests.", "By Dr. Who.", "See app.py.", "It is v1.2.3 of i.e. Demo.", "What?!"]
)
def test_lesson_11_abbreviations_and_file_names_end_no_sentence(text: str) -> None:
    assert is_one_sentence(text)


@each("text", ["One. Two.", "Да. Нет.", "一。二。", "One.) Two.", "«Да.» Нет.", "One. Étape.", "", "a\nb."])
def test_two_sentences_are_found_in_other_scripts_too(text: str) -> None:
    assert not is_one_sentence(text)


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a b  c", 3), ("修复登录", 2), ("修复登录错 in x", 5), ("修, 复", 2)]
)
def test_a_script_without_spaces_counts_a_word_for_two_characters(text: str, count: int) -> None:
    assert count_words(text) == count


@given(PROSE)
def test_plain_text_has_no_inner_sentence_end_and_no_markup(text: str) -> None:
    shown = to_plain_text(text)
    assert not re.search(r"[`*~<>|{}\[\]\\]|#(?!\d)|://|(?<![^\W_])_|_(?![^\W_])", shown)
    assert not SENTENCE_END.search(shown)


@pytest.mark.parametrize("path", ["/home/ada/demo", "/home/ada/demo/", r"C:\work\demo", "demo"])
def test_a_base_name_is_the_last_part_of_any_path(path: str) -> None:
    assert base_name(path) == "demo"
