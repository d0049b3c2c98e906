"""Entries of books, each with its provenance (format: Books).

An entry stands between two comments with its provenance and its end, so that any markdown inside breaks nothing:

    <!-- lineage:entry {"id": "0123456789abcdef", "at": "2026-03-28T22:34:06.792Z", "source": "manual", …} -->
    ### 2026-03-28 22:34

    Prefers Go over Python.
    <!-- lineage:end 0123456789abcdef -->
"""

import hashlib
import json
import re
from typing import Any, NamedTuple

from lineage.core.base.fences import neutralize_markdown
from lineage.core.base.links import escape_markdown, to_one_line
from lineage.core.base.strict_json import parse_strict_json
from lineage.core.base.times import to_utc
from lineage.core.format.body import normalize_body, replace_surrogates
from lineage.errors import InvalidInput

TASK = "task"
HAND, MANUAL, USER_TURN, CONFIRMED = "hand", "manual", "user_turn", "confirmed"
ASSISTANT_TURN = "assistant_turn"
USER_SOURCES = frozenset({HAND, MANUAL, USER_TURN, CONFIRMED})
USER_STATED, DERIVED = "[user-stated]", "[derived]"

ENTRY_ID = re.compile(r"[0-9a-f]{16}")
TOMBSTONE = re.compile(rf"({ENTRY_ID.pattern})(?: with ({ENTRY_ID.pattern}))?")
"""The value of a forgotten entry's line: its id, and that of the entry that it was forgotten with."""
UNTIL_CAPTURE = ("until", '"capture"')
"""In `more` of a pending entry: an agent remembered it, and no capture has compared it with what tools said."""
BEFORE, SOURCE_BEFORE = "before", "source_before"
"""In `more` of an edited entry: the body that it had before, and a source that is none of ours."""
_TITLE = re.compile(
    r"\s*(?:\#{1,6}[ \t]+(?P<heading>[^\r\n]*)|(?P<bullet>[-*+][ \t]\[)(?P<mark>.)\][ \t]+(?P<task>[^\r\n]*))"
    r"(?:\r\n|\r|\n|\Z)"
)
_OWN_COMMENT = re.compile(r"<(?=!--[ \t]*lineage:)")
_ANY_COMMENT = re.compile(r"<(?=!--)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(`{3,}|~{3,})(.*)")
_UNSAFE = re.compile(
    r"[<>]|(?<=-)-|(?<=!)\[|[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)  # within JSON, where only strings can hold them
_KEYS = ("id", "at", "source", "tool", "from", "tags", "supersedes", "about", "updated", "pinned")


class Entry(NamedTuple):
    """One entry: `text` starts with its title, `origin` links its artifact, `more` has unknown keys as JSON.

    `about` names the files, commands and errors that it is bound to. (core/base/about.py)
    """

    id: str
    at: str
    source: str
    text: str
    tool: str | None = None
    origin: str | None = None
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    updated: str | None = None
    pinned: bool = False
    more: tuple[tuple[str, str], ...] = ()

    @property
    def trust(self) -> str:
        """`[user-stated]` or `[derived]`. Content of a tool's result is derived, even in the user's words."""
        return USER_STATED if self.source in USER_SOURCES and not self.tool else DERIVED

    @property
    def is_unjudged(self) -> bool:
        """Whether an agent remembered it, and it waits for the capture of its session."""
        return UNTIL_CAPTURE in self.more

    @property
    def is_touched(self) -> bool:
        """Whether it was changed, pinned or ticked: rules that find something else today leave it as it is."""
        return bool(self.updated or self.pinned or self.done)

    @property
    def title(self) -> str:
        """The heading, or the text beside a task's box."""
        match = _TITLE.match(self.text)
        return (match["heading"] if match["mark"] is None else match["task"]).strip() if match else ""

    @property
    def body(self) -> str:
        """The text below the heading; for a task, the text beside and below its box."""
        match = _TITLE.match(self.text)
        rest = normalize_body(self.text[match.end() if match else 0 :]).strip("\n")
        return f"{self.title}\n{rest}".strip("\n") if (match and match["mark"] is not None) or not rest else rest

    @property
    def done(self) -> bool | None:
        """Whether its box is ticked, None without a box in the title line."""
        match = _TITLE.match(self.text)
        return match["mark"] in "xX-" if match and match["mark"] is not None else None


def compute_entry_id(scope: str, kind: str, body: str, origin: str | None) -> str:
    """Return 16 hex digits of the hash of scope, kind, normalized body and origin, so that a repetition is no news."""
    seed = json.dumps([scope, kind, _normalize(body), origin or ""])
    return hashlib.sha256(seed.encode()).hexdigest()[:16]


def new_entry(  # noqa: PLR0913  (these are what an entry consists of)
    scope: str,
    kind: str,
    body: str,
    *,
    at: str,
    source: str,
    heading: str = "",
    tool: str | None = None,
    origin: str | None = None,
    tags: tuple[str, ...] = (),
    supersedes: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
) -> Entry:
    """Return an entry, neutralized unless user-stated. Raises InvalidInput for an empty body or a bad time."""
    if not _normalize(body):
        raise InvalidInput("there is nothing to remember", hint="give a text, for example: `lineage remember TEXT`")
    entry = Entry(
        id=compute_entry_id(scope, kind, body, origin),
        at=to_utc(at),
        source=source,
        text="",
        tool=tool,
        origin=origin,
        tags=tuple(dict.fromkeys(filter(None, map(to_one_line, tags)))),
        supersedes=supersedes,
        about=about,
    )
    text = format_entry_body(body, is_user_text=entry.trust == USER_STATED)
    title = f"### {escape_markdown(heading) or _format_minute(entry.at)}\n\n"
    return entry._replace(text=("- [ ] " if kind == TASK else title) + text + "\n")


def format_entry_body(body: str, *, is_user_text: bool) -> str:
    """Return a body without lineage's markers; unless the user's, nothing in it runs, hides or stays open."""
    text = _normalize(body)
    if is_user_text:
        return escape_own_markers(text)
    return _close_fence(_ANY_COMMENT.sub("&lt;", neutralize_markdown(text)))


def escape_own_markers(text: str) -> str:
    """Return a text with lineage's markers as visible text."""
    return _OWN_COMMENT.sub("&lt;", text)


def replace_body(entry: Entry, body: str) -> Entry:
    """Return the entry with another body under its heading or beside its box."""
    match = _TITLE.match(entry.text)
    text = format_entry_body(body, is_user_text=True) + "\n"
    if match is None:
        return entry._replace(text=text)
    is_heading = match["mark"] is None
    head = entry.text[: match.end()].rstrip("\r\n") + "\n\n" if is_heading else entry.text[: match.start("task")]
    return entry._replace(text=head + text)


def set_heading_time(entry: Entry, at: str) -> Entry:
    """Return the entry with another time in its heading, if that says nothing but a time."""
    old = _format_minute(entry.at)
    return entry._replace(text=entry.text.replace(old, _format_minute(at), 1)) if entry.title == old else entry


def _format_minute(at: str) -> str:
    return at[:16].replace("T", " ")


def note_before(entry: Entry, body: str) -> Entry:
    """Return an edited entry with the body that it had before; one that says the same is returned as it is."""
    return entry if body == entry.body else _note(entry, BEFORE, body)


def note_source(entry: Entry) -> Entry:
    """Return an entry with its source beside it, for the case that it gets another one."""
    return _note(entry, SOURCE_BEFORE, entry.source)


def _note(entry: Entry, key: str, value: str) -> Entry:
    return entry._replace(more=tuple((dict(entry.more) | {key: json.dumps(value)}).items()))


def parse_before(entry: Entry) -> str:
    """Return the body that an entry had before it was last edited, "" if it never was."""
    before = json.loads(dict(entry.more).get(BEFORE, '""'))
    return before if isinstance(before, str) else ""


def set_done(entry: Entry, done: bool) -> Entry:
    """Return the entry with its box ticked or cleared. Raises InvalidInput if it has none."""
    match = _TITLE.match(entry.text)
    if match is None or match["mark"] is None:
        hint = "`lineage memory list` names the books of tasks, and `lineage memory show SCOPE task` prints one"
        raise InvalidInput(f"{entry.id} is no task: it has no box to tick", hint=hint)
    if entry.done is done:
        return entry
    start, end = match.span("mark")
    return entry._replace(text=entry.text[:start] + ("x" if done else " ") + entry.text[end:])


def parse_marker(line: str) -> tuple[str, str] | None:
    """Return the word of a marker line (`entry`, `end` or `forgotten`) and its value, None for any other line."""
    text = line.strip(" \t\r\n")
    # `<!-->` begins and ends like a comment.
    if len(text) < 7 or not (text.startswith("<!--") and text.endswith("-->")):
        return None
    word, _, value = text[4:-3].strip(" \t").partition(" ")
    is_ours = word in ("lineage:entry", "lineage:end", "lineage:forgotten")
    return (word.removeprefix("lineage:"), value.strip(" \t")) if is_ours else None


def render_entry(entry: Entry) -> str:
    """Return the entry with its two comments. No value can end a comment or look like one."""
    gap = "" if not entry.text or entry.text[-1] in "\r\n" else "\n"
    return f"<!-- lineage:entry {_render_comment(entry)} -->\n{entry.text}{gap}<!-- lineage:end {entry.id} -->\n"


def render_tombstone(identifier: str, forgotten_with: str = "") -> str:
    """Return the line in place of a forgotten entry. Deleting it by hand undoes the forgetting.

    `forgotten_with` is the entry whose forgetting put this id away too: restoring that one restores both.
    """
    return f"<!-- lineage:forgotten {identifier}{f' with {forgotten_with}' if forgotten_with else ''} -->\n"


def parse_entry(value: str) -> Entry | None:
    """Return the entry of an opening comment's value, without text; None if the value is damaged."""
    try:
        meta = parse_strict_json(value)
        if not ENTRY_ID.fullmatch(meta["id"]) or not isinstance(meta["source"], str):
            return None
        return Entry(
            id=meta["id"],
            at=to_utc(meta["at"]),
            source=meta["source"],
            text="",
            tool=_expect_text(meta.get("tool")),
            origin=_expect_text(meta.get("from")),
            tags=_expect_texts(meta.get("tags")),
            supersedes=_expect_texts(meta.get("supersedes")),
            about=_expect_texts(meta.get("about")),
            updated=to_utc(meta["updated"]) if "updated" in meta else None,
            pinned={True: True, False: False}[meta.get("pinned", False)],
            more=tuple((key, json.dumps(item)) for key, item in meta.items() if key not in _KEYS),
        )
    except (InvalidInput, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def render_least_marker(identifier: str = "") -> str:
    """Return the shortest first marker that an entry can have, for a person to write; the other keys may be left out.

    >>> render_least_marker("718d7cd2cb5ac1db")
    '<!-- lineage:entry {"id": "718d7cd2cb5ac1db", "at": "2026-03-28T22:34:06Z", "source": "manual"} -->'
    """
    meta = {"id": identifier or "0123456789abcdef", "at": "2026-03-28T22:34:06Z", "source": MANUAL}
    return f"<!-- lineage:entry {json.dumps(meta)} -->"


def describe_damage(word: str, value: str) -> str:
    """Return what is wrong with a marker that can't be read, and a whole one; `word` is "" for none on its own line."""
    if word == "forgotten":
        return f"a damaged marker: a whole one is `{render_tombstone('0123456789abcdef').strip()}`"
    if not word:
        return "a damaged marker: a whole one has a line of its own, from `<!--` to `-->`"
    return f"a damaged marker: {_find_fault(value)}; a whole one is `{render_least_marker()}`"


def _find_fault(value: str) -> str:
    """Return why a marker's value is none of an entry's."""
    try:
        meta = parse_strict_json(value)
    except json.JSONDecodeError as error:
        return f"its JSON breaks at character {error.pos + 1} ({error.msg})"
    except (ValueError, RecursionError) as error:
        return f"its JSON can't be read ({error})"
    missing = [key for key in ("id", "at", "source") if not isinstance(meta, dict) or key not in meta]
    return f"it lacks {', '.join(missing)}" if missing else "a value in it is of another form"


def _expect_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("neither text nor null")
    return value


def _expect_texts(value: Any) -> tuple[str, ...]:
    if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise ValueError("not a list of texts")
    return tuple(value or ())


def _render_comment(entry: Entry) -> str:
    meta: dict[str, Any] = {
        "id": entry.id,
        "at": entry.at,
        "source": entry.source,
        "tool": entry.tool,
        "from": entry.origin,
        "tags": list(entry.tags),
        "supersedes": list(entry.supersedes),
        **({"about": list(entry.about)} if entry.about else {}),
        **({"updated": entry.updated} if entry.updated else {}),
        **({"pinned": True} if entry.pinned else {}),
        **{key: json.loads(item) for key, item in entry.more},
    }
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", replace_surrogates(json.dumps(meta, ensure_ascii=False)))


def _normalize(body: str) -> str:
    return normalize_body(replace_surrogates(body)).strip("\n")


def _close_fence(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text
