"""Finding it again: passages, forms, typing mistakes, scripts without spaces, filters, and how much work that is.

What each guard rests on:
- a passage with its turns: `texts_of`; a session once, its passages together: `_results` in index/searching.py.
- a word without a hit: `_replaced` in index/terms.py. Scripts without spaces: `segmented` in index/texts.py.
- filters: index/filtering.py. Ties: the order in `_results` and in `_RANKED`.
- common words: `build_choosing_expression`; what it leaves out is found where there is room: the second look in `hits`.
"""

import pytest

from lineage.core.base import naming
from lineage.core.books.entry import TASK
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import InputPart, Turn
from lineage.index import Index
from lineage.index.fts_query import Ranking
from tests.contracts.test_index_books import book, files
from tests.support.artifacts import AT, add_to_index, make_artifact, make_identity
from tests.support.books import make_entry
from tests.support.indexes import POSTGRES, SQLITE

LATER = "2026-11-21T10:30:00.000Z"


def said(session: str, *texts: str, **more: object) -> Artifact:
    turns = [Turn("user", text, AT, id=f"t-{number:010d}", number=number) for number, text in enumerate(texts, 1)]
    return make_artifact(naming.TRANSCRIPT, session, body=transcript.render_turns("[[l]]", turns), **more)


def called(session: str, name: str, result: str, *parts: InputPart, line: str = "", at: str = AT) -> Artifact:
    """A transcript of a call and its result."""
    call = Turn("assistant", "", at, name=name, input=line, parts=parts, id="t-0000000001", number=1)
    turns = [call, Turn("tool", result, at, name=name, id="t-0000000002", number=2, call=1)]
    return make_artifact(naming.TRANSCRIPT, session, at, title="t", body=transcript.render_turns("[[l]]", turns))


def summary(session: str, text: str, at: str = AT, **more: object) -> Artifact:
    return make_artifact(session=session, at=at, body=f"[[l]]\n{text}\n", **more)


def found(index: Index, text: str, agent: str | None = None) -> list[str | None]:
    return [hit.entry.text if hit.entry else hit.session_id for hit in index.search(text, agent, limit=50)]


def test_a_passage_of_a_long_transcript_is_shown_with_its_turns(index: Index) -> None:
    texts = [f"words about matter{number} " * 20 for number in range(1, 31)]
    add_to_index(index, said("long", *texts))
    (hit,) = index.search("matter17", None, limit=5)
    assert hit.turns
    assert hit.turns[0] <= 17 <= hit.turns[1]
    assert hit.turns[1] - hit.turns[0] < 5
    assert "matter17" in hit.snippet
    add_to_index(index, said("long", "nothing of it"))
    assert found(index, "matter17") == []


def test_a_session_is_one_result_and_passages_are_several(index: Index) -> None:
    add_to_index(index, said("one", *["apples " * 200] * 3), summary("one", "apples"))
    assert found(index, "apples") == ["one"]
    assert len(index.search("apples", None, limit=50, by_passage=True)) > 3


def test_of_equals_the_newest_goes_first_however_many_there_are(index: Index) -> None:
    days = [f"2026-{month:02d}-{day:02d}T10:00:00.000Z" for month in range(1, 11) for day in range(1, 29)]
    add_to_index(index, *(summary(f"a{number:03d}", "pears", at, title="t") for number, at in enumerate(days)))
    hits = index.search("pears", None, limit=5)
    assert [hit.membership_ts for hit in hits] == sorted(days, reverse=True)[:5]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("the parser was configured", "configuration parsers"),
        ("see snake_case in src/app.py", "src/app.py"),
        ("see snake_case in src/app.py", "snake_case"),
        ("raised a TypeError twice", "typeerror"),
        ("the configuration of it", "configuraton"),
        ("the parser broke", "prser"),
        ("a deserializer", "deserial"),
        ("Die Zeilen fehlen", "warum fehlt die Zeile"),
        ("as configurações somem", "configuração"),
        ("les journaux", "le journal"),
        ("las sesiones caducan", "una sesión"),
        ("最后一行丢失了", "最后"),
        ("csv解析器坏了", "解析"),
        ("ログイン画面で文字化け", "文字化け"),
        ("메모리를 저장", "메모리"),
    ],
)
def test_what_is_meant_is_found(index: Index, text: str, asked: str) -> None:
    add_to_index(
        index, summary("right", text, title="", memory_sentence=""), summary("wrong", "something else", title="")
    )
    assert found(index, asked) == ["right"]


def test_what_only_an_edit_or_a_written_file_holds_is_found_with_its_turns(index: Index) -> None:
    edit = InputPart("limit = read_quota_ceiling()\n", old="limit = 7\n")
    written = InputPart("class TariffLedger: ...\n", "python")
    add_to_index(index, called("edit", "Edit", "ok", edit, line="src/a.py"), called("write", "Write", "ok", written))
    assert found(index, "read_quota_ceiling") == ["edit"]
    assert found(index, "TariffLedger") == ["write"]
    (hit,) = index.search("read_quota_ceiling", None, limit=5)
    assert (hit.turns, "read_quota_ceiling" in hit.snippet.replace("\x02", "").replace("\x03", "")) == ((1, 2), True)


def test_what_is_said_goes_before_what_tools_were_given_and_gave(index: Index) -> None:
    """Fails without `KIND_WEIGHT`: what a tool gives says it oftener, and is newer."""
    text = "the ledger lost its last row"
    add_to_index(
        index,
        said("person", text, title="t"),
        called("result", "Bash", f"{text} {text}", at=LATER),
        called("input", "Write", "ok", InputPart(f"{text}: {text}"), at=LATER),
        summary("other", "quite something else"),
        summary("another", "and another thing"),
    )
    assert found(index, "ledger last row")[0] == "person"
    assert {"result", "input"} < set(found(index, "ledger last row"))


def test_a_command_that_is_the_object_of_its_call_is_held_once(index: Index) -> None:
    command = "pytest -q tests/unit"
    add_to_index(index, called("one", "Bash", "", InputPart(command, "bash"), line=command))
    (row,) = index.search("pytest", None, limit=5, by_passage=True)
    assert "".join(text for text, _ in row.split_snippet()) == f"Bash {command}\nBash"


def test_no_word_stands_for_another_that_is_there(index: Index) -> None:
    add_to_index(index, summary("one", "parser"), summary("two", "parse parsers parsed"), summary("three", "sparse"))
    assert "three" not in found(index, "parser")


def test_snippets_of_scripts_without_spaces_are_as_they_were_written(index: Index) -> None:
    add_to_index(index, summary("one", "分词器把整句话当成一个词"))
    (hit,) = index.search("整句", None, limit=5)
    assert "\u200b" not in hit.snippet
    assert "\x02整句\x03" in hit.snippet


def test_phrases_have_to_be_there_and_exclusions_must_not(index: Index) -> None:
    add_to_index(index, summary("one", "the last line of it"), summary("two", "line by line to the last draft"))
    assert found(index, '"last line" draft') == ["one"]
    assert found(index, "line -draft") == ["one"]
    assert found(index, "-draft") == []


def test_filters_narrow_what_is_found_and_list_by_themselves(index: Index) -> None:
    add_to_index(index, summary("one", "apples", project="/home/ada/demo"))
    add_to_index(index, summary("two", "apples", LATER, project="/home/ada/other", agent_id="ann"))
    scope = "project/demo"
    tasks = [make_entry(scope, TASK, "eat apples")]
    index.index_books([files(use=book(*tasks, scope=scope, kind=TASK))])
    expected: dict[str, set[str | None]] = {
        "apples project:demo": {"one", "eat apples"},
        "apples project:DEMO is:session": {"one"},
        "apples agent:ann": {"two"},
        "apples since:2026-11-21": {"two"},
        "apples until:2026-11-20": {"one", "eat apples"},
        "apples is:task": {"eat apples"},
        "apples is:open": {"eat apples"},
        "apples is:done": set(),
        "apples kind:entry": {"eat apples"},
        "apples kind:summary": {"one", "two"},
        "apples kind:summary kind:task": {"one", "two", "eat apples"},
        "is:task": {"eat apples"},
        "project:other": {"two"},
        "project:%": set(),
    }
    assert {asked: set(found(index, asked)) for asked in expected} == expected
    assert found(index, "is:session") == ["two", "one"]
    assert found(index, "apples agent:ann", "default") == []


def test_filters_open_no_door_to_what_is_private(index: Index) -> None:
    add_to_index(index, summary("hidden", "apples", private=True), summary("trial", "apples", project="/tmp/x"))
    scope = f"session/{make_identity('hidden').token}"
    index.index_books([files(use=book(make_entry(scope, "note", "apples"), scope=scope, kind="note"))])
    for asked in ("apples", "is:session", "is:entry", "kind:note", '"apples"', "project:demo", "aples", "project:x"):
        assert found(index, asked) == [], asked


def test_common_words_alone_still_find_all(index: Index) -> None:
    ranking = Ranking(budget=2, common=6)
    texts = ["apples pears"] * 5 + ["apples plums"] * 5 + ["rare apples"]
    add_to_index(index, *(summary(f"a{number:02d}", text, title="") for number, text in enumerate(texts)))
    hits = index.search("apples pears plums rare", None, limit=50, ranking=ranking)
    assert (len(hits), hits[0].session_id) == (11, "a10")
    (best,) = index.search("apples pears plums rare", None, limit=1, ranking=ranking)
    assert best.session_id == "a10"


def test_a_result_with_all_words_goes_before_one_with_a_rare_word(index: Index) -> None:
    texts = [
        *["apples and pears"] * 8,
        *["plums"] * 8,
        "a zebra, that zebra",
        "apples, a pear for one zebra so so so",
    ]
    add_to_index(index, *(summary(f"a{number:02d}", text, title="") for number, text in enumerate(texts)))

    def find_first(question: str, coverage: float) -> str | None:
        return index.search(question, None, limit=1, ranking=Ranking(coverage=coverage))[0].session_id

    question = "the zebras, an apple and pears"
    assert [find_first(question, coverage) for coverage in (0.0, Ranking().coverage)] == ["a16", "a17"]
    assert find_first("zebra", Ranking().coverage) == "a16"


def test_a_snippet_shows_rare_words_where_many_match(index: Index) -> None:
    ranking = Ranking(budget=2, common=6)
    texts = ["apples pears"] * 5 + ["apples " * 40 + "a zebra"]
    add_to_index(index, *(summary(f"a{number:02d}", text, title="") for number, text in enumerate(texts)))
    for question, marked in (("apples zebra", ["zebra"]), ("apples apple", ["apples"])):
        (hit,) = index.search(question, None, limit=1, ranking=ranking)
        assert sorted({text for text, is_match in hit.split_snippet() if is_match}) == marked


def test_a_search_is_a_few_statements(engine: str, index: Index) -> None:
    """Over a network each costs a way there and back: none for each result there."""
    add_to_index(index, *(summary(f"a{number:02d}", "apples and pears") for number in range(30)))
    statements: list[str] = []
    with index.trace_statements(statements.append):
        index.search("apples pears", None, limit=10)
    assert len(statements) == {SQLITE: 4 + 10, POSTGRES: 6}[engine]
