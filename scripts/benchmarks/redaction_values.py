"""Passwords and keys without a vendor's mark, and the names that stand before them."""

from base64 import b64encode
from collections.abc import Callable
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
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
    text = _of(random, random.randint(8, 32), ascii_letters, digits, SIGNS)
    return _first(random, text)


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


SHAPES: dict[str, Callable[[Random], str]] = {
    "letters, digits": _letters_and_digits,
    "6 to 9 characters": _short,
    "with signs": _with_signs,
    "with one sign": _one_sign,
    "word, sign, number": _word_and_year,
    "signs, no digit": _signs_without_digit,
    "with spaces": _spaced,
    "with a quote": _with_quote,
    "hex 32": _hexadecimal(32),
    "hex 40": _hexadecimal(40),
    "hex 64": _hexadecimal(64),
    "UUID": _uuid,
    "base64, padded": _padded_base64,
    "random letters": _random_letters,
    "passphrase": _passphrase,
    "passphrase, number": _passphrase_with_number,
}
PASSWORDS_WITH_SIGNS = ("with signs", "with one sign", "word, sign, number", "signs, no digit")

NAMES: tuple[tuple[str, ...], ...] = (
    ("password",), ("db", "password"), ("passwd",), ("api", "key"), ("client", "secret"), ("secret", "key"),
    ("access", "token"), ("auth", "token"), ("bearer", "token"), ("private", "key"), ("passphrase",), ("pgpassword",),
    ("smtp", "password"), ("admin", "password"), ("jwt", "secret"), ("encryption", "key"), ("webhook", "secret"),
    ("redis", "password"), ("service", "api", "key"), ("refresh", "token"), ("signing", "secret"), ("user", "pwd"),
    ("mysql", "root", "password"), ("session", "secret"), ("app", "secret"), ("token",), ("secret",),
)  # fmt: skip
FOREIGN_NAMES = (
    "Passwort", "Kennwort", "contraseña", "clave_secreta", "mot de passe", "mot_de_passe", "密码", "密碼", "口令",
    "パスワード", "暗証番号", "senha",
)  # fmt: skip
PASSWORD_NAMES = tuple(name for name in NAMES if name[-1] in {"password", "passwd", "pwd", "passphrase", "pgpassword"})


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
