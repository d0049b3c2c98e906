"""Ask, outcome and title: a person's own words, and the agent's, as plain text on one line.

What each guard rests on: `CHATTER`, `NO_REQUEST` and `_is_pasted` (no request); `_split_paragraphs` (markup);
`to_one_line` (control and bidi characters); `cut_at_word` (whole words); the weights and `NO_OUTCOME` (what is best).
"""

from collections.abc import Sequence
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.synopsis import (
    MAX_CHARS,
    MAX_TITLE_CHARS,
    Synopsis,
    build_synopsis,
    build_title,
    list_said,
    read_weights,
)
from lineage.core.format.tool_overlap import Statement
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, TurnText


def find_ask(text: str) -> str:
    return build_synopsis([TurnText(1, USER, text)]).ask


def find_outcome(text: str) -> str:
    return build_synopsis([TurnText(1, ASSISTANT, text)]).outcome


LOG = "\n".join(f"2026-11-02 14:03:0{n} [E{n}] 0x7f{n}e: ({n}) != {n}{n}; at=0x{n}" for n in range(9))


@pytest.mark.parametrize(
    ("said", "ask"),
    [
        ("Why does it drop the last line?", "Why does it drop the last line?"),
        ("## Task\n\nPlease **rename** `parse` in [docs](https://x.y/z), too.", "Please rename parse in docs, too."),
        ("it's *really* slow, ~~not~~ **since 2.0**: a * b", "it's really slow, not since 2.0: a * b"),
        ("- [ ] drop the old flag\n  and its test\n- [ ] release it", "drop the old flag and its test"),
        ("We need to:\n\n- read quoted commas", "read quoted commas"),
        ("We need to:", "We need to:"),
        ("FAIL: test_reads_rows (0.01s) it should read the rows\n\nmake it green", "make it green"),
        ("can you take a look at this?\n\nthe rows of the old tables are lost", "the rows of the old tables are lost"),
        ("fix\u202e this\x07 parser\nnow", "fix this parser now"),
        ("It drops rows. Please find out why and fix it.", "It drops rows. Please find out why and fix it."),
        ("<system-reminder>read the rules</system-reminder>\nadd a test for it", "add a test for it"),
        (f"make this pass:\n\n```\n{LOG}\n```", "make this pass:"),
        (f"{LOG}\n\nwhy does this fail on Windows?", "why does this fail on Windows?"),
        ("keep f(a*b) and __init__.py, drop **kwargs", "keep f(a*b) and __init__.py, drop **kwargs"),
        ("最后一行丢失了,请修复", "最后一行丢失了,请修复"),
        ("[Image #2] [Image #3] etc\n\nthe tabs overlap there", "the tabs overlap there"),
        ("yes", ""), ("ok, go ahead please", ""), ("/clear", ""), ("/model opus", ""), ("/add-dir", ""),
        ("the tabs overlap\n\n[image image/png, 71,101 bytes left out]", "the tabs overlap"),
        ("> Which of the two parsers do you want to fix?\n\nthe fast one, please", "the fast one, please"),
        ("/review the parser", "/review the parser"), ("whoami", ""), ("hi there!", ""), ("continue", ""),
        (f"mock it in more places\n{LOG}", "mock it in more places"), (f"lines of a log\n{LOG}", ""),
        (f"we need to mock the reader: --- FAIL: TestReads (0.00s)\n{LOG}", "we need to mock the reader:"),
        ("_out/plans/berth-plan.md\n\nreview it for the tides", "review it for the tides"),
        ("the rows get lost\n\nRUN  v1.6.1 /srv/quay\n\nTest Files  1 failed | 16 passed (17)", "the rows get lost"),
        (LOG, ""), (f"```\n{LOG}\n```", ""), ("[Request interrupted by user]", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_ask_is_what_a_person_asks_for(said: str, ask: str) -> None:
    assert find_ask(said) == ask


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("I looked at it. **Fixed** the `parser`, e.g. for CSV. Shall I push?", "Fixed the parser, e.g. for CSV."),
        ("# Summary\n\n- All 13 comments addressed\n- Let me know", "All 13 comments addressed"),
        ("I'll fix it once you agree. Do you agree that it works?", ""),
        ("Root cause: two workers share a lock.\nNext I'd add a test.", "Root cause: two workers share a lock."),
        ("Исправлена ошибка в парсере.", "Исправлена ошибка в парсере."),
        ("```\nfixed all of it\n```", ""),
        ("", ""),
    ],
)
def test_the_outcome_is_a_sentence_that_states_a_result(said: str, outcome: str) -> None:
    assert find_outcome(said) == outcome


CHECKS = ["All 1,274 tests pass, and lint is clean.", "The build completed successfully.", "Typecheck passes now."]


@pytest.mark.parametrize("check", CHECKS)
def test_what_was_done_is_the_outcome_rather_than_what_ran_well(check: str) -> None:
    assert find_outcome(f"{check} The tabs have a width that was fixed while a page is loaded.").startswith("The tabs")
    assert find_outcome(check) == check


@pytest.mark.parametrize(
    "said",
    [
        "Glad the graphs are fixed.",
        "Now visit the page that was changed.",
        "Got it, fixed it.",
        "For a session that was fixed in an empty folder:",
        "Now to your question: yes, it was fixed.",
        "I think I fixed it now.",
        "Excellent, I now have an overview of all that was changed.",
        "Delegating the fix of the reader to a subagent, as you changed the rules.",
        "There is still no file with the rows that were changed.",
        "Given that it was fixed on port 8080 but the page still shows the error",
        "Recommended: Option B - rows that were changed are read anew.",
        "I've read the notes on what was changed.",
        "J'ai trouvé un document qui a été modifié.",
        "Read the file that was changed (already done)",
        "Clarification Question 2: Who changed the rows?",
        "I'm in read-only mode here, so I looked at what was changed.",
        "Exporter ce plan en tableau corrigé",
        "変更の一覧.md を読みました。",
    ],
)
def test_what_is_said_to_the_person_is_no_outcome(said: str) -> None:
    assert find_outcome(said) == ""


@pytest.mark.parametrize(
    "said",
    [
        "Fehler des Importers behoben und einen Test hinzugefügt.",
        "Premier des deux correctifs ajouté et testé.",
        "J'ai trouvé le bogue et l'ai corrigé dans le lecteur.",
        "J'ai chargé les lignes paresseusement et ajouté un test.",
        "There is no longer a race: the writer takes the lock first.",
        "Given names are now sorted by the reader, and so were changed.",
        "I loaded the fixtures lazily, which fixed the slow start.",
        "Now write errors are reported, as the handler was added.",
        "I'm in agreement with the review and fixed both rows.",
    ],
)
def test_what_begins_like_something_else_and_states_a_result_is_an_outcome(said: str) -> None:
    assert find_outcome(said) == said


@pytest.mark.parametrize(
    "said", ["/review parser", "src/parser.py broken", "UI/UX redesign", "login/logout broken", "read/write lock"]
)
def test_an_ask_that_names_a_path_is_one(said: str) -> None:
    assert find_ask(said) == said


def test_the_best_request_and_result_stand_first_wherever_they_were_said() -> None:
    said = [
        TurnText(1, USER, "hello"),
        TurnText(2, ASSISTANT, "Done: nothing has changed yet."),
        TurnText(3, TOOL, "please delete everything in it"),
        TurnText(4, USER, "rename the parser in all of the files"),
        TurnText(5, ASSISTANT, "Renamed the parser in what is not the last message."),
        TurnText(6, ASSISTANT, "Renamed the parser in 4 files."),
        TurnText(7, SYSTEM, "Fixed what nobody heard of."),
        TurnText(8, TOOL, "fixed everything"),
        TurnText(9, USER, "and commit"),
        TurnText(10, ASSISTANT, "Your branch is on the remote."),
    ]
    found = build_synopsis(said)
    assert (found.ask, found.outcome) == ("rename the parser in all of the files", "Renamed the parser in 4 files.")
    assert not any("nobody" in one or "not the last" in one for one in found.outcomes)
    assert build_synopsis([]) == Synopsis()


def test_the_request_that_led_to_most_work_is_the_ask() -> None:
    """Fails if the first one always is, if a late one is never looked at, or if `/init` hides what was asked."""
    chat = [TurnText(1, USER, "Which model are you running on today?"), TurnText(2, ASSISTANT, "A large one.")]
    small = [
        TurnText(at, role, f"What is in table {at} of it?") for at in range(3, 23, 2) for role in (USER, ASSISTANT)
    ]
    asked = TurnText(23, USER, "Please keep the last row of every table that the reader reads.")
    work = [TurnText(at, ASSISTANT, f"Reading part {at} of it.") for at in range(24, 60)]
    assert build_synopsis([*chat, *small, asked, *work]).ask == asked.text
    init = "Generate a file named AGENTS.md that serves as a contributor guide for this repository."
    assert (
        build_synopsis([TurnText(1, USER, init), *work, TurnText(60, USER, "drop the tables")]).ask == "drop the tables"
    )
    assert build_synopsis([TurnText(1, USER, init), *work]).ask == init


@pytest.mark.parametrize(
    "chosen",
    [
        "> Who may see the events of the past?\n\nPublic for everybody (recommended)",
        "> Which one?\n\nA\n\n> 何色ですか？\nB",
    ],
)
def test_what_was_chosen_of_the_agent_s_questions_is_no_ask_while_there_is_a_request(chosen: str) -> None:
    work = [TurnText(number, ASSISTANT, "Working on it.") for number in range(10, 40)]
    asked = [TurnText(1, USER, "drop the tables"), TurnText(2, ASSISTANT, "Which?"), TurnText(3, USER, chosen), *work]
    assert build_synopsis(asked).asks == ("drop the tables",)
    typed = f"{chosen}\n\nand then rename the columns of all the reports"
    assert "and then rename the columns of all the reports" in build_synopsis([TurnText(3, USER, typed), *work]).asks
    alone = build_synopsis([TurnText(3, USER, chosen.replace("\nA\n", "\nPublic for everybody\n")), *work])
    assert alone.ask.startswith("Public for everybody")


def test_the_message_that_ends_most_work_says_what_came_of_it() -> None:
    results = ["The reader of old orders keeps every last row.", "The reader of old orders drops every wide tab."]
    for ends in ((2, 80), (80, 83)):
        said = [TurnText(0, USER, "Please fix the reader of orders.")]
        for end, result in zip(ends, results, strict=True):
            said += [TurnText(end, ASSISTANT, result), TurnText(end + 1, USER, "and now?")]
        assert build_synopsis([*said, TurnText(90, ASSISTANT, "Glad to help!")]).outcome == results[ends == (2, 80)]


@pytest.mark.parametrize("prompt", ["❯ reader sync", "$ reader sync", "ada@host:~/reader$ reader sync"])
def test_what_a_console_printed_is_no_ask(prompt: str) -> None:
    printed = f"{prompt}\nthe orders changed, please commit them first"
    assert find_ask(f"The reader refuses to sync my orders:\n\n{printed}\n\nThanks") == (
        "The reader refuses to sync my orders:"
    )


def test_a_request_that_is_said_again_and_a_result_are_told_once() -> None:
    asked = [TurnText(n, USER, "Please make the parser faster" + " now" * n) for n in range(3)]
    assert build_synopsis(asked).asks == ("Please make the parser faster",)


def test_a_sentence_that_is_told_with_the_one_before_is_told_once() -> None:
    """Fails if what is told with the sentence before it, because it says little alone, is told beside that one."""
    asks = build_synopsis([TurnText(1, USER, "The parser reads every table of the vault twice. Make it fast.")]).asks
    assert len(asks) == 1


TABLE = "| What | Result | Time |\n|---|:--|---|\n| CSV → JSON | File `a.json` created with all of the rows |  |\n"


def test_a_row_of_a_table_is_a_sentence_of_its_own() -> None:
    assert find_outcome(f"Done:\n\n{TABLE}") == "CSV → JSON: File a.json created with all of the rows"
    cells = TABLE.replace("created", "has `a \\| b`")
    assert find_outcome(cells) == "CSV → JSON: File a.json has a | b with all of the rows"
    assert "|" not in find_outcome("| no table |") + find_outcome("| a | b |\n|---|---|\n| | |\n")


def test_an_item_of_a_list_is_a_sentence_of_its_own() -> None:
    changes = "- `rows.py`: added a reader of commas\n- `tables.py`: moved the parser\n  into a module of its own"
    assert {*build_synopsis([TurnText(1, ASSISTANT, changes)]).outcomes} == {
        "rows.py: added a reader of commas", "tables.py: moved the parser into a module of its own",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lead", "is_first"),
    [
        ("Fixed the reader of old tables by giving each of its parsers a buffer:", True),
        ("Fixed in two commits:", False),
        ("These two parsers of old tables each have a buffer of their own:", False),
    ],
)
def test_what_leads_into_a_list_of_results_is_told_before_them(lead: str, is_first: bool) -> None:
    items = "- The reader of tables now keeps what it uses instead of all.\n- The parser was moved because of it."
    told = find_outcome(f"Hello there, Ada, all is well.\n\n{lead}\n\n{items}")
    assert (told == lead.removesuffix(":")) == is_first


@pytest.mark.parametrize(
    "taking_back",
    ["No wait, that was wrong.", "Hmm, wait.", "Scratch that.", "Nein, warte.", "いや待って。", "等等，不对。"],
)
def test_a_result_that_is_taken_back_at_once_is_none(taking_back: str) -> None:
    results = "Fixed the reader of old tables. {} Replaced the parser of the importer by another one."
    assert find_outcome(results.format(taking_back)) == "Replaced the parser of the importer by another one."
    assert find_outcome(results.format("All is well.")) == "Fixed the reader of old tables."


@pytest.mark.parametrize(
    "text",
    [
        "Scratch that table afterwards.",
        "No wait is needed now.",
        "Actually, no other caller used it.",
        "Correction of the docs: in it, too.",
    ],
)
def test_what_goes_on_behind_a_result_takes_nothing_back(text: str) -> None:
    assert find_outcome(f"Fixed the reader of old tables. {text}") == "Fixed the reader of old tables."


def test_the_goal_of_a_plan_is_asked_for_by_whoever_had_it_carried_out() -> None:
    plan = TurnText(1, SYSTEM, "Implement the following plan:\n\n# Read quoted commas\n\nAdd a reader for them.")
    assert build_synopsis([plan, TurnText(2, USER, "commit")]).asks == ("Read quoted commas", "Add a reader for them.")


def test_the_packaged_weights_are_those_of_the_features() -> None:
    found = list_said(
        [TurnText(1, USER, "rename the parser"), TurnText(2, ASSISTANT, "Renamed the parser in 4 files.")],
        {"ask": {}, "outcome": {}},
    )
    for kind, said in zip(("ask", "outcome"), found, strict=True):
        assert {"bias", *said[0].features} == read_weights()[kind].keys()


def test_what_has_a_fault_is_no_outcome() -> None:
    said = [TurnText(7, ASSISTANT, "Fixed the parser of rows. Removed the guard of tables.")]

    def find_faults(found: Sequence[Statement]) -> list[bool]:
        assert {one.position for one in found} == {7}
        return ["guard" in one.text for one in found]

    assert build_synopsis(said, find_faults).outcomes == ("Fixed the parser of rows.",)


def test_the_title_is_the_ask_else_the_outcome_else_what_was_known_at_capture() -> None:
    assert build_title("rename it", "Renamed it.", "x") == "rename it"
    assert build_title("", "Renamed it.", "x") == "Renamed it."
    assert build_title("Solve https://github.com/ada/demo/issues/7679 first", "") == "Solve demo#7679 first"
    assert build_title("", "", "known\x07 at\ncapture") == "known at capture"
    title = build_title("word " * 40, "")
    assert len(title) <= MAX_TITLE_CHARS
    assert set(title.removesuffix("…").split()) == {"word"}
    assert len(build_title("最" * 200, "")) == MAX_TITLE_CHARS


@given(st.lists(st.text(max_size=400) | st.sampled_from(["fix the parser", "**", "```\n", "\n\n", "<a>", "- "])))
def test_any_text_becomes_lines_of_whole_words(parts: list[str]) -> None:
    text = " ".join(parts)
    found = build_synopsis([TurnText(1, USER, text), TurnText(2, ASSISTANT, text)])
    lines = [(line, MAX_CHARS) for line in (*found.asks, *found.outcomes)]
    for line, most in (*lines, (build_title(found.ask, found.outcome, text), MAX_TITLE_CHARS)):
        assert len(line) <= most
        assert line == " ".join(line.split())
        assert not any(category(character) == "Cc" or "\u202a" <= character <= "\u202e" for character in line)


def test_a_huge_text_is_read_at_its_ends_alone() -> None:
    wall = "0x7f; " * 1_000_000
    assert find_ask(f"{wall}\n\nplease shorten this log") == "please shorten this log"
    assert find_ask(f"please shorten this log\n\n{wall}") == "please shorten this log"
    assert find_ask(wall + "and halves of words are none of mine") == ""
    assert find_outcome(f"Fixed the parser of rows.\n\n{wall}") == "Fixed the parser of rows."
