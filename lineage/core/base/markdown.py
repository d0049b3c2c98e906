r"""Text as Markdown without anything that runs, links, hides or tags, and the way back (format: Bodies).

Two escapes, one inside the other. Characters that nobody sees, or that an editor would lose, become visible:
`⟦U+000D⟧`, also in code. In prose a backslash stands before every mark that could begin a link, an embed, a tag, HTML,
mathematics, a comment or a plug-in's command. Addresses and task boxes become code, since many readers look for them
behind the backslashes; code that looks like one has a backtick more than it had. What is code for this module is code
for every reader of Markdown: all other backticks and tildes are escaped, so that none can open another piece of code.
"""

import re
from collections.abc import Iterator, Sequence

# Controls, line ends other than \n, surrogates; zero-width and direction marks that hide text or change its order.
# Joiners (U+200C, U+200D) and single direction marks belong to words of many scripts.
_UNSEEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e007f"
)
_VISIBLE = re.compile(rf"[{_UNSEEN}]|[ \t](?=\n|\Z)|⟦(?=U\+[0-9A-F]{{4,6}}⟧)")
_ESCAPE = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")

_PUNCTUATION = r"!-/:-@\[-`{-~"
# The characters of prose that get a backslash, each where it could begin something.
_MARK = re.compile(
    rf"""(?P<scheme>:(?=//))
      | \\(?=[{_PUNCTUATION}]|$)     # an escape already
      | \[(?!(?<!\[\[)REDACTED:[\w.-]+\](?![\](\[:]))  # links, embeds, footnotes, callouts; a marker is none
      | [<$]                          # HTML, autolinks; mathematics
      | (?<=[%<])%                    # comments, Templater
      | (?<=:):                       # inline fields
      | (?<==)=                       # highlights: code compares more often than people mark
      | \#(?!\d+(?:[\s.,;:!?)]|$))(?=[^\s\#]|$)   # tags; #12 is none
      | (?<!\S)\^(?=[A-Za-z0-9-]+$)   # block ids
      | ~(?=~~)
      | &(?=\#?\w+;)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Most lines hold none of what a mark, a heading, a task, an address or code begins with.
_RARE = re.compile(r"[\\\[<$%=#^~&@`]")
# Headings inside of speech: the mark of one, and the line below a text that makes it one.
_HEADING = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?=#{1,6}(?:[ \t]|$))")
_UNDERLINE = re.compile(r"[ \t>]*(?=(?:=+|-+)$)")
_TICKS = re.compile(r"`+")
_ADDRESS = re.compile(
    r"""(?:(?<![a-z0-9+.-])[a-z0-9+.-]+://|(?<![a-z0-9])www\.)[^\s`<>|\\]*[^\s`<>|\\.,;:!?'"*_~()\[\]]
      | (?<![a-z0-9])www\.  # some readers make a link of that alone
      | (?<![\w.+@-])[\w.+@-]+@[\w-]+\.[\w.-]*\w""",
    re.VERBOSE | re.IGNORECASE,
)
_ADDRESS_MARK = re.compile(r":(?=//)|(?<=www)\.|@", re.IGNORECASE)
_TASK = re.compile(r"((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])+)(\[[^\]`]\])(?=[ \t]|$)")
_BECOMES_CODE = re.compile(rf"{_ADDRESS.pattern} | \[[^\]`]\]", re.VERBOSE | re.IGNORECASE)
_PROSE_TOKEN = re.compile(rf"\\([{_PUNCTUATION}])|(?<!`)(`+)(?!`)(.*?)(?<!`)\2(?!`)")
_TABLE_RULE = re.compile(r"(?=[^\n]*-)[-:| \t>]+")
# Code that a plug-in runs in the line: Dataview, Meta Bind, Buttons.
_COMMAND = re.compile(r"(\s*)([$]?=|(?:INPUT|VIEW|BUTTON|EMBED)\[|button-)", re.IGNORECASE)
_TEMPLATE = re.compile(r"(?<=<)%")

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)")
_MAX_ITEM_LINES = 50
_INFO = re.compile(r"[ \t]*([A-Za-z0-9_+#.-]*)")
_UNKNOWN_INFO = "text:"
# Languages that are shown and never run. Any other may be one that a plug-in runs: `dataviewjs`, `mermaid`, `query`.
_LANGUAGES = frozenset((
    "asm", "astro", "awk", "bash", "bat", "batch", "c", "c#", "c++", "cc", "clojure", "cmake", "cmd", "conf",
    "console", "cpp", "cs", "csharp", "css", "cts", "cxx", "dart", "diff", "docker", "dockerfile", "dotenv", "elixir",
    "elm", "env", "erlang", "fish", "fortran", "fsharp", "gitignore", "go", "golang", "gradle", "graphql", "groovy",
    "h", "haskell", "hcl", "hpp", "http", "ini", "java", "javascript", "jl", "js", "json", "json5", "jsonc", "jsonl",
    "jsx", "julia", "kotlin", "kt", "kts", "less", "lisp", "log", "lua", "make", "makefile", "markdown", "matlab",
    "md", "mdx", "mjs", "mts", "nasm", "nginx", "nim", "nix", "objc", "objective-c", "ocaml", "output", "pascal",
    "patch", "perl", "php", "pl", "plain", "plaintext", "powershell", "prisma", "prolog", "properties", "proto",
    "protobuf", "ps1", "py", "python", "python3", "r", "rb", "regex", "rs", "rst", "ruby", "rust", "sass", "scala",
    "scheme", "scss", "sh", "shell", "shell-session", "sol", "solidity", "sql", "svelte", "swift", "tcl", "terminal",
    "terraform", "text", "toml", "ts", "tsx", "txt", "typescript", "vb", "vim", "vue", "wasm", "xml", "yaml", "yml",
    "zig", "zsh",
))  # fmt: skip


def show_invisible(text: str) -> str:
    r"""Return a text with visible escapes for signs that nobody sees, or that an editor or the body hash would lose.

    >>> show_invisible("\r\nend ")
    '⟦U+000D⟧\nend⟦U+0020⟧'
    """
    inside = text.strip("\n")
    first = len(text) - len(text.lstrip("\n"))
    shown = inside if _is_visible(inside) else _VISIBLE.sub(lambda match: _escape_character(match[0]), inside)
    newline = _escape_character("\n")
    return f"{newline * first}{shown}{newline * (len(text) - first - len(inside))}"


def _is_visible(text: str) -> bool:
    """Return True for most texts that need no escape, far faster than a search for one."""
    has_blank_end = text.endswith((" ", "\t")) or " \n" in text or "\t\n" in text
    return not has_blank_end and "⟦" not in text and text.replace("\n", "").replace("\t", "").isprintable()


def restore_invisible(text: str) -> str:
    """Undo `show_invisible`."""
    return _ESCAPE.sub(_unescape_character, text) if "⟦" in text else text


def escape_prose(text: str) -> str:
    r"""Return a text as Markdown that shows it: formatted, with its code, and with nothing live in it.

    The lines are those of `text` after `show_invisible`. `restore_prose` gives the text back.

    >>> escape_prose("see [[plan]] and `a[0]` in #work")
    'see \\[\\[plan]] and `a[0]` in \\#work'
    """
    shown = show_invisible(text)
    return shown if _is_plain(shown) else "\n".join(_escape_lines(shown.split("\n")))


def _is_plain(text: str) -> bool:
    """Return True for texts that are the same as Markdown: no character of theirs could begin anything."""
    has_mark = _RARE.search(text) or "::" in text or "://" in text or "www." in text.lower()
    return not has_mark and not text.endswith("-") and "-\n" not in text


def restore_prose(markdown: str) -> str:
    """Undo `escape_prose`."""
    if "\\" in markdown or "`" in markdown or "~~~" in markdown:
        markdown = "\n".join(_restore_lines(markdown.split("\n")))
    return restore_invisible(markdown)


def escape_line(line: str) -> str:
    """Return one line of text as Markdown for a place in a line of ours. `restore_prose` gives it back."""
    return _escape_line(show_invisible(line), has_table=True)


def escape_code(text: str) -> str:
    r"""Return a text for the inside of a fence.

    >>> escape_code("<% tp %>\r\n")
    '<⟦U+0025⟧ tp %>⟦U+000D⟧⟦U+000A⟧'
    """
    return _escape_template(show_invisible(text))


def choose_language(name: str) -> str:
    """Return a language for a fence if it is known to be shown and never run, else ""."""
    return name if name.lower() in _LANGUAGES else ""


def _escape_character(character: str) -> str:
    return f"⟦U+{ord(character):04X}⟧"


def _unescape_character(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    return chr(number) if number <= 0x10FFFF else match[0]


def _escape_template(text: str) -> str:
    return _TEMPLATE.sub("⟦U+0025⟧", text) if "<%" in text else text


def _escape_lines(lines: Sequence[str]) -> Iterator[str]:
    position, has_table = 0, False
    while position < len(lines):
        end = _find_fence_end(lines, position)
        if end >= 0:
            mark, info = _split_fence(lines[position])
            yield mark + _escape_info(info)
            yield from map(_escape_template, lines[position + 1 : end])
            yield from lines[end : end + 1]
            position = end + 1
            continue
        if not position or not lines[position - 1]:
            has_table = _holds_table(lines, position)
        yield _escape_line(lines[position], has_table)
        position += 1


def _restore_lines(lines: Sequence[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line, end = lines[position], _find_fence_end(lines, position)
        if end >= 0:
            mark, info = _split_fence(line)
            yield mark + info.removeprefix(_UNKNOWN_INFO)
            yield from lines[position + 1 : end + 1]
            position = end
        else:
            yield _PROSE_TOKEN.sub(_restore_token, line)
        position += 1


def _restore_token(token: re.Match[str]) -> str:
    if token[1]:
        return token[1]
    return token[0][1:-1] if _BECOMES_CODE.fullmatch(token[3]) else token[0]


def _find_fence_end(lines: Sequence[str], start: int) -> int:
    """Return the position of the line that closes the fence opened at `start`, -1 if no fence surely begins there.

    A fence that nothing closes ends with the text. One in a list ends with its item: with an indentation it is sure
    only if no line of it is indented less, and none could be another fence.
    """
    opening = _FENCE.fullmatch(lines[start])
    if not opening or (opening[2][0] == "`" and "`" in opening[3]):
        return -1
    if opening[1]:
        return _find_indented_end(lines, start, opening[1], opening[2])
    mark = opening[2]
    for position in range(start + 1, len(lines)):
        line = lines[position]
        closing = _FENCE.fullmatch(line) if mark[0] in line else None
        if closing and len(closing[1]) < 4 and closing[2].startswith(mark) and not closing[3]:
            return position
    return len(lines)


def _find_indented_end(lines: Sequence[str], start: int, indent: str, mark: str) -> int:
    if mark[0] == "~":  # behind a paragraph and four spaces it would be no fence
        return -1
    has_gap = False
    for position in range(start + 1, len(lines)):
        line = lines[position]
        if line == indent + mark:
            is_sure = len(indent) < 4 or not has_gap or _is_in_item(lines, start, len(indent))
            return position if is_sure else -1
        if "```" in line or (line and not line.startswith(indent)):
            return -1
        has_gap = has_gap or not line
    return -1


def _is_in_item(lines: Sequence[str], start: int, indent: int) -> bool:
    """Return whether a list item above holds a line indented so far, rather than an indented block."""
    for line in reversed(lines[max(0, start - _MAX_ITEM_LINES) : start]):
        item = _ITEM.match(line)
        if item and item.end() <= indent:
            return indent < item.end() + 4
        if line and not line.startswith(" "):
            return False
    return False


def _split_fence(line: str) -> tuple[str, str]:
    """Return the mark of an opening fence, with its indentation, and its info string."""
    start = line.index(line.lstrip(" ")[0])
    end = len(line) - len(line[start:].lstrip(line[start]))
    return line[:end], line[end:]


def _escape_info(info: str) -> str:
    known = _INFO.fullmatch(info)
    is_shown = known and (not known[1] or known[1].lower() in _LANGUAGES)
    return _escape_template(info if is_shown else _UNKNOWN_INFO + info)


def _holds_table(lines: Sequence[str], start: int) -> bool:
    """Return whether the lines up to the next empty one may be a table: there a `|` in code ends a cell."""
    for position in range(start, len(lines)):
        if not lines[position]:
            return False
        if _TABLE_RULE.fullmatch(lines[position]):
            return True
    return False


def _escape_line(line: str, has_table: bool) -> str:
    if _is_plain(line):
        return line
    start = _UNDERLINE.match(line) or _HEADING.match(line)
    if start:
        head = start.end()
        return f"{line[:head]}\\{line[head]}{_escape_spans(line[head + 1 :], has_table)}"
    task = _TASK.match(line)
    if task:
        return f"{task[1]}`{task[2]}`{_escape_spans(line[task.end() :], has_table)}"
    return _escape_spans(line, has_table)


def _escape_spans(line: str, has_table: bool) -> str:
    """Escape the prose of a line, and leave its code as it is."""
    if "`" not in line:
        return _escape_marks(line)
    runs = list(_TICKS.finditer(line))
    partners = _find_partners(runs)
    parts, position, number = [], 0, 0
    while number < len(runs):
        run, partner = runs[number], partners[number]
        parts.append(_escape_marks(line[position : run.start()], position > 0, True))
        content = line[run.end() : runs[partner].start()] if partner else ""
        is_code = partner and line[run.start() - 1 : run.start()] != "\\" and not (has_table and "|" in content)
        parts.append(_escape_code_span(run[0], content) if is_code else "\\`" * len(run[0]))
        number = partner if is_code else number
        position, number = runs[number].end(), number + 1
    return "".join(parts) + _escape_marks(line[position:], True)


def _find_partners(runs: Sequence[re.Match[str]]) -> list[int]:
    """Return for each run of backticks the number of the next one of its length, 0 if there is none."""
    partners, next_of_length = [0] * len(runs), dict[int, int]()
    for number in range(len(runs) - 1, -1, -1):
        length = len(runs[number][0])
        partners[number] = next_of_length.get(length, 0)
        next_of_length[length] = number
    return partners


def _escape_code_span(ticks: str, code: str) -> str:
    if _BECOMES_CODE.fullmatch(code):
        ticks += "`"
    command = _COMMAND.match(code)
    if command:
        code = f"{command[1]}{_escape_character(command[2][0])}{code[command.start(2) + 1 :]}"
    return f"{ticks}{_escape_template(code)}{ticks}"


def _escape_marks(prose: str, follows_tick: bool = False, precedes_tick: bool = False) -> str:
    """Escape a text without code. Next to a backtick, those of an address would make one longer run."""
    parts, position = [], 0
    for address in _ADDRESS.finditer(prose):
        parts.append(_MARK.sub(_escape_mark, prose[position : address.start()]))
        position, word = address.end(), address[0]
        is_next = (follows_tick and not address.start()) or (precedes_tick and position == len(prose))
        hidden = _ADDRESS_MARK.sub(lambda mark: _escape_character(mark[0]), word)
        parts.append(_MARK.sub(_escape_mark, hidden) if is_next else f"`{word}`")
    return "".join(parts) + _MARK.sub(_escape_mark, prose[position:])


def _escape_mark(mark: re.Match[str]) -> str:
    return _escape_character(":") if mark["scheme"] else f"\\{mark[0]}"
