"""Forms of speech in a sentence, by the phrases of seven languages in `forms.toml`: a wish, a rule, a cause."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources

from lineage.core.base.normalize import is_unspaced, tokenize_folded
from lineage.core.search.language import count_stop_words
from lineage.extraction.phrases import UNSPACED

OPENER, ERRAND, LOOK, STANDING = "opener", "errand", "look", "standing"
_BEFORE_A_RULE = frozenset({OPENER, "here", "everywhere"})  # "in all projects, never …" begins with `never`
_FIRST_SIGNS = 12
_POLITE = re.compile(
    r"(?:ください|下さい|欲しい(?:です)?|ほしい(?:です)?|くれ|もらえますか|くれますか|いただけますか)?[ .。!！?？]*$"
)
_LEADING = frozenset(
    {"change", "announcement", "wish", "verb", "condition", "trouble", "decision", "look", "rule", "standing"}
    | {"report", "telling", "moment"}
)
_AT_ONCE = ("^correction", "^retraction")  # openers may be a part of it
_MAX_WORDS = 4  # of a phrase
_LANGUAGES = ("en", "pt", "de", "es", "fr", "ja", "zh")
_SPACED = tuple(language for language in _LANGUAGES if language not in UNSPACED)
_READ_WORDS = 40  # of a turn, to tell its language
_LABEL = re.compile(r"[^\w]*([^\W\d][\w -]{0,24}?) ?[:：]")
# "don't" is two words; without its apostrophe it is as much of a cue.
_UNMARKED = {
    f"{one}nt": [f"{one}n", "t"]
    for one in ("do", "does", "did", "is", "are", "was", "were", "have", "has", "had", "ca", "could", "should", "would")
} | {
    "thats": ["that", "s"],
    "im": ["i", "m"],
    "ive": ["i", "ve"],
    "youre": ["you", "re"],
    "weve": ["we", "ve"],
    "canyou": ["can", "you"],
}
# Of a Japanese question without a mark: "明らか" and "確か" end like one.
_ASKING_ENDS = ("ますか", "ですか", "せんか", "のか", "ないか", "るか", "たか", "うか", "かな")
# Of a Chinese one, anywhere; neither "提交前检查是否通过" nor what rules asks anything.
_ASKING_WITHIN = re.compile("是否|能不能|可不可以|需不需要|要不要|是不是|什么时候|怎么样|吗[，,；;]")
_BEFORE_A_CLAUSE = (
    "检查", "确认", "判断", "验证", "标记", "记录", "写明", "写清楚", "说明", "表示", "返回", "告知", "提示", "显示",
)  # fmt: skip
_RULING = re.compile(
    "必须|不要|不得|禁止|都要|每次|以后|今后|一律|始终|总是|永远|请先|先问|应该|应当|无论|不管|不论|注意|喜欢"
)
_DENIAL = re.compile(r"\b(?:no|not|never|kein\w*|nicht|pas|nao)\b|不")
_KANA = range(0x3040, 0x3100)


def name_language(folded: str) -> str:
    """Return the language of a folded text, English if nothing tells.

    >>> name_language("wir haben das nicht so beschlossen"), name_language("データベース"), name_language("数据库")
    ('de', 'ja', 'zh')
    """
    if is_unspaced(folded):
        return "ja" if any(ord(sign) in _KANA for sign in folded) else "zh"
    words = tokenize_folded(folded)[:_READ_WORDS]
    # Stop words alone can't tell the French `la` from the Spanish one.
    hits = Counter(count_stop_words(words))
    hits.update(one for phrase in _find_phrases(words, _MAX_WORDS - 1) for one in _load_languages()[phrase])
    return max(_SPACED, key=lambda one: hits[one])


def find_forms(folded: str, language: str) -> dict[str, str]:
    """Return the forms of a folded sentence, each with its first phrase. A form at the beginning has `^` in its name.

    `language` is that of the text around it, which the sentence itself may overrule.

    >>> find_forms("ok, let's never push to main", "en")["rule"], find_forms("we dont push to main", "en")["negation"]
    ('never', 'don t')
    """
    if language in UNSPACED:
        return _find_unspaced(folded, language)
    tables = _load_tables()
    words = tokenize_folded(folded)
    if language == "en":
        words = [part for word in words for part in _UNMARKED.get(word, (word,))]
    phrases = _find_phrases(words, _MAX_WORDS)
    hits = Counter(one for phrase in phrases for one in _load_languages()[phrase])
    table = tables[max(_SPACED, key=lambda one: hits[one] + (one == language) / 2)]
    first = _skip_openers(words, table)
    asked = first + _count_request(words[first:], table)
    found = dict[str, str]()
    for phrase in (one for one in phrases if one in table):  # in order: a set has none
        for form in table[phrase]:
            if form == ERRAND and phrases[phrase] not in (first, asked):
                continue
            if form in _LEADING and phrases[phrase] == first:
                found.setdefault(f"^{form}", phrase)
            if form[0] != "^" or phrases[phrase] == first or (form in _AT_ONCE and phrases[phrase] == 0):
                found.setdefault(form, phrase)
    return found


def _find_unspaced(folded: str, language: str) -> dict[str, str]:
    table, beginnings = _load_tables()[language], _load_first_signs(language)
    numbered = sorted(one for sign in {*folded} for one in beginnings.get(sign, ()) if one[1] in folded)
    phrases = [phrase for _, phrase in numbered]
    found = {form: phrase for phrase in phrases for form in table[phrase]}
    found = {form: phrase for form, phrase in found.items() if form[0] != "^" or phrase in folded[:_FIRST_SIGNS]}
    if language != "ja" or STANDING in found:
        return found
    # What somebody wants done stands at the end of a Japanese sentence.
    verb = _POLITE.sub("", folded)
    looks = [phrase for phrase in phrases if LOOK in table[phrase] and verb.endswith(phrase)]
    return found | ({f"^{LOOK}": looks[0]} if looks else {})


def asks_something(text: str) -> bool:
    """Return whether a sentence is a question: by its end, or in the middle of a Chinese one.

    >>> asks_something("Why?"), asks_something("检查是否通过"), asks_something("需要缓存吗，还是文件")
    (True, False, True)
    """
    ends = ("?", "？", "吗", "吗。", "か。", "呢", *_ASKING_ENDS)
    if text.rstrip(" *_)\"'").endswith(ends):
        return True
    if text.isascii() or not (asking := _ASKING_WITHIN.search(text)):
        return False
    if asking[0][0] == "吗":
        return True
    return not (text[: asking.start()].endswith(_BEFORE_A_CLAUSE) or _RULING.search(text))


def takes_back(folded: str, phrase: str) -> bool:
    """Return whether a phrase stands for itself in a sentence: "Scratch that, …", and not "Scratch that table first".

    A question takes nothing back, nor does a joke that somebody denies.
    """
    words = r"\W+".join(map(re.escape, phrase.split()))
    found = re.search(rf"(?<!\w){words}(?:\W+(?:of course|obviously|haha|lol))?\s*(?:[,.;:!。，、！…—–-]|$)", folded)
    is_denied = found is not None and _DENIAL.search(folded[: found.start()]) is not None
    return found is not None and not is_denied and not folded.rstrip().endswith(("?", "？"))


def list_openers(language: str) -> frozenset[str]:
    """Return the words that begin a sentence of a language and say nothing: `yes`, `ok`, `then`."""
    return frozenset(phrase for phrase, forms in _load_tables()[language].items() if OPENER in forms)


def find_label(folded: str) -> str:
    """Return the kind that a sentence's label names, "" for none.

    >>> find_label("root cause: the cache"), find_label("the cache: a mess")
    ('lesson', '')
    """
    match = _LABEL.match(folded)
    return _load_labels().get(" ".join(tokenize_folded(match[1])), "") if match else ""


def _find_phrases(words: list[str], max_words: int) -> dict[str, int]:
    """Return the phrases of the tables among words, each with its first place, in order."""
    found: dict[str, int] = {}
    known, beginnings = _load_languages(), _load_beginnings()
    for start, word in enumerate(words):
        for end in range(min(start + max_words, len(words)), start, -1) if word in beginnings else ():
            phrase = " ".join(words[start:end])
            if phrase in known:
                found.setdefault(phrase, start)
    return found


def _count_request(words: list[str], table: Mapping[str, list[str]]) -> int:
    """Return the number of words that ask for what follows them: of `can you` 2, of `we need to` 3."""
    count = next((n for n in range(_MAX_WORDS, 0, -1) if "^request" in table.get(" ".join(words[:n]), ())), 0)
    return count + (count > 0 and words[count : count + 1] == ["to"])


def _skip_openers(words: list[str], table: Mapping[str, list[str]]) -> int:
    """Return the number of words before the first that says something."""
    first = 0
    while first < len(words):
        phrases = ((n, table.get(" ".join(words[first : first + n]), ())) for n in range(_MAX_WORDS, 0, -1))
        lengths = (n for n, forms in phrases if not _BEFORE_A_RULE.isdisjoint(forms))
        step = next(lengths, 0)
        if not step:
            break
        first += step
    return first


@cache
def _load_file() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("lineage.extraction").joinpath("forms.toml").read_text(encoding="utf-8"))


@cache
def _load_labels() -> dict[str, str]:
    """Return label → kind. Signs of scripts without spaces count one by one."""
    labels = _load_file()["label"]
    return {" ".join(tokenize_folded(one)): kind for kind, phrases in labels.items() for one in phrases.split(", ")}


@cache
def _load_tables() -> dict[str, dict[str, list[str]]]:
    """Return phrase → forms, for each language."""
    tables: dict[str, dict[str, list[str]]] = {language: {} for language in _LANGUAGES}
    for form, languages in _load_file().items():
        for language, phrases in languages.items() if form != "label" else ():
            for phrase in phrases.split(", "):
                tables[language].setdefault(phrase, []).append(form)
    return tables


@cache
def _load_first_signs(language: str) -> dict[str, list[tuple[int, str]]]:
    """Return first sign → the phrases of a language that begin with it, each with its place in the table."""
    beginnings = dict[str, list[tuple[int, str]]]()
    for numbered in enumerate(_load_tables()[language]):
        beginnings.setdefault(numbered[1][0], []).append(numbered)
    return beginnings


@cache
def _load_languages() -> dict[str, list[str]]:
    """Return phrase → the languages with spaces between words that have it."""
    tables, languages = _load_tables(), dict[str, list[str]]()
    for one in _SPACED:
        for phrase in tables[one]:
            languages.setdefault(phrase, []).append(one)
    return languages


@cache
def _load_beginnings() -> frozenset[str]:
    """Return the first words of all phrases."""
    return frozenset(phrase.partition(" ")[0] for phrase in _load_languages())
