"""The words of a text, and how FTS5 is asked for them.

Without `re`, whose import costs the hook at a prompt half of what it may take. Scripts without spaces are rarer in
prompts than in transcripts, and what cuts them is imported where one is met.
"""

from collections.abc import Iterable, Iterator

from lineage.core.search import language

MAX_QUERY_WORDS = 64
MAX_CHARACTERS = 20_000
_JOINTS = "./\\:@+-"  # within a word
_FIRST_UNSPACED = "\u0e00"


def extract_words(text: str) -> tuple[str, ...]:
    """Return the words to look up for a text that is no query: nothing in it is an operator."""
    return select_words(split_words(text[:MAX_CHARACTERS]))[0]


def split_words(text: str) -> list[str]:
    r"""Return identifiers, paths and plain words as they stand.

    >>> split_words("Why does src/app.py (line 3) fail, again?")
    ['Why', 'does', 'src/app.py', 'line', '3', 'fail', 'again']
    """
    runs = "".join(char if char.isalnum() or char == "_" or char in _JOINTS else " " for char in text).split()
    return [word for run in runs if (word := run.strip(_JOINTS))]


def select_words(words: Iterable[str]) -> tuple[tuple[str, ...], str | None]:
    """Return the terms of all words but stop words (of all words if there are no others), and their language."""
    unique = list(dict.fromkeys(words))
    word_language = language.detect_language(unique)
    content = [word for word in unique if not language.is_stop_word(word, word_language)] or unique
    terms: dict[str, str] = {}
    for term in (term for word in content for term in _lookup_terms(word, word_language)):
        terms.setdefault(term.lower(), term)
    return tuple(terms.values())[:MAX_QUERY_WORDS], word_language


def _lookup_terms(word: str, word_language: str | None) -> Iterator[str]:
    # An identifier or a path is looked up as a whole and by its parts, a run of an unspaced script by its bigrams.
    parts = "".join(char if char.isalnum() else " " for char in word).split()
    if not parts:
        return
    if _may_be_unspaced(word):
        yield from _lookup_unspaced(word, parts, word_language)
    elif len(parts) == 1:
        yield parts[0]
    else:
        yield word
        yield from (part for part in parts if len(part) > 1 and not language.is_stop_word(part, word_language))


def _lookup_unspaced(word: str, parts: list[str], word_language: str | None) -> Iterator[str]:
    from lineage.core.search import segmentation

    if len(parts) > 1 or not segmentation.is_unspaced(word):
        runs = [run for part in parts for run in segmentation.split_runs(part)]
        if len(runs) > 1:
            yield word
            runs = [run for run in runs if len(run) > 1 and not language.is_stop_word(run, word_language)]
        parts = runs
    for part in parts:
        for run in segmentation.split_runs(part):
            yield from segmentation.split_bigrams(run) if segmentation.is_unspaced(run) else (run,)


def _may_be_unspaced(text: str) -> bool:
    return not text.isascii() and max(text) >= _FIRST_UNSPACED


def quote(text: str) -> str:
    """Return a text as a phrase of FTS5.

    >>> quote('src/app.py')
    '"src/app.py"'
    """
    if _may_be_unspaced(text):
        from lineage.core.search.segmentation import segment

        # A lone surrogate is no word, and UTF-8 has no place for it.
        text = segment(text.encode("utf-8", "replace").decode())
    return f'"{text.replace(chr(34), " ").replace(chr(0), " ")}"'


def join_or(expressions: Iterable[str]) -> str:
    """Return an expression that matches any of these.

    >>> join_or(['"row"', '"rows"']), join_or(['"row"'])
    ('("row" OR "rows")', '"row"')
    """
    unique = list(dict.fromkeys(expressions))
    return unique[0] if len(unique) == 1 else f"({' OR '.join(unique)})"


def build_expression(word: str, word_language: str | None) -> str:
    """Return the expression of a word in any of its forms. The index itself knows those of English."""
    is_foreign = word_language not in (None, language.ENGLISH) and word.isalpha()
    return join_or(map(quote, [word, *(language.find_forms(word, word_language) if is_foreign else ())]))
