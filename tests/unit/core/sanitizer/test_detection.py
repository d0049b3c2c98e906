"""Laws of the engine, for any text: twice is once, the same always, markers stay, findings are what is replaced.

Fails when a piece between two redactions is not searched again, when a marker is searched, when a layer maps a place
to another one, or when a short text passes for plain that is not.
"""

import hashlib
import re
from base64 import b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.sanitizer import (
    MARKER,
    RULES,
    RedactionFinding,
    Rule,
    Ruleset,
    Sanitizer,
    count_redactions,
    normalize_text,
)
from lineage.core.sanitizer.encodings import is_plain, iter_decoded_layers
from lineage.core.sanitizer.layers import Layer
from tests.support.parametrize import each
from tests.support.strategies import draw_texts
from tests.unit.core.sanitizer.material import EXAMPLES, KEY_BLOCK, NOISE, OWN, TOKEN, draw_disguised

ANY = draw_texts(*EXAMPLES, *NOISE) | draw_texts(*NOISE).flatmap(
    lambda before: draw_disguised().flatmap(
        lambda hidden: draw_texts(*NOISE).map(lambda after: before + hidden + after)
    )
)


@given(ANY)
@example("secret='password='secret='a1b2c3d4e5f6'q7Zp4vLk9sXw")
@example("[REDACTED:" + TOKEN)
def test_sanitizing_twice_changes_nothing_and_finds_nothing_more(text: str) -> None:
    once = Sanitizer().sanitize(text)
    again = Sanitizer()
    assert again.sanitize(once) == once
    assert not again.redactions
    assert again.find_secrets(once) == []


LATER = Ruleset(RULES)
for _ in range(10):
    LATER.find_matches("")


@given(ANY)
def test_the_first_texts_are_tried_with_the_same_rules_as_all_others(text: str) -> None:
    """Fails where words that are looked for one by one lead to fewer rules than the search for all of them does."""
    assert Ruleset(RULES).find_matches(text) == LATER.find_matches(text)


@given(ANY)
def test_the_same_input_gives_the_same_output_and_counts(text: str) -> None:
    one, other = Sanitizer(), Sanitizer()
    assert one.sanitize(text) == other.sanitize(text)
    assert one.redactions == other.redactions


@given(ANY)
def test_markers_survive(text: str) -> None:
    before = MARKER.findall(normalize_text(text))
    after = iter(MARKER.findall(Sanitizer().sanitize(text)))
    assert all(marker in after for marker in before), "all of them, in their order"


@given(ANY)
def test_findings_are_the_places_that_are_replaced(text: str) -> None:
    sanitizer = Sanitizer()
    found = sanitizer.find_secrets(text)
    parts, position = [], 0
    for finding in found:
        parts += [normalize_text(text[position : finding.start]), f"[REDACTED:{finding.rule}]"]
        position = finding.end
    assert not sanitizer.redactions
    whole = "".join([*parts, normalize_text(text[position:])])
    assert _without_terminal(whole) == _without_terminal(sanitizer.sanitize(text))
    assert len(found) == sanitizer.redactions.total()


def _without_terminal(text: str) -> str:
    """A terminal sequence, or a line end of two characters, that a finding cuts leaves something behind."""
    return re.sub(r"[^A-Za-z0-9_:]|\bm\b", "", text)


@given(ANY)
def test_lines_and_columns_count_from_one(text: str) -> None:
    shown = normalize_text(text)
    for finding in Sanitizer().find_secrets(text):
        lines = shown.split("\n")
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1


def test_a_finding_has_a_place_and_no_secret() -> None:
    (finding,) = Sanitizer(OWN).find_secrets(f"one\r\ntwo\x1b[31m é {TOKEN[:9]}\u200b{TOKEN[9:]}.")
    assert finding == RedactionFinding("probe-token", 16, 16 + len(TOKEN) + 1, 2, 7)
    assert TOKEN[:9] not in repr(finding)


@pytest.mark.parametrize(
    "marker",
    ["[REDACTED:jwt]", "[REDACTED:some-old-rule]", "***", "<redacted>", "[FILTERED]", "xxxxxxxxxxxxxxxx", "[REDACTED]"],
)
def test_a_marker_is_neither_replaced_nor_extended(marker: str) -> None:
    for text in (marker, f"password = {marker}", f'"secret": "{marker}"', f"password={marker}{marker}"):
        assert Sanitizer().sanitize(text) == text


def test_a_credential_inside_a_marker_is_redacted() -> None:
    assert Sanitizer(OWN).sanitize(f"[REDACTED:{TOKEN}]") == "[REDACTED:[REDACTED:probe-token]]"


def test_redactions_are_counted_by_rule_and_seen_in_the_text() -> None:
    sanitizer = Sanitizer(OWN)
    shown = sanitizer.sanitize(f"{TOKEN} {TOKEN}, password='q7Zp4vLk9sXw'")
    assert sanitizer.redactions == {"probe-token": 2, "named-secret": 1}
    assert count_redactions(shown) == 3


def test_overlapping_findings_merge_under_the_first_and_longest() -> None:
    assert Sanitizer(OWN).sanitize(f"secret='abc-{TOKEN}' ok") == "secret='[REDACTED:named-secret]' ok"
    assert Sanitizer(OWN).sanitize(f"secret='{TOKEN}/and_more' ok") == "secret='[REDACTED:probe-token]/and_more' ok"


def test_text_that_changes_in_every_pass_is_redacted_as_a_whole() -> None:
    """Each pass finds one piece more: in the end the rest goes as a whole, and a second run has nothing to find."""
    rules = Ruleset((Rule(id="first", pattern=r"\Axx(?:yy)?"),))
    once = Sanitizer(rules).sanitize("xxyy" * 100)
    assert "x" not in once
    assert Sanitizer(rules).sanitize(once) == once


@given(st.text(st.characters(codec="ascii"), max_size=40) | draw_disguised() | draw_texts(*NOISE))
@example("[REDACTED:jwt]")
@example(b64encode(TOKEN.encode()).decode())
@example(TOKEN.encode().hex())
def test_plain_text_has_one_reading_and_no_marker(text: str) -> None:
    if is_plain(text):
        assert [layer.text for layer in iter_decoded_layers(Layer(text))] == [text]
        assert not MARKER.search(text)


def test_a_match_refused_by_one_rule_may_be_found_by_another() -> None:
    guess, sure = (Rule(id=name, pattern=r"k=(\w+)", group=1, guess=name == "guess") for name in ("guess", "sure"))
    assert Sanitizer(Ruleset((guess, sure))).sanitize("k=example1") == "k=[REDACTED:sure]"


def test_a_finding_ends_where_lines_are_left_out() -> None:
    rules = Ruleset((Rule(id="pair", pattern="beginA[^!]*Bend"),))
    assert Sanitizer(rules).sanitize("begi%6eA\nplain\nB%65nd") == "[REDACTED:pair]plain\nB%65nd"


def test_text_behind_a_marker_is_searched_on_its_own() -> None:
    rules = Ruleset((Rule(id="first", pattern="^zz[0-9]+"),))
    assert Sanitizer(rules).sanitize("[REDACTED:jwt]zz12 zz12") == "[REDACTED:jwt][REDACTED:first] zz12"


def test_a_marker_is_not_searched() -> None:
    rules = Ruleset((Rule(id="word", pattern="(?i)redacted|jwt"),))
    assert Sanitizer(rules).sanitize("a jwt, [REDACTED:jwt]") == "a [REDACTED:word], [REDACTED:jwt]"


@pytest.mark.parametrize("before", [0, 16_000, 16_384, 40_000])
def test_a_secret_longer_than_a_search_block_is_one_finding(before: int) -> None:
    body = "".join(f"{number:064d}\n" for number in range(1200))
    words = "words " * (before // 6)
    text = f"{words}\n-----BEGIN PROBE PRIVATE KEY-----\n{body}-----END PROBE PRIVATE KEY-----\n{TOKEN} x"
    assert Sanitizer(OWN).sanitize(text) == f"{words}\n[REDACTED:probe-block]\n[REDACTED:probe-token] x"


@each("before", range(49_110, 49_200, 6))
def test_a_secret_is_found_wherever_it_lies_in_a_long_text(before: int) -> None:
    text = f"{'words ' * (before // 6)}{TOKEN}{' words' * 20_000}"
    assert Sanitizer(OWN).sanitize(text) == text.replace(TOKEN, "[REDACTED:probe-token]")


GOLDEN = {
    "plain": f"the token is {TOKEN}, and password = 'q7Zp4vLk9sXw'.\r\n",
    "mixed": f"é 🙂 {TOKEN[:8]}\u200b{TOKEN[8:]} %70robe_{TOKEN[6:]} \ud800 [REDACTED:jwt]\x1b[0m",
    "block": KEY_BLOCK.replace("\n", "\\n"),
}
DIGESTS = {"plain": "8af55245c199d15f", "mixed": "c69403c1e8b77389", "block": "5dc16eaeeeac1d9c"}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_bytes_are_the_same_on_every_system(name: str) -> None:
    assert hashlib.sha256(Sanitizer(OWN).sanitize(GOLDEN[name]).encode()).hexdigest()[:16] == DIGESTS[name]


def test_the_version_follows_all_that_can_change_a_result() -> None:
    assert OWN.version == "sanitize_transcript_v1+1d6e138a"
    assert Ruleset(OWN.rules[:2]).version != OWN.version != Ruleset(OWN.rules[::-1]).version
