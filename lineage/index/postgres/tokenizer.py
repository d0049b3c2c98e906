"""The words of texts and queries, from SQLite's tokenizer in memory: both engines match and mark the same words.

Long words are cut to their first characters, and a text of a chapter's length is searchable at its beginning only. A
text's vector holds the places of each word with the weight of the column: A for titles, B for sentences, C for bodies.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lineage.core.search.segmentation import remove_separators
from lineage.index.fts_rows import BODY_COLUMN, TOKENIZER, FtsRow
from lineage.index.text_search import SNIPPET_MARKS, SNIPPET_WORDS

_MAX_WORD_LENGTH, _MAX_WORDS = 40, 6_000  # so that a vector stays below the server's limit of a megabyte
_MAX_POSITION = 16_383  # the server's limit
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


@dataclass(frozen=True, slots=True)
class TokenizedTexts:
    """Vectors and counts of texts: number → (vector, number of words), and word → number of texts."""

    vectors: Mapping[int, tuple[str, int]]
    counts: Mapping[str, int]


class Tokenizer:
    """SQLite's tokenizer. One thread at a time may use it."""

    def __init__(self) -> None:
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._memory.executescript(_TABLES)

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()

    def tokenize(self, texts: Iterable[FtsRow]) -> TokenizedTexts:
        """Return the vectors of texts and the counts of their words."""
        statement = "insert into texts (rowid, title, sentence, body) values (?, ?, ?, ?)"
        with self._loaded(statement, ((number, *columns) for number, *columns, _ in texts)):
            vectors = {doc: (vector, words) for doc, vector, words in self._memory.execute(_VECTORS)}
            return TokenizedTexts(vectors, dict(self._memory.execute(_COUNTS)))

    def build_queries(self, expressions: Sequence[str]) -> list[str]:
        """Return FTS5 expressions as the server's queries. A phrase without a word matches nothing."""
        parts = [match for expression in expressions for match in _QUOTED.finditer(expression)]
        phrases = self._tokenize_phrases(list(dict.fromkeys(match[1] for match in parts)))
        return [_build_query(expression, phrases) for expression in expressions]

    def build_snippet(self, expression: str, title: str, sentence: str, body: str) -> tuple[str, bool]:
        """Return a snippet with marked words, and whether it is of the body, else of title or sentence; "" for none."""
        self._memory.execute("insert into shown (title, sentence, body) values (?, ?, ?)", (title, sentence, body))
        try:
            in_body, elsewhere = self._memory.execute(_SNIPPETS, (expression,)).fetchone() or ("", "")
        finally:
            self._memory.execute("delete from shown")
        is_body = SNIPPET_MARKS[0] in in_body
        return remove_separators(in_body if is_body else elsewhere), is_body

    def _tokenize_phrases(self, phrases: Sequence[str]) -> dict[str, list[str]]:
        words: dict[str, list[str]] = {phrase: [] for phrase in phrases}
        with self._loaded("insert into texts (rowid, body) values (?, ?)", enumerate(phrases)):
            for number, word in self._memory.execute(_PHRASES):
                words[phrases[number]].append(word)
        return words

    @contextmanager
    def _loaded(self, statement: str, rows: Iterable[Sequence[object]]) -> Iterator[None]:
        """Hold rows in the table of texts within the block."""
        self._memory.execute("begin")
        self._memory.executemany(statement, rows)
        self._memory.execute("commit")
        try:
            yield
        finally:
            self._memory.execute("insert into texts (texts) values ('delete-all')")


def is_single_word(query: str) -> bool:
    """Return whether a query is one word without a prefix sign: the vocabulary has its count."""
    return re.fullmatch(r"'[^' ]+'", query) is not None


def _build_query(expression: str, phrases: Mapping[str, list[str]]) -> str:
    extracted: list[str] = []

    def extract_phrase(match: re.Match[str]) -> str:
        words = [f"'{word}'" for word in phrases[match[1]]] or [_EMPTY_LEXEME]
        if match[2]:
            words[-1] += ":*"
        extracted.append(f"({' <-> '.join(words)})" if len(words) > 1 else words[0])
        return "\0"

    # A phrase may contain the operators' words: they are replaced in what is left without phrases.
    skeleton = _QUOTED.sub(extract_phrase, expression)
    for ours, theirs in _OPERATORS.items():
        skeleton = skeleton.replace(ours, theirs)
    return re.sub("\0", lambda _: extracted.pop(0), skeleton)
