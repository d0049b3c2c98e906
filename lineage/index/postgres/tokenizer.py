"""The words of texts and of queries, cut by SQLite's own tokenizer in memory: both engines find by the same words, and
show the same snippets.

Words are told apart by their first characters; of an entry that is longer than a chapter the beginning is found. A
text's vector holds a word's places with the weight of its column: A for titles, B for sentences, C for bodies.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lineage.core.search.segmentation import remove_separators
from lineage.index.fts_rows import BODY_COLUMN, TOKENIZER, FtsRow
from lineage.index.text_search import SNIPPET_MARKS, SNIPPET_WORDS

_MAX_WORD_LENGTH, _MAX_WORDS = 40, 6_000  # characters of a word and words of a text: a vector holds a megabyte
_MAX_POSITION = 16_383
_TABLES = f"""
    create virtual table texts using fts5(title, sentence, body, content = '', tokenize = '{TOKENIZER}');
    create virtual table places using fts5vocab(texts, instance);
    create virtual table shown using fts5(title, sentence, body, tokenize = '{TOKENIZER}');
"""
_POSITION_OFFSETS = "case col when 'title' then 1 when 'sentence' then 1001 else 2001 end"
_WEIGHTS = "case col when 'title' then 'A' when 'sentence' then 'B' else 'C' end"
_VECTORS = f"""
    select doc, group_concat(lexeme, ' '), sum(words) from (
        select doc, '''' || substr(term, 1, {_MAX_WORD_LENGTH}) || ''':'
            || group_concat(min({_POSITION_OFFSETS} + offset, {_MAX_POSITION}) || {_WEIGHTS}) as lexeme,
            count(*) as words
        from places where offset < {_MAX_WORDS} group by doc, term)
    group by doc
"""
_COUNTS = f"""
    select substr(term, 1, {_MAX_WORD_LENGTH}), count(distinct doc) from places where offset < {_MAX_WORDS} group by 1
"""
_PHRASES = f"select doc, substr(term, 1, {_MAX_WORD_LENGTH}) from places order by doc, offset"
_SNIPPET = f"snippet(shown, {{}}, '{SNIPPET_MARKS[0]}', '{SNIPPET_MARKS[1]}', ' … ', {SNIPPET_WORDS})"
_SNIPPETS = f"select {_SNIPPET.format(BODY_COLUMN)}, {_SNIPPET.format(-1)} from shown where shown match ?"
_QUOTED = re.compile(r'"([^"]*)"( \*)?')
_OPERATORS = {" OR ": " | ", " AND ": " & ", ") NOT ": ") & !"}
_EMPTY_LEXEME = "''''"


class TokenizedTexts(NamedTuple):
    """Texts as they are found: number → (vector, how many words), and word → in how many of the texts it is."""

    vectors: Mapping[int, tuple[str, int]]
    counts: Mapping[str, int]


class Tokenizer:
    """The tokenizer. One for an index, used by one thread at a time."""

    def __init__(self) -> None:
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._memory.executescript(_TABLES)

    def close(self) -> None:
        self._memory.close()

    def tokenize(self, texts: Iterable[FtsRow]) -> TokenizedTexts:
        self._insert(
            "insert into texts (rowid, title, sentence, body) values (?, ?, ?, ?)", (text[:4] for text in texts)
        )
        try:
            vectors = {doc: (vector, words) for doc, vector, words in self._memory.execute(_VECTORS)}
            return TokenizedTexts(vectors, dict(self._memory.execute(_COUNTS)))
        finally:
            self._clear()

    def build_queries(self, expressions: Sequence[str]) -> list[str]:
        """The expressions of `index.query` as the server's queries. A phrase without a word is found nowhere."""
        parts = [match for expression in expressions for match in _QUOTED.finditer(expression)]
        phrases = self._tokenize_phrases(list(dict.fromkeys(match[1] for match in parts)))
        return [_build_query(expression, phrases) for expression in expressions]

    def build_snippet(self, expression: str, title: str, sentence: str, body: str) -> tuple[str, bool]:
        """Where the words are, marked, and whether that is the body; elsewhere only where it has none of them, and ""
        where nothing has."""
        self._insert("insert into shown (title, sentence, body) values (?, ?, ?)", [(title, sentence, body)])
        try:
            said, elsewhere = self._memory.execute(_SNIPPETS, (expression,)).fetchone() or ("", "")
            return (
                (remove_separators(said), True) if SNIPPET_MARKS[0] in said else (remove_separators(elsewhere), False)
            )
        finally:
            self._memory.execute("delete from shown")

    def _tokenize_phrases(self, phrases: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {phrase: [] for phrase in phrases}
        self._insert("insert into texts (rowid, body) values (?, ?)", enumerate(phrases))
        try:
            for place, word in self._memory.execute(_PHRASES):
                found[phrases[place]].append(word)
            return found
        finally:
            self._clear()

    def _insert(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._memory.execute("begin")
        self._memory.executemany(statement, rows)
        self._memory.execute("commit")

    def _clear(self) -> None:
        self._memory.execute("insert into texts (texts) values ('delete-all')")


def is_single_word(query: str) -> bool:
    """Whether a query asks for one word as it stands: of these it is known in how many rows they are."""
    return re.fullmatch(r"'[^' ]+'", query) is not None


def unquote_word(query: str) -> str:
    return query.strip("'")


def _build_query(expression: str, phrases: Mapping[str, list[str]]) -> str:
    taken: list[str] = []

    def taken_out(match: re.Match[str]) -> str:
        words = [f"'{word}'" for word in phrases[match[1]]] or [_EMPTY_LEXEME]
        if match[2]:
            words[-1] += ":*"
        taken.append(f"({' <-> '.join(words)})" if len(words) > 1 else words[0])
        return "\0"

    skeleton = _QUOTED.sub(taken_out, expression)
    for ours, theirs in _OPERATORS.items():
        skeleton = skeleton.replace(ours, theirs)
    return re.sub("\0", lambda _: taken.pop(0), skeleton)
