"""The questions in a prompt that says something else, too: a log, a greeting, what a harness adds.

Without `re`, whose import costs the hook at a prompt half of what it may take.
"""

from lineage.recall.evidence import normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_READ_CHARS = 6_000  # of either end of a long prompt
_MIN_WIDTH = 30  # a shorter one names nothing; a character of a script without spaces counts two
_MAX_QUESTIONS = 3
_CLAUSE_ENDS = (", ", "; ", ": ", " - ", "—", "–", "、", "，", "；", "：", "...")
_LONG_LINE = 60  # characters: a shorter line ends where its writer ended it
_LEADS = tuple(
    f" {lead} " for lead in (
        "ok", "okay", "so", "and", "but", "hey", "hi", "hm", "wait", "well", "also", "please", "now", "btw",
        "1", "2", "3", "tell me", "remind me", "explain", "do you remember", "i wonder", "can you tell me",
    )
)  # fmt: skip
_SENTENCE_SIGNS = (". ", "! ", "? ", "。", "！", "？", "|")
_SENTENCE_ENDS = (". ", "! ", ": ", "> ", "。", "！")


def list_questions(prompt: str) -> list[str]:
    r"""Return the last questions of a prompt that says something else, too, the last one first.

    >>> list_questions("Good morning! It fails again.\nWhy do we sign the tokens with EdDSA? Tell me.")
    ['Why do we sign the tokens with EdDSA?']
    >>> list_questions("GET https://quay.example/search?page=2 took 3 seconds")
    []
    >>> list_questions("おはよう。なぜ署名にはEdDSAを使うことに決めたのですか？教えてください。")
    ['なぜ署名にはEdDSAを使うことに決めたのですか?']
    """
    prompt = prompt.replace("？", "? ")
    text = prompt if len(prompt) <= 2 * _READ_CHARS else f"{prompt[:_READ_CHARS]}\n{prompt[-_READ_CHARS:]}"
    questions = dict[str, None]()
    for line in text.splitlines():
        # A question ends before a blank: what stands in an address or in code is none.
        pieces = f"{line} ".split("? ")
        for piece in pieces[:-1]:
            begin = max([0, *(piece.rfind(sign) + len(sign) for sign in _SENTENCE_ENDS if sign in piece)])
            questions[f"{piece[begin:].strip()}?"] = None
    told = [one for one in questions if _measure(one) >= _MIN_WIDTH and one != prompt.strip() and "://" not in one]
    return told[: -_MAX_QUESTIONS - 1 : -1]


def _measure(text: str) -> int:
    return len(text) + sum(char > "\u0e00" for char in text)


def split_clauses(text: str) -> "Iterator[tuple[str, bool]]":
    """Yield the clauses of a text, normalized, each with whether its sentence is a question.

    What leads to a question is left out, and a line that goes on is none of its own.

    >>> list(split_clauses("It is slow, ok so why? Cache it."))
    [(' it is slow ', True), (' why ', True), (' cache it ', False)]
    """
    for sign in _CLAUSE_ENDS:
        text = text.replace(sign, f"{sign}\x00")
    for sign in _SENTENCE_SIGNS:
        text = text.replace(sign, f"{sign}\x01")
    for sentence in _join_lines(text).split("\x01"):
        is_question = "? " in f"{sentence} ".replace("\x00", " ") or "？" in sentence
        yield from (
            (_strip_lead(normalize(clause)), is_question) for clause in sentence.split("\x00") if clause.strip()
        )


def _join_lines(text: str) -> str:
    lines, joined = text.split("\n"), ""
    for line in lines:
        goes_on = len(joined.rpartition("\n")[2]) > _LONG_LINE and line[:1].isalpha()
        joined = f"{joined} {line}" if goes_on else f"{joined}\x01\n{line}"
    return joined


def _strip_lead(clause: str) -> str:
    """Return a normalized clause without what leads to a question."""
    lead = next((one for one in _LEADS if clause.startswith(one)), None)
    while lead:
        clause = clause[len(lead) - 1 :]
        lead = next((one for one in _LEADS if clause.startswith(one)), None)
    return clause
