"""The end of a value beside a name: the closing quote, the end of the field or the end of the line."""

import re
from itertools import islice

MAX_VALUE_CHARS = 1000  # of nearly all values
_UNSURE_CHARS = 50  # what stands so close to where a text was cut may look different with what follows
_MOST_TRIMMED, _MOST_STOPS = 100, 1000

_QUOTES = "\"'`"
_QUOTE_SIGNS = frozenset(_QUOTES)
_CLOSINGS = {mark: re.compile(rf"(?<!\\)(?P<slashes>\\*){mark}|\n") for mark in _QUOTES}
_RUNS = {mark: re.compile(f"{mark}+") for mark in _QUOTES}
_AFTER_VALUE = r"(?=[\s,;:)\]}>.|&\\\"'`。，；、）】」]|$)"
_NEXT_FIELD = r"(?=\s|$|\\[nrt\"']|[\"'`]?[A-Za-z_-][\w.\[\]-]{0,40}[\"'`]?\s{0,2}[=:])"
_STOP_SIGN = r"[\s,;&|<\\\"'`)\]}>*。，；、）】」]"
# What may end a value without quotes, with the reason as the name of an empty group. It begins with the sign, so that
# the search skips whatever is none, which is most of a long value.
_STOP = re.compile(
    rf"{_STOP_SIGN}(?:(?<=\s)(?P<space>)|(?<=[,;&|]){_NEXT_FIELD}(?P<field>)|(?<=<)/(?P<tag>)|(?<=[。，；、）】」])(?P<cjk>)"
    r"|(?<=\\)(?<!\\\\)\\*[nrt](?=$|[\s\\\"'#}\])-]|[A-Za-z_][\w.-]{0,40}\s{0,2}[=:]|[\w.-]{1,40}(?:\s|$|[\"'`]))(?P<escape>)"
    rf"|(?:(?<=[\"'`])(?<!\\[\"'`])|(?<=\\)(?<!\\\\)\\*[\"'`]){_AFTER_VALUE}(?P<quote>)|(?<=[)\]}}>]){_AFTER_VALUE}(?P<bracket>)"
    rf"|(?<=\*)\*{_AFTER_VALUE}(?P<bold>))"
)
_LABEL_LINE = re.compile(r"(?P<sign>:|\*\*|)[*_]{0,2}[ \t]*\n[ \t]*(?P<item>-[ \t]+)?[$@bBrRfFuUL]{0,2}\Z")
_ANY_STOP = re.compile(_STOP_SIGN)
_JSON_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?=,)")
_SHELL_QUOTES = ("'\\''", "'\"'\"'")  # leave the quotation, write one, enter again
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_LINE_START = re.compile(
    r"[ \t]*(?:[0-9]{1,6}[→|:\t][ \t]*)?(?:[-+>*][ \t]*|export[ \t]+|set[ \t]+|\$env:)?[\"'`]?[\w.-]{0,40}\Z"
)

_FIELD = re.compile(r"[\w.-]+=[^\"',;&|]+")  # before a name, behind a blank: `user=app password=`
_PROMPT = re.compile(r"(?:[A-Za-z][\w.-]{0,20} ){1,6}\Z")  # `Enter the new password: `


def find_value_end(lead: str, name: str, quote: str, text: str, *, is_cut: bool = False) -> int:
    r"""Return the length of the value that `text` begins with.

    `lead` is its line up to the name, `name` the name with the sign that assigns, and `quote` what opens the value. One
    in quotes ends at the closing one, escaped and doubled ones inside belong to it. Another one ends at white space, at
    the next field, or where a quotation or bracket ends that began before it. Of a text that `is_cut` the length of the
    text, if the part cut off could be part of the value.

    >>> find_value_end("", "password = ", '"', 'a\\"b" # it')
    4
    >>> find_value_end("f(", "password=", "", "ab)c, user=d)")
    4
    """
    line = text.partition("\n")[0]
    is_cut = is_cut and line == text
    label = _LABEL_LINE.search(name) if "\n" in name else None
    if label:  # the value stands alone on the next line
        is_no_value = (quote and not label["item"]) or not label["sign"]
        end = 0 if is_no_value else find_value_end("", "", quote, line, is_cut=is_cut)
        return end if not line[end:].strip("\"'` \t\r,]\\") else 0
    if quote:
        closing = _find_closing_quote(quote, text, is_cut=is_cut)
        if closing is not None:
            return closing
    return _find_open_end(lead, lead + name, line, is_cut=is_cut)


def find_quoted_end(text: str, start: int, least: int) -> int | None:
    """Return the end of a value that begins behind a quote, None if it begins behind something else.

    It is looked for a little beyond the `least` end that the value can have.
    """
    if text[start - 1 : start] == ">":  # an element of XML
        tag = text.find("<", start, least + MAX_VALUE_CHARS)
        return tag if tag >= 0 else None
    if text[start - 1 : start] not in _QUOTE_SIGNS:
        return None
    before = text[max(0, start - 8) : start - 1]
    quote = text[start - 1 - (len(before) - len(before.rstrip("\\"))) : start]
    end = _find_closing_quote(quote, text[start : least + MAX_VALUE_CHARS])
    return None if end is None else start + end


def _find_closing_quote(quote: str, text: str, *, is_cut: bool = False) -> int | None:
    mark, slashes = quote[-1], quote.count("\\")
    if quote.endswith(mark * 3):
        end = text.find(mark * 3)
        return end if end >= 0 else None
    marks, run = _CLOSINGS[mark], _RUNS[mark]
    place, last, line_end = 0, None, text.find("\n") if "\n" in text else len(text)
    while (match := marks.search(text, place)) and match[0] != "\n":
        at, place = match.end() - 1, match.end()
        # of a quote in a text that was escaped before, every level doubled the backslashes
        if (len(match["slashes"]) - slashes) // (slashes + 1) % 2:
            last = None if slashes else at
            continue
        again = next((way for way in _SHELL_QUOTES if mark == "'" and text.startswith(way, at)), "")
        after = at + len(run.findall(text, at, at + _UNSURE_CHARS)[0])
        if is_cut and after + len(_SHELL_QUOTES[1]) > len(text):
            break
        if again:
            place = at + len(again)
        elif slashes or (at == 0 and not text[after : after + 1].isalnum()):
            return at - slashes
        elif (after - at) % 2 == 0 and (is_cut or text.find(mark, after, line_end) >= 0):
            place = after  # doubled, as in SQL
        else:
            return after - 1 if (after - at) % 2 else at
    return len(text) if is_cut else last  # in a shell, SQL and XML a backslash escapes no quote


def _find_open_end(lead: str, before: str, line: str, *, is_cut: bool) -> int:
    if before.endswith(">") and ((tag := line.find("<")) >= 0 or (is_cut and before[-2:-1] not in "=-")):
        return tag if tag >= 0 else len(line)
    edge = before[-1:] if before[-1:] in (",", "\t") else "|" if before.rstrip(" *").endswith("|") else ""
    if edge and (end := re.search(rf"(?<!\\){re.escape(edge)}", line)):
        return _trim(lead, line, len(line[: end.start()].rstrip()))  # a row of cells
    if before.endswith(('":', '": ')) and (number := _JSON_NUMBER.match(line)):
        return number.end()  # also where a table has cut the member behind it
    if not _ANY_STOP.search(line):
        return len(line) if is_cut else _trim(lead, line, len(line))
    depths = dict.fromkeys(_BRACKETS, (0, 0))
    is_alone = bool(_LINE_START.match(lead)) or (before.endswith(": ") and bool(_PROMPT.match(lead)))
    is_alone = is_alone or (before.endswith("=") and bool(_FIELD.fullmatch(lead.rpartition(" ")[0].rpartition(" ")[2])))
    for match in islice(_STOP.finditer(line), _MOST_STOPS):
        kind, sign = match.lastgroup, match[0]
        if kind == "bracket":
            opener, at, (counted, depth) = _BRACKETS[sign], match.start(), depths[sign]
            depth += line.count(opener, counted, at) - line.count(sign, counted, at)
            depths[sign] = at, depth
            if before.count(opener) <= before.count(sign) or depth > 0:
                continue
        if kind == "quote" and before.count(sign[-1]) % 2 == 0:
            continue
        if kind == "bold" and before.count("**") % 2 == 0:
            continue
        if kind == "tag" and ">" not in before:
            continue
        if kind == "field" and is_alone and (sign == "|" or line[match.end() : match.end() + 1].strip()):
            continue  # a file of settings has one value a line
        if is_cut and kind != "space" and match.end() > len(line) - _UNSURE_CHARS:
            break
        return _trim(lead, line, match.start())
    return len(line) if is_cut else _trim(lead, line, len(line))


def _trim(lead: str, line: str, end: int) -> int:
    """Leave out the punctuation of a sentence, and closing quotes or brackets around the value."""
    is_whole_line = bool(_LINE_START.match(lead)) and end == len(line.rstrip())
    value = line[:end]
    for _ in range(min(end, _MOST_TRIMMED)):
        last = value[-1:]
        if last in ".,;:&" or (last in _QUOTES and value.count(last) % 2):
            value = value[:-1]
        elif value.endswith("**") or (value.endswith("\\") and not is_whole_line):
            value = value.removesuffix("**").removesuffix("\\")
        elif last in ")]}" and not is_whole_line and value.count(_BRACKETS[last]) < value.count(last):
            value = value[:-1]
        else:
            break
    return len(value)


# All of this module that can change a result. It is hashed into the version of a ruleset.
PATTERNS = (_JSON_NUMBER.pattern, _STOP.pattern, _LABEL_LINE.pattern, _LINE_START.pattern, _PROMPT.pattern,
            _FIELD.pattern)  # fmt: skip
