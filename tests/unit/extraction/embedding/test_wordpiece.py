"""WordPiece as BERT's own tokenizer cuts: case, accents, signs, Han, pieces, what is unknown, and the bound."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.extraction.embedding.wordpiece import encode
from tests.support.parametrize import each

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "koln", "pars", "##er", "##s", "修", ".", "_", "a", "##b", "'"]
VOCABULARY = {word: number for number, word in enumerate(WORDS)}


def pieces(text: str, most: int = 64) -> list[str]:
    return [WORDS[number] for number in encode(text, VOCABULARY, most)][1:-1]


@each(
    ("text", "expected"),
    [
        ("", []),
        ("Parsers", ["pars", "##er", "##s"]),
        ("KÖLN Ko\u0308ln", ["koln", "koln"]),
        ("a_a.a", ["a", "_", "a", ".", "a"]),
        ("修修a", ["修", "修", "a"]),
        ("parsing", ["[UNK]"]),
        ("a\x00b\u200b\ufffd", ["a", "##b"]),
        ("a" * 101, ["[UNK]"]),
        ("a\ta\na", ["a", "a", "a"]),
        ("’ '", ["[UNK]", "'"]),
    ],
)
def test_a_text_is_cut_as_expected(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@given(st.text(), st.integers(2, 20))
def test_any_text_begins_ends_and_keeps_to_the_bound(text: str, most: int) -> None:
    found = encode(text, VOCABULARY, most)
    assert len(found) <= most
    assert (found[0], found[-1]) == (VOCABULARY["[CLS]"], VOCABULARY["[SEP]"])
    assert found[:-1] == encode(text, VOCABULARY, 10_000)[: len(found) - 1]
