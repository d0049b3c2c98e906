"""Frontmatter as text: what is written reads back equal, by us, by the strict YAML, by python-frontmatter."""

import json
from typing import Any

import frontmatter as python_frontmatter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.body import replace_surrogates
from lineage.core.format.frontmatter import FrontmatterHandler, build_post, parse_yaml, split_block
from lineage.core.format.frontmatter import dump as dump_post
from lineage.core.format.frontmatter import load as load_post
from lineage.errors import FormatError
from tests.support.parametrize import each
from tests.support.strategies import INVISIBLE, draw_texts

NUMBERS = st.integers(1 - 10**18, 10**18 - 1)
PLAIN = st.none() | st.booleans() | NUMBERS | draw_texts()
METAS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True), PLAIN | st.lists(PLAIN), max_size=8)


def dump(meta: dict[str, Any], body: str) -> str:
    return dump_post(build_post(meta, body))


def load(text: str) -> tuple[dict[str, Any], str]:
    post = load_post(text)
    return post.metadata, post.content


def as_utf8(value: Any) -> Any:
    """The value with the replacement character for lone surrogates."""
    if isinstance(value, dict):
        return {key: as_utf8(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_utf8(item) for item in value]
    return replace_surrogates(value) if isinstance(value, str) else value


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Equal in keys, their order, values and types (`True` is no 1)."""
    return json.dumps(one) == json.dumps(other)


def block_of(text: str) -> str:
    return split_block(text)[0]


@given(METAS, draw_texts())
def test_what_is_written_reads_back_equal_and_in_order(meta: dict[str, Any], body: str) -> None:
    read, rest = load(dump(meta, body))
    assert same(read, as_utf8(meta))
    assert rest == body


@given(METAS)
def test_the_strict_yaml_reads_what_we_write_as_we_do(meta: dict[str, Any]) -> None:
    text = dump(meta, "")
    assert same(parse_yaml(block_of(text)), load(text)[0])


@given(METAS)
def test_a_value_takes_one_printable_line(meta: dict[str, Any]) -> None:
    lines = block_of(dump(meta, "")).splitlines()
    assert len(lines) == len(meta)
    assert not any(INVISIBLE.search(line) for line in lines)


@given(METAS, draw_texts().map(replace_surrogates))
def test_python_frontmatter_reads_our_files_with_our_handler(meta: dict[str, Any], body: str) -> None:
    post = python_frontmatter.loads(dump(meta, body), handler=FrontmatterHandler())
    assert same(post.metadata, as_utf8(meta))
    assert post.content.split() == body.split()


@given(METAS)
def test_python_frontmatter_writes_what_we_read(meta: dict[str, Any]) -> None:
    text = python_frontmatter.dumps(python_frontmatter.Post("the body", handler=FrontmatterHandler(), **as_utf8(meta)))
    assert same(load(text + "\n")[0], as_utf8(meta))


def test_a_property_may_have_the_name_of_an_argument_of_a_post() -> None:
    meta = {"content": "x", "handler": "y"}
    assert load(dump(meta, "body")) == (meta, "body")


def test_windows_line_ends_are_read() -> None:
    assert load('---\r\nkind: "x"\r\nlist: ["a", 1]\r\n---\r\nbody\r\n') == (
        {"kind": "x", "list": ["a", 1]},
        "body\r\n",
    )


def test_emoji_written_as_json_escapes_are_read() -> None:
    assert load('---\ntitle: "\\ud83d\\ude00"\n---\n')[0] == {"title": "😀"}


def test_a_hand_edited_line_is_read_by_the_strict_rules() -> None:
    meta, body = load(
        "---\nkind: summary\ntags:\n  - no\n  - 12:30:45\nsize: 1_000\nat: 2026-03-28T22:34:06Z\nx: ~\n---\n\n b"
    )
    assert meta == {
        "kind": "summary", "tags": ["no", "12:30:45"], "size": "1_000", "at": "2026-03-28T22:34:06Z", "x": None,
    }  # fmt: skip
    assert body == "\n b"


def test_a_number_too_large_for_an_index_is_text_however_it_is_read() -> None:
    meta = {"a": "1" + "0" * 18}
    assert load(f"---\na: 1{'0' * 18}\n---\n")[0] == meta
    assert load(f"---\na:   1{'0' * 18}\n---\n")[0] == meta


def test_rules_inside_the_body_belong_to_the_body() -> None:
    assert load(dump({"a": "---"}, "---\nb: 1\n---\n")) == ({"a": "---"}, "---\nb: 1\n---\n")


def test_a_closing_line_at_the_end_of_the_file_needs_no_newline() -> None:
    assert load('---\na: "b"\n---') == ({"a": "b"}, "")


@each(
    "text",
    [
        "",
        "---",
        "---\n",
        '---\na: "b"\n',
        'a: "b"\n---\n',
        '\ufeff---\na: "b"\n---\n',
        '\n---\na: "b"\n---\n',
        '---\na: "b"\na: "c"\n---\n',
        "---\na: [[1]]\n---\n",
        '---\na: {"b": 1}\n---\n',
        "---\na: " + "[" * 5000 + "\n---\n",
        "---\na: " + "[" * 200_000 + "\n---\n",
        '---\na: "\\ud800"\n---\n',
        '---\na: ["\\ud800"]\n---\n',
        '---\na: "' + "x" * 1_000_001 + '"\n---\n',
        "---\na: !!python/name:os.system\n---\n",
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_frontmatter_of_ours_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        load(text)


@pytest.mark.parametrize("value", [1.5, {"a": 1}, b"x", object()])
def test_a_value_of_another_type_is_never_written(value: Any) -> None:
    with pytest.raises(TypeError):
        dump({"a": value}, "")
