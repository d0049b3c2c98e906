"""The questions in a prompt that says something else, too: a log, a greeting, what a harness adds.

Without `re`, whose import costs the hook at a prompt half of what it may take.
"""

_READ_CHARS = 6_000  # of either end of a long prompt
_MIN_WIDTH = 30  # a shorter one names nothing; a character of a script without spaces counts two
_MAX_QUESTIONS = 3
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
