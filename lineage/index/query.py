"""From what a person typed to an FTS5 expression: any text is a query, nothing is syntax."""

import re

_WORD = re.compile(r"\w+", re.UNICODE)
_MOST_WORDS = 64


def match_expression(query: str) -> str | None:
    """The words of a query, each quoted, OR-ed; None where it has no word.

    >>> match_expression('split() NEAR "last line"')
    '"split" OR "near" OR "last" OR "line"'
    """
    words = dict.fromkeys(word.lower() for word in _WORD.findall(query))
    return " OR ".join(f'"{word}"' for word in list(words)[:_MOST_WORDS]) or None
