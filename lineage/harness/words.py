"""A person's words that a harness files elsewhere: answers to questions, reasons of refusals, interruptions.

They are turns beside those of their record, under ids of their own. (usefulness: speakers)
"""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from lineage.core.format.turns import SAID, SYSTEM, TOOL, USER, Turn
from lineage.harness.json_values import as_list, as_mapping, as_string, decode_json

INTERRUPTION = Turn(SYSTEM, "The user interrupted.", name="interruption")
QUESTION_TOOLS = frozenset({"ask_user", "ask_user_question", "question", "request_user_input"})
"""The tools of harnesses that put a question to the person."""

ATTACHMENT = Turn(TOOL, "", name="attachment")
"""What a harness put beside a prompt: the content of the files that it names, and the like."""

_REFUSAL = re.compile(
    r"(?:\AThe user rejected permission to use this specific tool call with the following feedback: "
    r"|\APlan rejected\. User feedback: )(.+?)(?:\n\nThe plan is stored at: .*)?\Z",
    re.DOTALL,
)
_LISTED = re.compile(r"^\*\*(.+?)\*\*: ", re.MULTILINE)
_LISTED_HEAD = "User has provided the following answers:\n\n"
# How an extension of pi and Copilot's own tool say what was chosen, and Codex what was typed beside it.
_CHOICE = re.compile(r"(?:User (?:selected|responded|wrote)|user_note): (?:\d+\. )?")


def name_words(turns: Iterable[Turn], record_id: str | None) -> Iterator[Turn]:
    """Yield words of a record with ids of their own."""
    for number, turn in enumerate(turns, 1):
        yield turn._replace(source_id=f"{record_id or ''}{SAID}{number}")


def build_answer_turn(question: Any, answer: str) -> Turn:
    r"""Return the turn of an answer below its question.

    >>> build_answer_turn("Which one?", "Both").text
    '> Which one?\n\nBoth'
    """
    quoted = "\n".join(f"> {line}" for line in as_string(question).strip().split("\n"))
    return Turn(USER, f"{quoted}\n\n{answer.strip()}" if quoted != "> " else answer.strip())


def list_answers(questions: Any, result: Any) -> Iterator[Turn]:
    """Yield the answers in the result of a question, a text or decoded JSON; nothing for one that was dismissed.

    `questions` is the tool's input. Answers stand by place, by the question's id, or in lines with its heading.
    """
    asked = [as_mapping(item) for item in as_list(as_mapping(questions).get("questions"))] or [as_mapping(questions)]
    value = decode_json(result) if isinstance(result, str) else result
    if isinstance(value, dict):
        value = value.get("answers")
    if isinstance(value, dict):
        places = {str(place): item for place, item in enumerate(asked)}
        places |= {as_string(item.get("id")): item for item in asked}
        for key, answer in value.items():
            yield from _make_answer(places.get(key, {}), as_mapping(answer).get("answers", answer))
    elif isinstance(value, list):
        for item, answer in zip_longest(asked[: len(value)], value):
            yield from _make_answer(item or {}, answer)
    elif isinstance(result, str) and result.startswith(_LISTED_HEAD):
        by_header = {as_string(item.get("header")): item for item in asked}
        _, *listed = _LISTED.split(result.removeprefix(_LISTED_HEAD))
        for header, answer in zip(listed[::2], listed[1::2], strict=True):
            yield from _make_answer(by_header.get(header, {"question": header}), answer)
    elif isinstance(result, str) and (choice := _CHOICE.match(result)):
        yield from _make_answer(asked[0], result[choice.end() :])


def _make_answer(question: dict[str, Any], answer: Any) -> Iterator[Turn]:
    values = [as_string(value) for value in (answer if isinstance(answer, list) else [answer])]
    text = "\n".join(_CHOICE.sub("", value, count=1) for value in values if value.strip())
    if text.strip():
        yield build_answer_turn(question.get("question") or question.get("prompt"), text)


def list_reasons(result: str) -> Iterator[Turn]:
    """Yield the reason that a person gave for refusing a call, from the call's result."""
    if reason := _REFUSAL.search(result):
        yield Turn(USER, reason[1].strip())
