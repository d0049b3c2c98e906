"""A value behind a strong name is redacted whole or, where it is no secret by the rules, not at all.

Fails when the end of a value is found by the signs that a pattern knows rather than by its carrier, and when a quote
that is escaped or doubled inside of a value ends it.
"""

import json
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lineage.core.sanitizer import MARKER, Sanitizer

NAMES = ("password", "DB_PASSWORD", "apiKey", "client_secret", "access_token", "passphrase", "Passwort", "secret_key")


def _in_shell(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _doubled(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _in_code(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Each writes a name and a value as the syntax demands it, the value between two marks that the test takes out.
CARRIERS: dict[str, Callable[[str, str], str]] = {
    "JSON": lambda name, value: f'{{"user": "ada", {json.dumps(name)}: {_marked(json.dumps(value))}, "port": 5432}}',
    "JSON in JSON": lambda name, value: json.dumps(json.dumps({name: "\0" + value + "\0", "port": 1})).replace(
        "\\\\u0000", "\0"
    ),
    "Python": lambda name, value: f"{name} = {_marked(_in_code(value))}",
    "a Python keyword": lambda name, value: f'connect("db", {name}={_marked(_in_code(value))}, timeout=3)',
    "a Python dictionary": lambda name, value: f"{{'{name}': {_marked(_in_code(value))}, 'port': 1}}",
    "TypeScript": lambda name, value: f"const {name}: string = {_marked(_in_code(value))};",
    "Go": lambda name, value: f"var {name} string = {_marked(_in_code(value))}",
    "Go's short form": lambda name, value: f"\t{name} := {_marked(_in_code(value))}",
    "C++": lambda name, value: f"auto {name} = std::string({_marked(_in_code(value))});",
    "R": lambda name, value: f"{name} <- {_marked(_in_code(value))}",
    "a default": lambda name, value: f'{name} = env("{name}", default={_marked(_in_code(value))})',
    "a list": lambda name, value: f'"{name}s": [{_marked(_in_code(value))}]',
    "export": lambda name, value: f"export {name}={_marked(_in_shell(value))}",
    "a shell's prefix": lambda name, value: f"{name}={_marked(_in_shell(value))} psql -h db",
    "an option": lambda name, value: f"deploy --{name}={_marked(_in_shell(value))} --verbose",
    "YAML": lambda name, value: f"db:\n  {name}: {_marked(_doubled(value))}\n  port: 1",
    "TOML": lambda name, value: f"[db]\n{name} = {_marked(_in_code(value))}\nport = 1",
    "SQL": lambda name, value: f"CREATE USER ada WITH PASSWORD {_marked(_doubled(value))};",
    "an XML attribute": lambda name, value: f'<add key="{name}" value={_marked(quoteattr(value))} />',
    "an XML element": lambda name, value: f"<{name}>\0{escape(value.strip())}\0</{name}>",
    "PHP": lambda name, value: f"$config['{name}'] = {_marked(_in_code(value))};",
    "Terraform": lambda name, value: f'variable "{name}" {{\n  default = {_marked(_in_code(value))}\n}}',
    "a dotenv file": lambda name, value: f"A=b\n{name}={_marked(_in_code(value))}\nC=d",
}

UNESCAPED = {"export", "a shell's prefix", "an option", "YAML", "SQL", "an XML attribute", "an XML element"}


def _marked(quoted: str) -> str:
    return f"{quoted[0]}\0{quoted[1:-1]}\0{quoted[-1]}"


VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=6, max_size=60) | st.text(
    st.sampled_from("aB3xK9#mP2$vL5'\"\\`,;(){}<>|&=?[]!@%^*-_.:/~+ é"), min_size=6, max_size=30
)


@pytest.mark.parametrize("carrier", CARRIERS)
@given(name=st.sampled_from(NAMES), value=VALUES)
@example(name="password", value="xK9#mP2$vL5nQ8wR3tY6")
@example(name="password", value="it's 9 o'clock")
@example(name="password", value="ends9in\\")
def test_no_part_of_a_value_stays_beside_its_marker(carrier: str, name: str, value: str) -> None:
    if carrier in UNESCAPED:  # there nobody can tell a backslash that escapes a quote from one that doesn't
        assume("\\" not in value)
    before, written, after = CARRIERS[carrier](name, value).split("\0")
    sanitized = Sanitizer().sanitize(before + written + after)
    if sanitized != before + written + after:
        assert sanitized.startswith(before)
        assert sanitized.endswith(after)
        assert MARKER.fullmatch(sanitized[len(before) : len(sanitized) - len(after)])
