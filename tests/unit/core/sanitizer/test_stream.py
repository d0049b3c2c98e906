"""A stream is the same as the whole, wherever it is cut, and nothing of a secret that is too long comes out.

Fails when a block may be cut in what has to be read to know a secret, or when what follows a truncated one comes out.
"""

import random
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.sanitizer import Sanitizer, normalize_text
from scripts.benchmarks.disguises import DISGUISES
from tests.support.parametrize import each
from tests.unit.core.sanitizer.material import KEY_BLOCK, OWN, TOKEN

BLOCK, OVERLAP = 6000, 3000

LINES = st.lists(
    st.sampled_from(
        [
            "some words on a line",
            "",
            "é 🙂\r",
            "[REDACTED:jwt]",
            "\x1b[31mred\x1b[0m",
            "password = 'q7Zp4vLk9sXw'",
            "x" * 90,
        ]
    )
    | st.builds(lambda disguise: disguise(TOKEN), st.sampled_from([*DISGUISES.values(), str]))
    | st.just(KEY_BLOCK),
    min_size=60,
    max_size=260,
)


def iter_chunks(text: str, seed: int) -> Iterator[str]:
    """The text in chunks of any size, empty ones among them."""
    source, position = random.Random(seed), 0
    while position < len(text):
        size = source.choice((0, 1, 7, 100, 1000, 5000))
        yield text[position : position + size]
        position += size


def sanitize_chunks(text: str, seed: int = 0, block: int = BLOCK, overlap: int = OVERLAP) -> str:
    return "".join(Sanitizer(OWN).sanitize_stream(iter_chunks(text, seed), block, overlap))


@given(LINES, st.integers(0, 9))
def test_a_stream_is_the_same_as_the_whole(lines: list[str], seed: int) -> None:
    text = "\n".join(lines)
    assert sanitize_chunks(text, seed) == Sanitizer(OWN).sanitize(text)


@given(LINES, st.integers(0, 9))
def test_findings_in_a_stream_are_those_of_the_whole(lines: list[str], seed: int) -> None:
    text = "\n".join(lines)
    assert list(Sanitizer(OWN).find_secrets_in_stream(iter_chunks(text, seed), BLOCK, OVERLAP)) == Sanitizer(
        OWN
    ).find_secrets(text)


@each("before", range(0, 130, 7))
def test_a_secret_is_one_finding_wherever_a_block_ends(before: int) -> None:
    text = f"{'x ' * before}{TOKEN} y\n" * 12
    assert sanitize_chunks(text, block=200, overlap=100) == Sanitizer(OWN).sanitize(text)


@pytest.mark.parametrize("separator", ["\n", " ", ""])
def test_a_line_longer_than_any_block_comes_through(separator: str) -> None:
    text = separator.join(["abc"] * 5000 + [f" {TOKEN} "] + ["abc"] * 5000)
    assert sanitize_chunks(text) == Sanitizer(OWN).sanitize(text)


@pytest.mark.parametrize("ending", ["\n-----END PROBE PRIVATE KEY-----", ""])
def test_no_part_of_a_key_longer_than_four_blocks_comes_out(ending: str) -> None:
    body = "".join(f"{number:064d}\n" for number in range(900))
    shown = sanitize_chunks(f"before\n-----BEGIN PROBE PRIVATE KEY-----\n{body[:-1]}{ending}\nand after it\n")
    assert shown.startswith("before\n[REDACTED:probe-block]")
    assert shown.removesuffix("\n").endswith("and after it")
    assert "000000" not in shown
    assert "PRIVATE" not in shown


def test_a_key_within_the_bound_is_one_redaction() -> None:
    body = "".join(f"{number:064d}\n" for number in range(250))
    text = f"a\n-----BEGIN PROBE PRIVATE KEY-----\n{body}-----END PROBE PRIVATE KEY-----\nb"
    assert sanitize_chunks(text) == "a\n[REDACTED:probe-block]\nb"


def test_an_empty_stream_stays_empty() -> None:
    assert list(Sanitizer(OWN).sanitize_stream([])) == []
    assert "".join(Sanitizer(OWN).sanitize_stream(["", "\x00", ""])) == ""


@pytest.mark.slow
def test_memory_is_bounded_by_the_block() -> None:
    line = f"some words and {TOKEN} and more of them, on and on\n" * 20

    def peak(count: int) -> int:
        tracemalloc.start()
        for _ in Sanitizer(OWN).sanitize_stream((line for _ in range(count)), 10_000, 1000):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(20)
    assert peak(400) < 2 * peak(40)


def test_a_stream_is_normalized_over_chunks() -> None:
    assert "".join(Sanitizer(OWN).sanitize_stream(["a\r", "\nb\x1b", "[31mc"])) == normalize_text("a\r\nb\x1b[31mc")
