"""Generated configuration files: JSON with and without comments in many hands' styles, holding others' hooks."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

EVENTS = ("SessionStart", "Stop", "PreToolUse", "stop", "sessionEnd")
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "é", "a // b", "/* c */", 'x"y', "},]"])
VALUES = st.recursive(
    SCALARS,
    lambda one: st.lists(one, max_size=2) | st.dictionaries(st.sampled_from("abc"), one, max_size=2),
    max_leaves=4,
)
OTHERS = st.fixed_dictionaries(
    {"hooks": st.lists(st.just({"type": "command", "command": "echo lineage hook"}), max_size=2)},
    optional={"matcher": st.sampled_from(["*", "startup"])},
)
HOOKS = st.dictionaries(st.sampled_from(EVENTS), st.lists(OTHERS, max_size=2), max_size=3)
MEMBERS = {"model": SCALARS, "permissions": VALUES, "hooks": HOOKS, "version": st.just(1), "z": VALUES}


@st.composite
def settings(draw: Callable[[Any], Any]) -> dict[str, Any]:
    """A settings file's value: some members in some order, half of the time others' hooks."""
    keys = [key for key in draw(st.permutations(list(MEMBERS))) if draw(st.booleans())]
    return {key: draw(MEMBERS[key]) for key in keys}


BLANKS = st.sampled_from(["", " ", "\n", "\n  ", "  ", "\n\n", "\t"])
NOTES = st.sampled_from(["// note\n", "// [x]  \n", "/* b */", "/* two\nlines */", "//\n"])


@st.composite
def gaps(draw: Callable[[Any], Any], *, comments: bool) -> str:
    """What may stand between two tokens: white space and, in some files, comments."""
    parts = draw(st.lists(BLANKS | NOTES if comments else BLANKS, max_size=3))
    return "".join(parts)


@st.composite
def scattered(draw: Callable[[Any], Any], value: Any, *, comments: bool) -> str:
    """A value as text with anything that may stand between its tokens."""

    def gap() -> str:
        return str(draw(gaps(comments=comments)))

    def written(one: Any) -> str:
        if not isinstance(one, list | dict):
            return json.dumps(one, ensure_ascii=draw(st.booleans()))
        items = [written(item) for item in (one.values() if isinstance(one, dict) else one)]
        if isinstance(one, dict):
            items = [json.dumps(key) + gap() + ":" + gap() + item for key, item in zip(one, items, strict=True)]
        ends = "[]" if isinstance(one, list) else "{}"
        inner = ("," + gap()).join(item + gap() for item in items)
        trailing = "," + gap() if items and comments and draw(st.booleans()) else ""
        return ends[0] + gap() + inner + trailing + ends[1]

    return gap() + written(value) + gap()


@st.composite
def files(draw: Callable[[Any], Any]) -> str:
    """A whole file: without a value, printed by a formatter, or in disorder; any line ends, with or without a mark."""
    value = draw(settings())
    style = draw(st.sampled_from([0, 1, 1, 2, 3, 3]))
    if style == 0:
        text = draw(gaps(comments=True))
    elif style == 1:
        indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
        text = json.dumps(value, indent=indent, ensure_ascii=False) + draw(st.sampled_from(["", "\n"]))
    else:
        text = draw(scattered(value, comments=style == 3))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text
