"""WordPiece: the tokenizer of BERT's vocabularies, without case and accents."""

import unicodedata
from collections.abc import Iterator, Mapping

_UNKNOWN, _CLS, _SEP = "[UNK]", "[CLS]", "[SEP]"
_MAX_WORD_LENGTH = 100
_HAN = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def encode(text: str, vocabulary: Mapping[str, int], max_tokens: int) -> list[int]:
    """Return the token numbers of a text between CLS and SEP, at most `max_tokens` in all."""
    tokens = [vocabulary[_CLS]]
    for word in _split_words(text):
        tokens += _encode_word(word, vocabulary)
        if len(tokens) >= max_tokens:
            break
    return [*tokens[: max_tokens - 1], vocabulary[_SEP]]


def _split_words(text: str) -> Iterator[str]:
    """Yield the words of a text, each sign and each Han character by itself.

    >>> list(_split_words("Köln's app.py 修正"))
    ['koln', "'", 's', 'app', '.', 'py', '修', '正']
    """
    # Control characters and undecodable ones go, as in the models' own training.
    printable = (c for c in text if c in "\t\n\r" or (unicodedata.category(c)[0] != "C" and c != "\ufffd"))
    spaced = "".join(f" {char} " if _is_han(char) else " " if char.isspace() else char for char in printable)
    for word in spaced.split():
        plain = (c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")
        yield from "".join(f" {char} " if _is_sign(char) else char for char in plain).split()


def _is_han(char: str) -> bool:
    # The comparison spares most characters the look into all ranges.
    return char > "\u33ff" and any(first <= ord(char) <= last for first, last in _HAN)


def _is_sign(char: str) -> bool:
    return (char < "\x80" and char.isprintable() and not char.isalnum()) or unicodedata.category(char)[0] == "P"


def _encode_word(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Split a word into the longest pieces of the vocabulary, or return the unknown word's number."""
    unknown = [vocabulary[_UNKNOWN]]
    if len(word) > _MAX_WORD_LENGTH:
        return unknown
    tokens: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return unknown
        tokens.append(vocabulary[prefix + word[start:end]])
        start = end
    return tokens
