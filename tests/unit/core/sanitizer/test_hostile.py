"""A hostile megabyte comes through in linear time, in a process of its own: a minute would be a hundred times too long.

Fails with any pattern that backtracks and any loop that looks at the whole text for every match.
"""

import re
import subprocess
import sys
from base64 import b64encode

import pytest

from lineage.core.sanitizer import RULES, Ruleset, Sanitizer, value_ends
from lineage.core.sanitizer.ruleset import Span, Verdicts
from scripts.benchmarks.disguises import DISGUISES
from scripts.benchmarks.rule_examples import RULE_EXAMPLES
from tests.unit.core.sanitizer.material import TOKEN

_MEGABYTE = 1_000_000
_LIMIT = 60
UNITS = {
    "letters": "a",
    "jwt": "eyJ",
    "assignments": "password=",
    "assigned": "token='q7Zp4vLk9sXw2mBt' ",
    "values without end": "password=" + "(" * 40,
    "values in brackets": "password=((((((()))))",
    "values of fields": "password=,a=,b=,c=",
    "values with doubled quotes": "token='a''b",
    "elements without end": "<password>aB3" + "c" * 40,
    "percent": "%41",
    "percent of percent": "%25",
    "escapes": "\\u0041",
    "backslashes": "\\",
    "entities": "&#65;",
    "concatenations": '"a"+',
    "quotes": '" ',
    "gaps": '"a"' + " " * 79 + "\n" + " " * 39,
    "zero-width": "\u200b",
    "zero-width between": "a\u200b",
    "fullwidth": "ａ",
    "math": "\U0001d4d0",
    "beginnings of keys": "-----BEGIN PRIVATE KEY-----",
    "keys without end": "-----BEGIN PRIVATE KEY-----\nMIIE\n",
    "terminal": "\x1b[",
    "terminal links": "\x1b]8;;",
    "parameters": "\x1b[" + "0;" * 400,
    "urls": "://a:",
    "addresses": "postgres://a:b@",
    "headers": "Authorization: Bearer ",
    "line ends": "aB1\n",
    "full rows": "a1_" * 20 + "\n",
    "rows in margins": "│ " * 20 + "a1" * 9 + "\n",
    "dumps": "00000000: 6b65 793d 3132 3334 3536 3738 3930 6162  key=1234567890ab\n",
    "dumps in two": "00000000  6b 65 79 3d 31 32 33 34  35 36 37 38 39 30 61 62  |key=1234567890ab|\n",
    "signs escaped": "\\_",
    "soft breaks": "aB1=\n",
    "markers": "[REDACTED:jwt] a1",
    "marker beginnings": "[REDACTED:",
    "hex": "0x41, ",
    "tokens": f"{TOKEN} ",
    "tokens without end": "AKIA",
    "lone surrogates": "\ud800",
}
_ENCODED = b64encode(b'%41%42\\u0041"a" + "b" \\x41 key: ').decode()
# Units whose readings multiply: encodings within joins within escapes, names upon names, a secret at every new edge.
MIXTURES = {
    "base64, escapes and joins": f'{_ENCODED} %2541\\u0041\\x41"a" + "b" ',
    "base64 of many levels": f"{b64encode(_ENCODED.encode()).decode()}%252541 ",
    "hex behind escapes": "70617373776f72643d68756e746572326162\\\\u0041\r\n",
    "names in lines": "Password:\n",
    "names in quotes": 'password="',
    "names in escapes": "password=%252541 \r\n",
    "names in entities": '%2541&amp;amp;password="',
    "a key at every edge": "\nAKIA",
    "a value at every edge": "PGPASSWORD=password=\\\\eyJ",
    "elements and options": "\\\\u0041<password>= --password ",
    "guesses in base64": "api_key=YXBpX2tleT1hQjN4SzltUDJ2TDU=%2541",
    "quotes behind escapes": '!psk="zMoSDm3vFbqnWwAg""+"\\xc3\\xa9',
}


class CountingRuleset(Ruleset):
    """Counts the characters that are read and the names whose values are judged."""

    read = 0
    names = 0

    def find_matches(self, text: str, verdicts: Verdicts | None = None) -> list[Span]:
        verdicts = Verdicts() if verdicts is None else verdicts
        before, self.read = verdicts.names, self.read + len(text)
        matches = super().find_matches(text, verdicts)
        self.names += verdicts.names - before
        return matches


def count_work(text: str) -> tuple[float, float]:
    rules = CountingRuleset(RULES)
    once = Sanitizer(rules).sanitize(text)
    work = rules.read / len(text), rules.names / len(text)
    assert Sanitizer().sanitize(once) == once
    return work


@pytest.mark.slow
@pytest.mark.parametrize("unit", MIXTURES.values(), ids=MIXTURES)
def test_the_readings_of_a_mixture_cost_no_more_than_a_few_times_the_text(unit: str) -> None:
    """Fails without the limit on work, without the one on names that stand too close, and with eight rounds of it."""
    text = unit * (150_000 // len(unit))
    read, names = count_work(text)
    twice_read, twice_names = count_work(text * 2)
    assert (read <= 6, names <= 0.18, twice_read <= read + 1, twice_names <= names + 0.05) == (True,) * 4, (
        read, names, twice_read, twice_names,
    )  # fmt: skip


def test_a_piece_that_repeats_between_findings_is_read_once() -> None:
    read, _ = count_work('パスワード: ASANA_CLIENT_SECRET=51453357828dd007c69}"\n"secret_key_base\\xc3\\xa9' * 3000)
    assert read <= 2.5


@pytest.mark.parametrize("name", ["password", "passwrd", "db_pass", "HASŁO", "口令", "secret", "api_key", "auth"])
def test_a_name_is_judged_by_one_rule(name: str) -> None:
    """Fails if the names of passwords are names of any secret too: most names of most texts would be judged twice."""
    for line in (f"{name} = 'q7Zp4vLk9sXw2m'", f"the {name} is q7Zp4vLk9sXw2m"):
        verdicts = Verdicts()
        assert len(Ruleset(RULES).find_matches(line, verdicts)) == verdicts.names == 1, line


@pytest.mark.parametrize("line", ["?sig=q7Zp4vLk9sXw2mBt", "Cookie: sid=q7Zp4vLk9sXw2mBt;"])
def test_a_guess_is_work(line: str) -> None:
    verdicts = Verdicts()
    Ruleset(RULES).find_matches(line, verdicts)
    assert verdicts.names


def test_the_search_for_the_end_of_a_value_skips_signs_that_end_none() -> None:
    """A pattern that begins with a set of signs, and no choice of ends, is not tried at any other sign."""
    assert value_ends._STOP.pattern.startswith(f"{value_ends._STOP_SIGN}(?:")
    assert re.compile(value_ends._STOP_SIGN).findall('aB3-_./+=%!?#@$^~{[("') == ['"']


def run_in_time(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_LIMIT, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_hostile_megabyte_comes_through(unit: str) -> None:
    run_in_time(
        "from lineage.core.sanitizer import Sanitizer\n"
        f"text = {unit!a} * ({_MEGABYTE} // {len(unit)})\n"
        "once = Sanitizer().sanitize(text)\n"
        "assert Sanitizer().sanitize(once) == once\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["b64encode(data).decode()", "data.hex()", "data.decode('latin-1')", "repr(data)"])
def test_a_megabyte_of_noise_comes_through(kind: str) -> None:
    run_in_time(
        "from base64 import b64encode\nfrom random import Random\n"
        "from lineage.core.sanitizer import Sanitizer\n"
        f"data = Random(1).randbytes({_MEGABYTE})\n"
        f"once = Sanitizer().sanitize({kind})\n"
        "assert Sanitizer().sanitize(once) == once\n"
    )


@pytest.mark.slow
def test_repeated_keywords_and_half_examples_come_through() -> None:
    """Every keyword, and the first half of every example: a match that begins everywhere and ends nowhere."""
    halves = [example.text[: len(example.text) * 2 // 3] for example in RULE_EXAMPLES.values()]
    units = sorted({word for rule in RULES for word in rule.keywords} | set(halves))
    run_in_time(
        "from lineage.core.sanitizer import Sanitizer\n"
        f"for unit in {units!a}:\n"
        "    Sanitizer().sanitize(unit * (50_000 // len(unit)))\n"
    )
    assert units


@pytest.mark.slow
def test_many_disguised_credentials_come_through() -> None:
    text = "\n".join(disguise(TOKEN) for disguise in DISGUISES.values())
    run_in_time(
        "from lineage.core.sanitizer import Sanitizer\n"
        f"text = {text!a} * {200_000 // len(text)}\n"
        "Sanitizer().sanitize(text)\n"
    )
