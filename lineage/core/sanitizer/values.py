"""Values beside a name that claims them: whether each can be a secret.

A name like `password` claims its whole value, up to the end by `value_ends`. The value is judged as one, so it
is redacted whole or not at all; no part of a secret stays beside its marker.
"""

import re
from functools import lru_cache
from itertools import pairwise
from string import ascii_letters, digits

from lineage.core.sanitizer import value_ends
from lineage.core.sanitizer.allowlist import is_example
from lineage.core.sanitizer.re2_patterns import compile_pattern
from lineage.core.sanitizer.rule import compute_entropy

# A password may be short and made of any signs; any other secret is random.
_PASSWORD_WORD = re.compile(
    r"(?i)pass(?!thr)|pwd|pw\b|psk|xauth|\beap\b|identified\s|clave|\u6697\u8a3c\u756a\u53f7|senha|kennwort|wachtwoord|contrase"
    r"|mot[_ ]?de[_ ]?passe|l\u00f6senord|has(?:\u0142|l)o|parola|\bpin\b|\u043f\u0430\u0440\u043e\u043b\u044c"
    r"|\u5bc6[\u7801\u78bc]|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638"
)

_LONG_VALUE_CHARS = 256  # more than anybody remembers
_SAMPLE_CHARS = 4096
_UPPER_ASSIGNMENT = re.compile(r"[A-Z][A-Z0-9_]*=\Z")
# A command up to its option for a password: `mysql -u ada -p`.
COMMAND = re.compile(
    r"(?:\s-[apwPk]|%|<<<|/p(?:ass(?:word)?)?:|\son\s>|net\suser\s\S+|\ssend(?:\s--)?|\s-u\s[\w.@-]+,"
    r"|-pass(?:in|out)?\s(?:pass:)?|(?:store|key)pass\s)\s?\Z"
)
# Names that begin like one of a secret and mean something else, or something about one.
_OTHER_NAME = re.compile(
    r"(?i)pass(?:lib|age|eng|ed|es|ive|ing|port|thr|able|ion|[- ]?rate|[- ]?through)|\barn:[a-z-]+:"
    r"|secrets?[- _]?manager|(?:com|by|tres|over|under|sur|multi|render|two|first|last|kee|single|one"
    r"|low|high|band|sub|dual|back"
    r"|forward|noo?|all)[- _]?pass(?![pw])|[ \t](?:for|of|in|from|with|and|or|at|not|has)[ \t]+[\"'`]?\Z|(?-i:PASS: )"
    r"|checksum/|(?:^|\s)/[\w./-]*\s|session_bus|secretar|tokeni[sz]|author(?!i[sz])|keyboard|keyword|keyframe"
    r"|/etc/passwd|--ask-[\w-]{0,20}pass"
    r"|(?:public|primary|foreign|sort|cache|partition|row|idempotency|group|dedup\w*|object|i18n|translation"
    r"|lookup|map|kernel|city|country|region|currency|category|natural|business|surrogate|composite|unique|candidate"
    r"|join|range|parent|child|publishable|rsa|e?c?dsa|eddsa|ed25519|pgp|gpg)[ _-]?key"
)
_ABOUT_SECRET = re.compile(
    r"(?i)(?:[_.-]|(?-i:(?<=[a-z])(?=[A-Z])))(?:id|name|url|uri|path|file|dir|type|kind|count|length|len|size|expir\w*"
    r"|at|ttl|limit|max|min|usage|used|budget|version|status|state|policy|arn|ref|options?|hash(?:e[drs]|es|ing|ers)?"
    r"|digest|checksum|fingerprint|label|field|class|hint|regex|pattern|rules?|format|error|message|msg|text|title"
    r"|address|addr|encrypt\w*|method|mode|scheme|prompt|placeholder|algo\w*|alg|input|form|page|column|reset|strength"
    r"|score|required|enabled|visible|changed|valid\w*)[\"'`\\\])}*_ ]*\W*\Z"
)

# RE2's patterns, linear in the value. Words of a name, joined in any case and by any sign of names: `chapter12`,
# `my-app_v2/test.py`, `TestFooBar3`.
_WORD = r"(?:(?:[A-Z][0-9][A-Z]|[A-Z]{0,12}[a-zß-öø-ÿ]+|[A-Z]+){1,6}[0-9]{0,3}|[0-9]{1,4})"
_WORDY = rf"{_WORD}(?:[-_.:/ ]+{_WORD})*"
_LOWER_WORDS = r"(?:[a-z]+|[A-Z][a-z]+|[A-Z]+)(?:[-_. /](?:[a-z]+|[A-Z][a-z]+|[A-Z]+))*[-_]?[0-9]?"
_TEMPLATE = (
    r"process\.env|os\.environ|getenv|import\.meta|[\p{Hiragana}\p{Katakana}\p{Han}\p{Hangul}]{3}|\$\(\s?[\w./<~-]*(?:[\s)|;\"']|$)"
    r"|\$\{[#!(]*[A-Za-z_][\w.]*(?:[}:#%/,?^\[()=|&\s-]|$)"
    r"|\{\{[-~]?\s?[\w.$#%/\"'-]*(?:[\s|(}]|$)|[\w)\]\"'\s]\}\}|<%=?\s|\s%>"
    r"|%\([a-z_]\w*\)|(?:^|[\s:/@=,(\"'+.}-])\$(?:[A-Z][A-Z0-9_]{2,}|[a-z][a-z_]{2,})(?:[^A-Za-z0-9]|$)|\$RANDOM"
    r"|\{[A-Za-z_][\w.]*\}|^\x60[a-z][^\x60]*\x60|^@@|^&lt;|%[YmdHMS]\W?%[YmdHMS]|^(?:%[A-Za-z_]+%|<[^<>]*>?|%[sdrq]|\{[^{}]*\})$"
)
_PATH = (
    r"(?:[a-z]:)?\$?[A-Za-z_$]+[0-9]{0,2}(?:_[A-Za-z]+[0-9]*[A-Za-z]*"
    r"|_[0-9]{0,2}[A-Za-z]*)*(?:(?:\.|\?\.|::|->|!\.)[A-Za-z_$#]\w*)*"
)
_CALLEE = _PATH.replace("[A-Za-z_$]+", "(?:[A-Za-z_$.:]{2,}|[a-z][0-9]_[a-z]+)", 1)
_EXPRESSION = (
    r"^(?:[!&*~(\[{+-]*(?:new|await|not|return|typeof|async|lambda|function|fn|func|class)\b"
    # a name, alone or with what goes on behind one: a sign that ends it, a type in brackets, an operator
    rf"|[!&*~(\[]*{_PATH}(?:[!?]?[.;,)]+(?:$|[\s)\]}}\"'\\])|[;,)][(\[{{/]|\.\([A-Za-z*]"
    r"|[;,][.#!$]?[A-Za-z_-]+[0-9]*[A-Za-z_-]*(?:[=.({\[,:?\s]|!=|$)|[!?]?$|<[A-Za-z_]+(?:[<>,&\s\[.:]|$)|(?:\.|::|->)$"
    r"|=[=>].|<<|>>|\|\||&&|\+[+=]|[<>]=)"
    r"|[A-Za-z_]\w*::[A-Za-z_<{]|[A-Z][A-Za-z]+[0-9]{0,2}<(?:[<&*?\[$\s]|\w+(?:[<>,&\s\[.:]|$))"
    # a call or an item, with what may be its first argument
    rf"|[!&*~(\[]*(?:{_CALLEE}|[a-z]+[0-9]{{1,3}}[a-z]+|[A-Za-z_]+[0-9]{{1,2}}(?:[A-Z]+[a-z]+)+[A-Z]*)"
    r"(?:[({](?:$|[)\]}\"'\x60&*!(\[{$;:]|\.\.|-[0-9a-z]|[A-Za-z_][\w.]*(?:$|!?[)\]},.(\[\s=:]|->)"
    r"|(?:0x[0-9a-f]+|[0-9a-f]{6,8}|[0-9]+[a-z]{0,3})(?:$|[)\]},.]))"
    r"|\[[\"'\x60$]|\[-?(?:\w+(?:[\]:\[(.+-]|$)|[\]\[:]|$))"
    r"|[a-z]\([\"'\x60]|@[A-Za-z_.]+(?:\(|$)|(?:[a-z_0-9]+\$){3,}\w+$"
    r"|[(\[{=\\<>|?)\]},;:%]|!(?:[\w.()]*$|[=!\[({])|/[\^*]|&[a-z]|[-+*/]$|\.{2,}|$)"
)
_NO_SECRET = (
    r"(?i)(?:pass|gpg2?|cat|security|secret-tool|vault|aws|gcloud|kubectl|op|bw)\s.*|(?:argon2|bcrypt|scrypt|pbkdf2|sha-?[0-9]|md5|[hrepb]s[0-9]{3}|aes|ed25519|x25519|hmac|ssh-)[a-z0-9./-]{0,24}"
    r"|(?:vault|op|secrets?|ref|arn|gs|s3|file|env|ssm|keyring|projects)[:/].*|[a-z_]+=[\"'].*"
    r"|(?:[a-z_]+[0-9]*(?::[\w,.-]+)?\|)+[a-z_]+[0-9]*(?::[\w,.-]+)?|/dev/.*|#[0-9a-f]{3,8}|(?:rgb|hsl)a?\(.*\)"
    r"|[v^~<>=]{0,2}[0-9]+(?:[.,:/_-][0-9]+)*(?:[a-z%]{1,3})?|0x[0-9a-f]{1,16}|[~.]{0,2}/[\w.@/*-]*|[a-z]:\\[\w\\. -]*"
    r"|[a-z][a-z0-9+.-]{1,20}://[^\s:@]*|//[\w$.]+/.*|(?-i:[A-Z][A-Z0-9_]{2,}=[^=].*)|[\w.+-]+@[\w-]+\.[\w.-]+|\[[\w-]+(?:[*^$~|]?=.*)?\].*|(?:input|div|form|span"
    r"|button|[apbi]|ul|li|select|textarea|label|body|table|t[dr])?[.#][a-z_-][\w-]*(?:[\s>+~:.#\[].*)?"
    r"|[\w.-]+/[\w./-]+@v?[\w.]+|/.*/[gimsuy]{0,4}|\^(?:.*\$|[\[(\\].*)|[a-z_]+(?:\.[a-z_]+)+\(.*|[a-z_]{3,}\(.*\)"
    r"|.*\[[a-z0-9]-[a-z0-9].*\].*"
    r"|.*(?:\\[dwsb](?:[+*?{}\]).$|(\\]|$)|\[\^[^\]]+\]|\[\\[a-z]|\(\?[:P<=!i]).*|(?:true|false"
    r"|null|none|nil|undefined|yes|no|on|off)[,;)]*|[\w./-]+\.(?:json|ya?ml|txt|pem|key|pub|py|[jt]sx?|mjs|go|rs|rb|php"
    r"|java|md|env|toml|ini|cfg|crt|cer|p12|html?|sh|css|png|svg|lock|log|sql)(?::[0-9]+)*|\S*/\S*\.[a-z]{2,8}"
    r"|\S+\.(?:deb|rpm|whl|egg|tar|gz|tgz|zip|jar|exe|dmg|apk)|[\w.$]+@[0-9a-f]{5,8}"
)
_PUBLIC_KEY = (
    r"(?:MIIB(?:[^I].*|I[^IBO]?.*)|MIICIjAN.*|MFkwEwYH.*|MCowBQYDK2Vw.*|MIG[ef]MA0G.*)|(?:pk_(?:live|test)|phc"
    r"|sb_publishable)_.*|(?:[A-Za-z0-9_.]{2,40}-){1,12}[0-9a-f]{40,128}"
    r"|[A-Za-z0-9_-]{2,64}:[a-z][a-z_-]{2,20}:[A-Za-z0-9_-]{4,}|deployment-[0-9A-Z]{26}"
)
_PLACEHOLDER = (
    r"(?i)example|placeholder|change[-_]?me|your[-_ ]|dummy|x{4,}|\*{3}|•{3}|redacted|not[-_]a[-_]real|\.{3}|^my[-_]"
    r"|insert|u003c|replace[-_]?(?:me|with|this)|todo|^sample|^test[-_]?(?:pass|token|key|secret)"
)
_PLACEHOLDER_WORDS = r"(?i)(?:(?:user(?:name)?|pass(?:word|wd|phrase)?|pwd|secret|token|key|api|here)[-_ ]?){1,3}"
_PASSPHRASE = r"[a-z]{3,12}(?:-[a-z]{3,12}){3,9}(?:-?[0-9]{1,4})?|[A-Z][a-z]{4,}[.!@#$&*_-][0-9]{2,4}[!#$]?"
_PLAIN_WORD = (  # none that was drawn
    r"\b(?:the|and|not|your|our|new|for|with|from|this|that|into|will|must|only|here|very|some|users?|name|pass\w*|pwd|keys?"
    r"|secrets?|tokens?|auth\w*|log|login|sign|inputs?|fields?|forms?|labels?|button|page|link|icon|text|title|error|hidden"
    r"|show|set|get|reset|change|confirm|current|invalid|required|tests?|fake|mock|strong|weak|long|file|path|hash|admin|root"
    r"|default|local|prod\w*|staging|database|server|client|service|apps?|config|data|values?|strings?|accounts?|email)\b"
)
BARE_PASS = re.compile(r"(?i)pass\W")
NAME_CHARACTERS = f"{ascii_letters}{digits}_./:-"
_PUNCTUATION = "¿¡.,;:!?()[]{}<>*…\"'`"
# How much rarer each letter is in names of code than among random letters, in tenths of a bit.
_TENTHS = (("jqz", 42), ("vwx", 22), ("bfhky", 15), ("g", 10), ("dmpu", 3), ("cl", -3), ("anors", -10), ("ti", -11),
           ("e", -17))  # fmt: skip
_SURPRISE = {letter: tenths for letters, tenths in _TENTHS for letter in letters}
_LETTERS = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"[0-9]")
_WORD_DIGIT_SIGN = re.compile(r"[A-Za-z]{3}[0-9]{1,4}[!?$@#%&*]")
_ESCAPED = re.compile(r"(?<!\\)\\+([^\w\s\\])")
_SIGNS = re.compile(r"[^\w.:/'’-]")
# Two digits behind words in mixed case: variables have one, or the number of a format.
_NUMBERED = re.compile(r"(?=[a-z]+[A-Z]|[A-Z]+[a-z])[A-Za-z]{4,}(?!16|32|64|86)[0-9]{2}")
_LONG_OTHER = re.compile(r"[(\[{<]|data:|[a-z][a-z0-9+.-]{0,20}://")
_CODE_SIGNS = '(){},;."'

# All of this module that can change a result. It is hashed into the version of a ruleset.
PATTERNS = (*value_ends.PATTERNS, COMMAND.pattern, _PASSWORD_WORD.pattern, _OTHER_NAME.pattern,
            _ABOUT_SECRET.pattern, _WORDY, _LOWER_WORDS, _TEMPLATE, _EXPRESSION, _NO_SECRET, _PUBLIC_KEY, _PLACEHOLDER,
            _PLACEHOLDER_WORDS, _PASSPHRASE, _PLAIN_WORD, NAME_CHARACTERS, str(_TENTHS), _WORD_DIGIT_SIGN.pattern,
            _SIGNS.pattern, _NUMBERED.pattern, _LONG_OTHER.pattern, _CODE_SIGNS)  # fmt: skip


def _is(pattern: str, value: str) -> bool:
    return compile_pattern(pattern).fullmatch(value.encode()) is not None


def _has(pattern: str, value: str) -> bool:
    return compile_pattern(pattern).search(value.encode()) is not None


def get_full_name(lead: str, name: str) -> str:
    """Return a name with the words of it that stand before the match."""
    before = lead.rstrip(NAME_CHARACTERS)
    word = before[:-1] if before.endswith(" ") else ""
    start = len(word.rstrip(ascii_letters)) if word else len(before)
    return lead[start:] + name


def is_placeholder(value: str) -> bool:
    """Tell whether people write this in place of a secret."""
    return _has(_PLACEHOLDER, value) or _is(_PLACEHOLDER_WORDS, value)


def is_public(name: str, value: str) -> bool:
    """Tell whether this is no secret by its name or by itself: a public key, a cache's key, a path, an address."""
    return _is_other_name(name) or _is(_PUBLIC_KEY, value)


def is_claiming_name(name: str) -> bool:
    """Tell whether a name that holds a word for a secret is one for its value.

    >>> is_claiming_name("db_password = "), is_claiming_name("passwordHint: "), is_claiming_name("passage: ")
    (True, False, False)
    """
    return not (_is_other_name(name) or _ABOUT_SECRET.search(name))


@lru_cache(maxsize=1 << 10)  # a slow pattern, and names come again
def _is_other_name(name: str) -> bool:
    return _OTHER_NAME.search(name) is not None


@lru_cache(maxsize=1 << 10)  # the same names and values come again and again
def is_claimed_secret(name: str, full_name: str, value: str, *, is_quoted: bool, in_prose: bool) -> bool:
    """Tell whether the value that a name claims is a secret. `full_name` has the words of it before the match."""
    is_command = bool(COMMAND.search(name))
    if not is_command and not is_claiming_name(full_name):
        return False
    # settings of an environment, options of a command and elements of XML hold no code, as if in quotes
    holds_no_code = is_command or name.endswith(">") or name.lstrip().startswith("--")
    holds_no_code = holds_no_code or (name.endswith("=") and bool(_UPPER_ASSIGNMENT.search(full_name)))
    can_be = can_be_secret(name, value, is_quoted=is_quoted or holds_no_code, in_prose=in_prose)
    return can_be and not is_example(value)


def can_be_secret(name: str, value: str, *, is_quoted: bool, in_prose: bool = False) -> bool:
    """Tell whether a value that a name claims is a secret, judged as a whole.

    No secrets are placeholders, references to variables, expressions of code, words, paths, numbers and patterns.
    """
    claim = "password" if _PASSWORD_WORD.search(name) or COMMAND.search(name) else "secret"
    value = _ESCAPED.sub(r"\1", value).strip() if is_quoted else value.strip()
    bare = value.strip(_PUNCTUATION)
    if len(value) >= _LONG_VALUE_CHARS:
        return _is_long_secret(value)
    if len(value) < 6 or len(bare) < 4 or is_placeholder(value):
        return False
    is_password = claim == "password" and (_is_passphrase(name, value) or _NUMBERED.fullmatch(value))
    if is_password or _is_random_letters(bare):
        return True
    if (
        _has(_TEMPLATE, value)
        or _is(_NO_SECRET, value)
        or (not is_quoted and _has(_EXPRESSION, value))
        or (claim == "secret" and _is(_PUBLIC_KEY, value))
        or (in_prose and _is_said_lightly(value, bare))
    ):
        return False
    if len(value.split(maxsplit=1)) > 1:
        return _can_phrase_be_secret(value, claim)
    return _can_password_be_secret(value, bare) if claim == "password" else _is_random(value)


def _is_long_secret(value: str) -> bool:
    """Tell whether a long value is a token, alone or behind a word, and no text, file or code.

    Somewhere in so many characters stands a mark that would make a short value a placeholder, a variable or a pattern.
    """
    scheme, _, token = value.rpartition(" ")
    if (scheme and not scheme.isalpha()) or len(token.split()) > 1:
        return False
    if _LONG_OTHER.match(token) or _is(_PUBLIC_KEY, token) or not (_DIGITS.search(token) and _LETTERS.search(token)):
        return False
    return compute_entropy(token[:_SAMPLE_CHARS]) >= 2.9 and sum(map(token.count, _CODE_SIGNS)) < len(token) / 7


def _is_said_lightly(value: str, bare: str) -> bool:
    """Tell whether a sentence that names a secret goes on with a word rather than with its value."""
    if " " in value and _WORD_DIGIT_SIGN.search(value):
        return False
    bare = bare.partition("</")[0].removesuffix("&quot").strip(_PUNCTUATION)
    return _is(_WORDY, bare) or not _has_two_kinds(bare) or "test" in value.lower()


def _can_phrase_be_secret(value: str, claim: str) -> bool:
    words = value.split()
    if claim == "secret":
        return len(words) == 2 and words[0].isalpha() and _is_random(words[1])
    # a sentence has words with punctuation around them; a password has signs and digits within
    if any(_WORD_DIGIT_SIGN.search(word) for word in words):
        return len(words) <= 8
    odd = [word for word in words if not _is(_WORDY, word.strip(_PUNCTUATION) or "a")]
    return any(_has_two_kinds(word.strip(_PUNCTUATION)) for word in odd) and len(words) <= 8


def _can_password_be_secret(value: str, bare: str) -> bool:
    if _is(_LOWER_WORDS, bare):
        return False
    if _DIGITS.search(value):
        return bool(_LETTERS.search(value)) or not bare.isdigit()
    return not _is(_WORDY, bare) and bool(_SIGNS.search(bare))


def _has_two_kinds(word: str) -> bool:
    return sum(bool(kind.search(word)) for kind in (_DIGITS, _LETTERS, _SIGNS)) >= 2


def _is_random(value: str) -> bool:
    if _is(_WORDY, value.strip(_PUNCTUATION)) or _is(r"[A-Za-z]{1,12}[0-9]{1,5}(?:[A-Z][a-z]+)+", value):
        return False
    letters, signs = "".join(_LETTERS.findall(value)), set(value) & set("!@#$%^&*+=?~|;<>{}")
    has_digit, has_cases = bool(_DIGITS.search(value)), letters.lower() != letters != letters.upper()
    if len(value) < 10:  # too short to be judged by its entropy
        return has_digit and bool(letters) and (len(signs) > 2 or has_cases)
    is_varied = compute_entropy(value) >= 2.9
    if has_digit or not is_varied:
        return has_digit and bool(letters) and is_varied
    return (len(signs) > 1 and has_cases) or (letters != value and _is_random_letters(letters, 8))


def _is_random_letters(value: str, least: int = 12) -> bool:
    """Tell whether letters are rarer, and their case changes more often, than in names and words."""
    if len(value) < least or not value.isalpha() or not value.isascii():
        return False
    surprise = sum(map(_SURPRISE.__getitem__, value.lower())) / len(value)
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(value)) / (len(value) - 1)
    return turns > 0.12 and surprise + 10 * turns > max(min(96 / len(value), 8), 4)


def _is_passphrase(name: str, value: str) -> bool:
    """Tell whether a value is four or more words that say nothing together, or one with a sign and a number."""
    if BARE_PASS.match(name) or not _is(_PASSPHRASE, value) or _has(_PLAIN_WORD, value):
        return False
    return len(_LETTERS.findall(value)) >= 5 * len(value.split("-")) - 2 * bool(_DIGITS.search(value))
