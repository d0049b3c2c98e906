"""Stop words of five languages, and forms of words for queries; the index strips endings of English itself."""

import unicodedata
from collections.abc import Iterable, Sequence

UNSPACED = (
    ("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"),  # Thai and Lao, Burmese, Khmer
    ("\u3040", "\u30ff"), ("\u31f0", "\u31ff"), ("\uff66", "\uff9f"),  # kana
    ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"),  # Han
    ("\uac00", "\ud7af"),  # Hangul
)  # fmt: skip
"""The first and the last characters of scripts that are written without spaces, or cut like such."""

ENGLISH, GERMAN, FRENCH, PORTUGUESE, SPANISH = "en", "de", "fr", "pt", "es"

_STOP_WORDS = {
    ENGLISH: """
        a about above after again against all also am an and any are as at be because been before being below
        between both but by can cannot could d did do does doesn doing don down during each few for from
        further had has have having he her here hers herself him himself his how i if in into is isn it its
        itself just let ll m me more most my myself no nor not now of off on once only or other our ours out
        over own please re s same shall she should so some such t than that the their theirs them then there
        these they this those through to too under until up us ve very was wasn we were what when where which
        while who whom whose why will with would you your yours
    """,
    GERMAN: """
        aber als am an auch auf aus bei bin bis da damit das dass dem den denn der des die dies diese dieser
        dieses doch du durch ein eine einem einen einer eines er es für gab haben hat hatte hatten ich ihr im
        in ist ja kann man mein mit nach nicht noch nur ob oder ohne sein sich sie sind so über um und uns
        unser unsere vom von vor wann war waren warum was weil welche welcher welches wenn wer werden wie
        wieso wir wird wo wurde wurden zu zum zur
    """,
    FRENCH: """
        a ai au aux avait avec avez avons c ce ces cet cette comment d dans de des du elle elles en est et
        était été être il ils j je l la le les leur lui ma mais me mes moi mon n ne nos notre nous on ont ou
        où par pas pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se ses si son sont sur
        ta te tes toi ton tu un une vos votre vous y
    """,
    PORTUGUESE: """
        a ao aos as até com como da das de dela dele deles do dos e é ela elas ele eles em entre era essa esse
        esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no
        nos nós nossa nosso num numa o onde os ou para pela pelo por porque qual quais quando que quem se sem
        ser seu sua são só também tem tinha um uma você
    """,
    SPANISH: """
        a al algo como cómo con cual cuál cuando cuándo de del desde donde dónde e el él ella ellas ellos en
        entre era es esa ese eso esta está este esto fue fueron ha había han hasta hay la las le les lo los
        más me mi muy nada ni no nos nosotros nuestra nuestro o para pero por porque qué que quien quién se
        sin sobre son su sus también te tiene tu un una uno unos y ya yo
    """,
}
_STOP = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
STOP_WORDS = frozenset().union(*_STOP.values())
"""Those of all languages."""
_LETTERS = {GERMAN: "äöüß", FRENCH: "èêëîïôûœ", PORTUGUESE: "ãõ", SPANISH: "ñ¿¡"}

_GERMAN = ("", "e", "en", "er", "ern", "es", "n", "s")
_VOWELS = str.maketrans("äöü", "aou")
_MIN_STEM = 4  # letters: forms of shorter stems are mostly other words
_PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    FRENCH: (("eaux", "eau"), ("aux", "al"), ("euses", "eur"), ("euse", "eur"), ("trices", "teur"), ("trice", "teur"),
             ("ées", "é"), ("ée", "é"), ("és", "é"), ("er", "é"), ("é", "er"), ("ations", "er"), ("ation", "er"),
             ("al", "aux"), ("es", ""), ("s", ""), ("x", ""), ("", "s")),
    PORTUGUESE: (("ções", "ção"), ("ção", "ções"), ("ões", "ão"), ("ão", "ões"), ("ais", "al"), ("al", "ais"),
                 ("eis", "el"), ("el", "eis"),
                 ("ens", "em"), ("em", "ens"), ("res", "r"), ("r", "res"), ("zes", "z"), ("as", "o"), ("os", "o"),
                 ("a", "o"), ("o", "a"), ("ado", "ar"), ("ada", "ar"), ("ou", "ar"), ("s", ""), ("", "s")),
    SPANISH: (("ciones", "ción"), ("ción", "ciones"), ("iones", "ión"), ("ión", "iones"), ("ces", "z"), ("z", "ces"),
              ("ores", "or"), ("or", "ores"), ("ales", "al"), ("al", "ales"), ("as", "o"), ("os", "o"), ("a", "o"),
              ("o", "a"), ("ado", "ar"), ("ada", "ar"), ("ó", "ar"), ("es", ""), ("s", ""), ("", "s")),
}  # fmt: skip
_MAX_FORMS = 8


def detect_language(words: Iterable[str]) -> str | None:
    """Return the language with the most stop words and special letters among the words, or None for neither.

    Of equal languages English comes first.

    >>> (detect_language(["why", "did", "it", "die"]), detect_language(["warum", "die", "zeile"]),
    ... detect_language(["parser"]))
    ('en', 'de', None)
    """
    lowered = [word.lower() for word in words]
    counts = count_stop_words(lowered)
    text = "".join(lowered)
    marked = {} if text.isascii() else _LETTERS
    marks = {language: any(letter in text for letter in letters) for language, letters in marked.items()}
    best = max(_STOP, key=lambda language: counts[language] + marks.get(language, False))
    return best if counts[best] or marks.get(best) else None


def count_stop_words(lowered: Sequence[str]) -> dict[str, int]:
    """Return how many of these words are stop words, by language."""
    return {language: sum(map(stop.__contains__, lowered)) for language, stop in _STOP.items()}


def is_stop_word(word: str, language: str | None) -> bool:
    """Return whether a word is a stop word, of English if the language is unknown."""
    return word.lower() in _STOP[language or ENGLISH]


def find_forms(word: str, language: str | None) -> list[str]:
    """Return other forms of a word, the likeliest first, of all languages if its own is unknown. English has none.

    >>> (find_forms("zeilen", "de")[:2], find_forms("configurações", "pt"), find_forms("journaux", "fr"),
    ... find_forms("parsers", "en"))
    (['zeil', 'zeile'], ['configuração', 'configuraçõe'], ['journal', 'journau'], [])
    """
    languages: Sequence[str] = [language] if language else [GERMAN, FRENCH, PORTUGUESE, SPANISH]
    lowered = unicodedata.normalize("NFC", word.lower())
    forms = dict.fromkeys(form for one in languages for form in _forms(lowered, one))
    return [form for form in forms if form != word][:_MAX_FORMS]


def _forms(word: str, language: str) -> list[str]:
    if language == GERMAN:
        return _german_forms(word)
    forms = []
    for ending, other in _PAIRS.get(language, ()):
        stem = word.removesuffix(ending)
        if word.endswith(ending) and len(stem) >= _MIN_STEM - 1 and not (ending == "" and word[-1] in "sxz"):
            forms.append(stem + other)
    return forms


def _german_forms(word: str) -> list[str]:
    endings = sorted(filter(word.endswith, _GERMAN), key=len, reverse=True)
    stem = next((word.removesuffix(end) for end in endings if end and len(word) - len(end) >= _MIN_STEM - 1), word)
    # A plural may have changed the vowel of its stem: `Bäume` is also looked up as `Baum`.
    plain = stem.translate(_VOWELS)
    stems = [stem, plain] if plain != stem else [stem]
    return [one + ending for one in stems for ending in _GERMAN]
