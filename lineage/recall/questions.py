"""The questions in a prompt that says something else, too: a log, a greeting, what a harness adds.

Without `re`, whose import costs the hook at a prompt half of what it may take.
"""

_READ_CHARS = 6_000  # of either end of a long prompt
_MIN_CHARS = 30  # a shorter one names nothing
_MAX_QUESTIONS = 3
_SENTENCE_ENDS = (". ", "! ", ": ", "> ")


def list_questions(prompt: str) -> list[str]:
    r"""Return the last questions of a prompt that says something else, too, the last one first.

    >>> list_questions("Good morning! It fails again.\nWhy do we sign the tokens with EdDSA? Tell me.")
    ['Why do we sign the tokens with EdDSA?']
    """
    text = prompt if len(prompt) <= 2 * _READ_CHARS else f"{prompt[:_READ_CHARS]}\n{prompt[-_READ_CHARS:]}"
    questions = list[str]()
    for line in text.replace("？", "?").splitlines():
        for piece in line.split("?")[:-1]:
            begin = max([0, *(piece.rfind(sign) + len(sign) for sign in _SENTENCE_ENDS if sign in piece)])
            questions.append(f"{piece[begin:].strip()}?")
    told = [one for one in questions if len(one) >= _MIN_CHARS and one != prompt.strip()]
    return told[: -_MAX_QUESTIONS - 1 : -1]
