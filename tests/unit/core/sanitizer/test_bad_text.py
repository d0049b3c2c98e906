"""What no well-meant text looks like: a line of 10 MB, bytes that are no UTF-8, encodings in encodings.

And the same bytes come out always. Fails when a broken byte hides the secret beside it, when the engine reads deeper
than its time allows, or when an order of a set or a table of Python's decides about a byte.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from base64 import b64encode, encodebytes
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.core.sanitizer import Sanitizer
from scripts.benchmarks.disguises import DISGUISES
from scripts.benchmarks.rule_examples import RULE_EXAMPLES
from tests.support.parametrize import each
from tests.unit.core.sanitizer.material import OWN, SECRETS, TOKEN

ROOT = Path(__file__).parents[4]
KEY, MASKED = SECRETS["aws"], "[REDACTED:aws-access-key-id]"


def sanitize_bytes(data: bytes, folder: Path) -> bytes:
    command = [sys.executable, "-m", "lineage", "-w", str(folder / "none"), "sanitize"]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=120).stdout


@pytest.mark.slow
@each("filler", ["a word ", '{"a": "b", "n": 12}, ', "aB3"])
def test_a_line_of_ten_megabytes_comes_out_without_its_secrets(filler: str, tmp_path: Path) -> None:
    part = f"{KEY},{filler * 60},"
    line = part * (10_000_000 // len(part)) + KEY
    assert sanitize_bytes(line.encode(), tmp_path).decode() == line.replace(KEY, MASKED)


@pytest.mark.slow
def test_bytes_that_are_no_text_hide_no_secret(tmp_path: Path) -> None:
    broken = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\x80\x81"]
    data = b"\n".join(bad + KEY.encode() + bad + b" and " + bad for bad in broken)
    shown = sanitize_bytes(data, tmp_path).decode()
    assert shown == data.decode(errors="replace").replace(KEY, MASKED)
    long = b"\xc3" * (1 << 20) + b"\xa9 " + KEY.encode()
    assert sanitize_bytes(long, tmp_path).decode() == long.decode(errors="replace").replace(KEY, MASKED)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: b64encode(text.encode()).decode(),
    "%XX": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "uXXXX": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "hex": lambda text: text.encode().hex(),
    "wrapped": lambda text: encodebytes(text.encode()).decode(),
}


def encode(*names: str) -> str:
    text = TOKEN
    for name in names:
        text = ENCODINGS[name](text)
    return text


@each("names", [("base64", "%XX", "uXXXX", "hex"), ("base64", "base64"), ("hex", "base64", "%XX", "%XX", "uXXXX")])
def test_two_encodings_are_read_each_in_up_to_three_escapes(names: tuple[str, ...]) -> None:
    assert Sanitizer(OWN).sanitize(f"it is {encode(*names)}.") == "it is [REDACTED:probe-token]."


@each("names", [("base64",) * 5, ("hex", "base64", "base64", "hex", "base64"), ("wrapped", "base64", "hex") * 2])
def test_encodings_in_nothing_but_encodings_are_read_five_deep_and_more(names: tuple[str, ...]) -> None:
    assert Sanitizer(OWN).sanitize(f"it is {encode(*names)}.") == "it is [REDACTED:probe-token]."


def test_a_third_encoding_behind_escapes_is_not_read() -> None:
    """scripts/benchmarks/README.md says so: every further one would multiply what a hostile text costs."""
    text = f"it is {encode('base64', '%XX', 'hex', '%XX', 'base64')}."
    assert Sanitizer(OWN).sanitize(text) == text


DIGEST = """
import sys
from hashlib import sha256
from lineage.core.sanitizer import BUILTIN, Sanitizer
shown = Sanitizer().sanitize(sys.stdin.buffer.read().decode())
print(sha256(shown.encode()).hexdigest(), BUILTIN.version, shown.count("[REDACTED:"))
"""


def find_pythons() -> list[str]:
    """Return this Python, and every other one on PATH that has what the sanitizer needs."""
    others = filter(None, (shutil.which(f"python3.{minor}") for minor in range(11, 20)))
    ready = ["-c", "import re2, click, yaml"]
    able = [path for path in others if not subprocess.run([path, *ready], capture_output=True, check=False).returncode]
    return [sys.executable, *able]


@pytest.mark.slow
def test_the_same_bytes_come_out_of_every_process_hash_seed_and_python() -> None:
    examples = [example.text for example in RULE_EXAMPLES.values()]
    disguised = [disguise(secret) for disguise in DISGUISES.values() for secret in SECRETS.values()]
    text = "\n".join([*examples, *disguised]).encode(errors="replace")
    told = {
        subprocess.run(
            [python, "-c", DIGEST], input=text, capture_output=True, check=True, cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for python in find_pythons() for seed in ("0", "1", "4711", "random")
    }  # fmt: skip
    here = Sanitizer().sanitize(text.decode())
    assert [line.split()[0].decode() for line in told] == [hashlib.sha256(here.encode()).hexdigest()]
