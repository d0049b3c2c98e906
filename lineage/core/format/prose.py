"""Paragraphs and sentences of what was said, as plain text: no markup, code blocks, images and rules."""

import re

from lineage.core.base.links import to_one_line
from lineage.core.format.sentence import is_abbreviation

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1>|</?[A-Za-z][^<>\n]*>", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)|!?\[\[(?:[^\[\]\n|]*\|)?([^\[\]\n]*)\]\]")
_LINE_START = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+•]|\d{1,3}[.)]|\[[ xX]\])[ \t]+)+", re.MULTILINE)
_OMITTED = re.compile(r"\[[^\[\]\n]{1,60}, [\d,]+ bytes left out\]|\[Image(?: #\d+|: [^\[\]\n]*)\]")  # an image
_RULE = re.compile(r"^[ \t]*(?:[-=*_]{3,}|\|.*\|?)[ \t]*$", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\|.*\|[ \t]*\n[ \t]*\|[ \t:|-]+\|[ \t]*\n((?:[ \t]*\|.*\|[ \t]*(?:\n|\Z))+)", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_EMPHASIS = re.compile(r"(\*\*|~~|(?<![\w*])\*)(?=\S)([^*\n]+?)(?<=\S)\1(?![\w*])")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_STOP = re.compile(
    r"[.!?…][\"'”’»)\]]*\s+(?=\S)|[。！？]|\n(?![ \t]*[a-z])"
)  # a line that goes on in lower case is wrapped, unless it is an item of a list
_ITEM = "\v"  # stands for the mark of an item of a list


def split_paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a text, without markup. Items of lists are marked until they are split into sentences.

    >>> split_paragraphs("## Task\n\nPlease **rename** `parse`.")
    ['\x0bTask', 'Please rename parse.']
    """
    plain = _TAGGED.sub("", _RULE.sub("", _TABLE.sub(_list_rows, _FENCE.sub("\n", _OMITTED.sub("", text)))))
    plain = _EMPHASIS.sub(r"\2", _LINE_START.sub(_ITEM, _LINK.sub(r"\1\2", plain.replace("`", ""))))
    return [part for part in _PARAGRAPH.split(plain) if part.strip()]


def _list_rows(table: re.Match[str]) -> str:
    """Return the rows of a table without its head as items of a list: the first cell, and the others behind it."""
    rows = ([cell.replace("\\|", "|").strip() for cell in _CELL.split(row.strip())] for row in table[1].splitlines())
    filled = [[cell for cell in row if any(map(str.isalnum, cell))] for row in rows]
    return "\n" + "".join(f"- {': '.join(filter(None, (row[0], ', '.join(row[1:]))))}\n" for row in filled if row)


def is_pasted(paragraph: str) -> bool:
    """Return whether a paragraph reads like a log, code or a document rather than what somebody typed."""
    line = to_one_line(paragraph)
    letters = sum(map(str.isalpha, line)) + line.count(" ")
    return letters < 0.6 * len(line) or paragraph.strip().count("\n") > 8


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, each one line.

    >>> split_sentences("It drops rows, e.g. the last. Why?")
    ['It drops rows, e.g. the last.', 'Why?']
    """
    sentences, start = list[str](), 0
    for stop in _STOP.finditer(paragraph):
        if not is_abbreviation(paragraph[start : stop.start() + 1]):
            sentences.append(paragraph[start : stop.end()])
            start = stop.end()
    return [line for part in (*sentences, paragraph[start:]) if (line := to_one_line(part.replace(_ITEM, "")))]
