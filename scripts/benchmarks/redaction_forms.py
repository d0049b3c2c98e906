"""Cases for the sanitizer by a seed: made-up secrets in the forms in which transcripts hold them.

Nothing here knows the rules. Vendors' tokens stand in families, passwords and keys without a mark behind the names that
people give them, both in the syntax of real files, commands and sentences, plain and in disguise.
"""

import json
from collections.abc import Callable, Collection, Iterator
from random import Random
from typing import NamedTuple

from benchmarks.redaction_carriers import CARRIERS, PASSWORDS_ONLY, TOKENS_ONLY, Carrier
from benchmarks.redaction_disguises import DISGUISES, Disguise
from benchmarks.redaction_families import FAMILIES, Family
from benchmarks.redaction_marks import CLOSE, OPEN, Case, marked, marked_lines, may, read_case
from benchmarks.redaction_values import NAMES, PASSWORD_NAMES, SHAPES

_WEAK_NAMES = (("value",), ("setting",), ("remote",), ("output",), ("example", "run"), ("id",), ("config",), ("item",))
_UNSTEADY_SHAPES = frozenset({"with spaces", "with a quote", "6 to 9 characters"})
_STEADY_SHAPES = [shape for shape in SHAPES if shape not in _UNSTEADY_SHAPES]
_TOKEN_CARRIERS = frozenset(
    carrier.id
    for carrier in CARRIERS
    if carrier.kind in {"settings files", "JSON and XML", "code", "deployment"}
    and carrier.id not in PASSWORDS_ONLY
    and carrier.id not in TOKENS_ONLY
)


class Form(NamedTuple):
    """A case, and by what names to count it: of what the secret is, where it stands, and how it is disguised."""

    case: Case
    what: str
    kind: str
    carrier: str
    place: str
    disguise: str = ""
    change: str = ""


def families(random: Random, count: int) -> Iterator[Form]:
    """Tokens of every family in turn, in surroundings that real text has."""
    for place in range(count):
        family = FAMILIES[place % len(FAMILIES)]
        carrier, text = _write_token(family, random)
        yield Form(read_case(text), family.id, family.kind, carrier, "tokens")


def passwords(random: Random, count: int) -> Iterator[Form]:
    """Values of every shape in turn, each carrier as often as the others."""
    shapes = list(SHAPES)
    for place in range(count):
        carrier = CARRIERS[place % len(CARRIERS)]
        shape = shapes[sum(divmod(place, len(CARRIERS))) % len(shapes)]
        text, shape = _write_value(carrier, shape, random)
        yield Form(read_case(text), shape, SHAPES[shape].kind, carrier.id, carrier.kind)


def disguised(random: Random, count: int) -> Iterator[Form]:
    """Tokens and values in every disguise in turn."""
    done = 0
    while done < count:
        disguise = DISGUISES[done % len(DISGUISES)]
        form = _disguise(disguise, random)
        if form:
            done += 1
            yield form


def _disguise(disguise: Disguise, random: Random) -> Form | None:
    if random.random() < 0.5:
        family = random.choice(FAMILIES)
        what, kind, place = family.id, family.kind, "tokens"
        carrier, text = _write_token(family, random, disguise.carriers)
    else:
        chosen = random.choice([carrier for carrier in CARRIERS if carrier.id in disguise.carriers])
        text, what = _write_value(chosen, random.choice(_STEADY_SHAPES), random)
        kind, carrier, place = SHAPES[what].kind, chosen.id, chosen.kind
    if what in _UNSTEADY_SHAPES:
        return None
    if disguise.kind != "margin":  # it is about one line, and what stands beside it
        if text.count(OPEN) > 1 or "\n" in text[text.index(OPEN) : text.index(CLOSE)]:
            return None
        text = _around_secret(text)
    case = disguise.dress(text, random)
    return case and Form(case, what, kind, carrier, place, disguise.id, disguise.kind)


def _around_secret(text: str) -> str:
    """The line of the secret, with the one before it if the name stands there."""
    lines = text.split("\n")
    place = next(number for number, line in enumerate(lines) if OPEN in line)
    alone = lines[place].lstrip().startswith((OPEN, "<string>", "value:", "- "))
    return "\n".join(lines[max(0, place - alone) : place + 1])


def _write_value(carrier: Carrier, shape: str, random: Random) -> tuple[str, str]:
    """Write a value of the shape, or of another where the carrier can't hold it."""
    shapes = TOKENS_ONLY.get(carrier.id, tuple(SHAPES))
    shape = shape if shape in shapes else random.choice(shapes)
    while True:
        names = PASSWORD_NAMES if carrier.id in PASSWORDS_ONLY or SHAPES[shape].made_up else NAMES
        for _ in range(20):
            text = carrier.write(random.choice(names), SHAPES[shape].draw(random), random)
            if text is not None:
                return text, shape
        shape = random.choice(shapes)


def _write_token(family: Family, random: Random, carriers: Collection[str] = _TOKEN_CARRIERS) -> tuple[str, str]:
    token = family.draw(random)
    start, end = family.secret(token)
    if family.lines or start or end < len(token):
        return _write_in_parts(may(token[:start] + marked(token[start:end]) + token[end:]), family, random)
    if family.name:
        name, around = random.choice(list(_NAMED.items()))
        return name, around(family.name, marked(token))
    if carriers is _TOKEN_CARRIERS and random.random() < 0.5:
        name, around_token = random.choice(list(_BARE.items()))
        return name, around_token(marked(token))
    while True:
        carrier = random.choice([carrier for carrier in CARRIERS if carrier.id in carriers])
        text = carrier.write(random.choice((*_WEAK_NAMES, ("token",), ("api", "key"))), token, random)
        if text is not None and "$$" not in text:  # as a Makefile would write a hash: nobody does
            return carrier.id, text


def _write_in_parts(written: str, family: Family, random: Random) -> tuple[str, str]:
    name, around = random.choice(list((_BLOCKS if family.lines else _BARE).items()))
    return name, around(written)


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


def _as_json(text: str) -> str:
    return json.dumps({"type": "text", "content": f"It is\n{text}\n"}, ensure_ascii=False)


def _rows(before: Callable[[int], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(before(place) + line for place, line in enumerate(marked_lines(text), 1))


_BARE: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "sentence": lambda text: f"Use {text} for the test, then delete it.",
    "backticks": lambda text: f"- the new one: `{text}`\n- the old one is gone",
    "quotes": lambda text: f'The value "{text}" was in the history.',
    "tool output": _as_json,
    "URL": lambda text: (
        f"https://api.internal/v1/items?page=2&v={text}&sort=name" if "://" not in text else f"open {text}"
    ),
    "bearer": lambda text: (
        f"curl -H 'Authorization: Bearer {text}' https://api.internal/v1" if "://" not in text else text
    ),
    "bullet": lambda text: f"* {text}\n* next",
    "assignment": lambda text: f"x = '{text}'\nprint(x)",
    "diff": lambda text: f"@@ -1 +1 @@\n-first\n+{text}\n",
    "listing": lambda text: f"     1→first\n     2→{text}\n     3→last",
    "table": lambda text: f"| deploy | {text} | today |",
    "parentheses": lambda text: f"the new one ({text}) works",
    "echo": lambda text: f"$ echo {text}",
}
_NAMED: dict[str, Callable[[str, str], str]] = {
    ".env": lambda name, text: f"APP_ENV=test\n{name}={_quoted(text)}\nPORT=80",
    "export": lambda name, text: f'export {name}="{text}"',
    "JSON": lambda name, text: f'{{"a": 1, "{name}": "{text}"}}',
    "YAML": lambda name, text: f"env:\n  {name}: {text}\n  PORT: 80",
    "INI": lambda name, text: f"[a]\n{name} = {text}\n",
    "Python": lambda name, text: f'{name.replace("-", "_")} = "{text}"',
    "sentence": lambda name, text: f"Set {name} to {_quoted(text)} and try again.",
    "docker": lambda name, text: f"docker run -e {name}={_quoted(text)} app",
}
_BLOCKS: dict[str, Callable[[str], str]] = {
    "file": lambda text: f"$ cat key.pem\n{text}\n$ ls",
    "JSON": _as_json,
    "JSON in JSON": lambda text: _as_json(_as_json(text)),
    "YAML block": lambda text: "tls:\n  key: |\n" + _rows(lambda _: "    ")(text) + "\n  port: 443",
    "diff": lambda text: "@@ -0,0 +1,9 @@\n" + _rows(lambda _: "+")(text),
    "quote": lambda text: "He wrote:\n" + _rows(lambda _: "> ")(text) + "\nok",
    "listing": _rows(lambda place: f"{place:6}→"),
    "Python": lambda text: f'KEY = """{text}"""\nprint(1)',
    "one line": lambda text: "KEY=" + text.replace("\n", "\\n") + "\nPORT=80",
}

Group = Callable[[Form], str]


class Sort(NamedTuple):
    """Cases of one sort, and by what they are counted; two that belong together stand in one table."""

    title: str
    draw: Callable[[Random, int], Iterator[Form]]
    groups: tuple[Group, ...]
    table: tuple[Group, Group] | None = None


FORMS: tuple[Sort, ...] = (
    Sort(f"tokens of {len(FAMILIES)} families", families, (lambda form: form.kind,)),
    Sort(
        f"passwords and keys in {len(CARRIERS)} carriers",
        passwords,
        (lambda form: form.kind, lambda form: form.what, lambda form: form.carrier),
        (lambda form: form.what, lambda form: form.place),
    ),
    Sort(f"{len(DISGUISES)} disguises", disguised, (lambda form: form.change, lambda form: form.disguise)),
)
