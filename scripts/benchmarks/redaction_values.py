"""Passwords and keys without a vendor's mark, and the names that stand before them."""

from base64 import b64encode
from collections.abc import Callable
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple
from uuid import UUID

from benchmarks.redaction_families import fill

SIGNS = "!@#$%^&*()_+-={}[]|;:,.<>?/~"
_FIRST_SIGNS = "!^+~_"
_ALNUM = ascii_letters + digits
_SYLLABLES = "bal cor den fir gul hap jin kel lom mar nop pel quin ras sel tor ulm ven wick yar zim brun clat drem"


def _letters_and_digits(random: Random) -> str:
    return _of(random, random.randint(8, 60), ascii_letters, digits)


def _short(random: Random) -> str:
    return _of(random, random.randint(6, 9), ascii_letters, digits)


def _with_signs(random: Random) -> str:
    text = _of(random, random.randint(6, 24), ascii_letters, digits, SIGNS)
    return _first(random, text)


def _long_with_signs(random: Random) -> str:
    return _first(random, _of(random, random.randint(25, 60), ascii_letters, digits, SIGNS))


def _one_sign(random: Random) -> str:
    text = _of(random, random.randint(10, 24), ascii_letters, digits)
    place = random.randrange(2, len(text))
    return text[:place] + random.choice(SIGNS) + text[place:]


def _word_and_year(random: Random) -> str:
    word = "".join(random.choices(_SYLLABLES.split(), k=random.randint(2, 3))).capitalize()
    return f"{word}{random.choice('!@#$&*_-.')}{random.randint(1, 2030)}{random.choice(('', '!', '#', '$'))}"


def _signs_without_digit(random: Random) -> str:
    return _first(random, _of(random, random.randint(10, 28), ascii_letters, SIGNS))


def _spaced(random: Random) -> str:
    words = ["".join(random.choices(_SYLLABLES.split(), k=2)) for _ in range(random.randint(3, 5))]
    words[random.randrange(len(words))] += random.choice(digits) + random.choice("!?$%&")
    return " ".join(words)


def _with_quote(random: Random) -> str:
    text = _of(random, random.randint(12, 24), ascii_letters, digits, "!@#%^*_+-=")
    place = random.randrange(4, len(text) - 4)
    return _first(random, text[:place] + random.choice(('"', "'", "\\")) + text[place:])


def _hexadecimal(length: int) -> Callable[[Random], str]:
    return lambda random: fill(f"[0-9a-f]{{{length}}}", random)


def _uuid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))


def _padded_base64(random: Random) -> str:
    return b64encode(random.randbytes(random.choice((16, 20, 31, 32, 40)))).decode()


def _random_letters(random: Random) -> str:
    return _of(random, random.randint(16, 40), ascii_lowercase, ascii_uppercase)


def _passphrase(random: Random) -> str:
    words = ["".join(random.choices(_SYLLABLES.split(), k=2)) for _ in range(random.randint(4, 6))]
    return "-".join(words)


def _passphrase_with_number(random: Random) -> str:
    return f"{_passphrase(random)}-{random.randint(10, 99)}"


def _of(random: Random, length: int, *kinds: str) -> str:
    """Draw from the kinds, at least one of each."""
    weights = [3 if kind[0].isalpha() else 1 for kind in kinds]
    drawn = [random.choice(kind) for kind in kinds]
    drawn += [random.choice(random.choices(kinds, weights)[0]) for _ in range(length - len(drawn))]
    random.shuffle(drawn)
    return "".join(drawn)


def _first(random: Random, text: str) -> str:
    """Begin with a letter, a digit or a sign that begins no variable, tag or option."""
    return text if text[0] in _ALNUM + _FIRST_SIGNS else random.choice(ascii_letters) + text


class Shape(NamedTuple):
    """Values of one look. Those that a person makes up stand behind names of passwords alone."""

    id: str
    kind: str
    draw: Callable[[Random], str]
    made_up: bool = False


SHAPES: dict[str, Shape] = {
    shape.id: shape
    for shape in (
        Shape("letters, digits", "letters and digits", _letters_and_digits),
        Shape("6 to 9 characters", "letters and digits", _short),
        Shape("with signs", "with signs", _with_signs),
        Shape("long, with signs", "with signs", _long_with_signs),
        Shape("with one sign", "with signs", _one_sign),
        Shape("word, sign, number", "with signs", _word_and_year, made_up=True),
        Shape("signs, no digit", "with signs", _signs_without_digit),
        Shape("with spaces", "spaces, quotes", _spaced, made_up=True),
        Shape("with a quote", "spaces, quotes", _with_quote, made_up=True),
        Shape("hex 32", "keys", _hexadecimal(32)),
        Shape("hex 40", "keys", _hexadecimal(40)),
        Shape("hex 64", "keys", _hexadecimal(64)),
        Shape("UUID", "keys", _uuid),
        Shape("base64, padded", "keys", _padded_base64),
        Shape("40 of base64", "keys", lambda random: fill("[A-Za-z0-9/+]{40}", random)),
        Shape("random letters", "keys", _random_letters),
        Shape("passphrase", "passphrases", _passphrase, made_up=True),
        Shape("passphrase, number", "passphrases", _passphrase_with_number, made_up=True),
    )
}

NAMES: tuple[tuple[str, ...], ...] = (
    ("password",), ("db", "password"), ("passwd",), ("api", "key"), ("client", "secret"), ("secret", "key"),
    ("access", "token"), ("auth", "token"), ("bearer", "token"), ("private", "key"), ("passphrase",), ("pgpassword",),
    ("smtp", "password"), ("admin", "password"), ("jwt", "secret"), ("encryption", "key"), ("webhook", "secret"),
    ("redis", "password"), ("service", "api", "key"), ("refresh", "token"), ("signing", "secret"), ("user", "pwd"),
    ("mysql", "root", "password"), ("session", "secret"), ("app", "secret"), ("token",), ("secret",),
    ("mysql", "pwd"), ("database", "password"), ("api", "token"), ("consumer", "secret"), ("app", "password"),
    ("github", "token"), ("account", "key"), ("apikey",), ("secretkey",), ("authtoken",), ("accesstoken",),
    ("clientsecret",), ("master", "password"), ("vault", "token"), ("secret", "access", "key"),
)  # fmt: skip
FOREIGN_NAMES = (
    "Passwort", "Kennwort", "contraseña", "clave_secreta", "mot de passe", "mot_de_passe", "密码", "密碼", "口令",
    "パスワード", "暗証番号", "senha",
)  # fmt: skip
_PASSWORDS = frozenset({"password", "passwd", "pwd", "passphrase", "pgpassword"})
PASSWORD_NAMES = tuple(name for name in NAMES if name[-1] in _PASSWORDS)


def snake(name: tuple[str, ...]) -> str:
    return "_".join(name)


def upper(name: tuple[str, ...]) -> str:
    return "_".join(name).upper()


def kebab(name: tuple[str, ...]) -> str:
    return "-".join(name)


def camel(name: tuple[str, ...]) -> str:
    return name[0] + "".join(word.capitalize() for word in name[1:])


def title(name: tuple[str, ...]) -> str:
    return " ".join(name).capitalize()
