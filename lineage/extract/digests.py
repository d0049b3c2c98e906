"""From sanitized turns to a `Digest`: a pure function of what the transcript artifact itself holds, so that a summary
can be made again from its transcript after a crash."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set

from lineage.core.digest import Digest
from lineage.core.lazily import pattern
from lineage.core.links import one_line
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extract.candidates import Candidate, extract, told_apart
from lineage.extract.cues import DECISION, LESSON, TASK

_EDITS = frozenset(
    {
        "edit", "write", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "edit_file",
        "create_file", "text_editor", "search_replace",
    }
)  # fmt: skip
_READS = frozenset({"read", "read_file", "view", "open_file"})
_RUNS = frozenset(
    {
        "bash", "shell", "exec_command", "run_shell_command", "local_shell", "run_command", "execute_command",
        "shell_command", "run_terminal_cmd",
    }
)  # fmt: skip
_MANY = "apply_patch"  # the one tool that names several files in its input

_NAME = pattern(  # most words are none: one look tells where one begins, and no part of it is gone through twice
    r"#\d{1,6}\b|\b(?:[A-Z][A-Z0-9]{1,9}+-\d{1,6}\b|\w[^\W_]*+_\w+\b|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"
    r"|(?!e\.g\b|i\.e\b)[\w-]{1,64}+\.[a-z]{1,4}\b)"
)
_HINT = pattern(  # what every name has: begins with a set of characters, as the engine likes best
    r"[#_.A-Z-](?:(?<=[#_])|(?<=\.)[a-z]|(?<=-)\d|(?<=[a-z][A-Z]))"
)
_FENCE = pattern(r"^(?:```|~~~).*?^(?:```|~~~)", re.MULTILINE | re.DOTALL)

_MOST_CUED = 8
_LATELY = 4  # turns in which something that is said to be open still is
_LONGEST = 300
_MOST_NAMES = 64


def digest(turns: Sequence[Turn]) -> Digest:
    """`gathered` without its candidates."""
    return gathered(turns)[0]


def gathered(turns: Sequence[Turn]) -> tuple[Digest, list[Candidate]]:
    """What happened in these turns. Decisions, lessons, tasks and last words that merely repeat a tool are not in it:
    summaries are read by later sessions. (reliability: poisoned memory)

    The candidates are those of `extract`: who learns from the same turns need not look for them again."""
    requests = [one_line(turn.text) for turn in turns if turn.role == USER and turn.text]
    replies = [turn for turn in turns if turn.role == ASSISTANT and turn.text and not turn.thinking]
    calls = [turn for turn in turns if turn.name and turn.role in (ASSISTANT, TOOL) and turn.input]
    used = Counter(turn.name for turn in turns if turn.role == ASSISTANT and turn.name)
    spoken = [turn for turn in turns if turn.role in (USER, ASSISTANT) and not turn.thinking]
    found, echoes = told_apart(turns, [(turns.index(reply), reply.text, False) for reply in replies[-1:]])
    repeated = {candidate.text for candidate in found if candidate.tool}
    happened = Digest(
        turns=len(turns),
        requests=tuple(requests),
        replies=len(replies),
        last_reply=_beginning(replies[-1].text) if echoes == [""] else "",
        edited=_inputs(calls, _EDITS),
        read=_inputs(calls, _READS),
        commands=_inputs(calls, _RUNS),
        tools=tuple(sorted(used.items(), key=lambda item: (-item[1], item[0]))),
        errors=sum(turn.error for turn in turns),
        decisions=_of_kind(found, DECISION, repeated),
        lessons=_of_kind(found, LESSON, repeated),
        open=_of_kind(extract(spoken[-_LATELY:]), TASK, repeated),
        names=_names(turn.text for turn in spoken),
        ending=_ending(turns),
    )
    return happened, found


def _inputs(calls: Iterable[Turn], names: frozenset[str]) -> tuple[str, ...]:
    """What calls of certain tools were about; an extension puts its name before the tool's (`developer__shell`)."""
    found: dict[str, None] = {}
    for turn in calls:
        name = turn.name.lower().rpartition("__")[2]
        if name in names:
            found |= dict.fromkeys(turn.input.split(", ") if name == _MANY else [turn.input])
    return tuple(found)


def _of_kind(candidates: Iterable[Candidate], kind: str, left_out: Set[str]) -> tuple[str, ...]:
    """What candidates of a kind say."""
    said = (candidate.text for candidate in candidates if candidate.kind == kind)
    return tuple(text for text in said if text not in left_out)[:_MOST_CUED]


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    """Identifiers that people and the agent named: issues, files, snake_case and CamelCase components."""
    found: dict[str, None] = {}
    for text in texts:
        if _HINT.search(text):
            found |= dict.fromkeys(_NAME.findall(text[:20_000]))
        if len(found) >= _MOST_NAMES:
            break
    return tuple(found)[:_MOST_NAMES]


def _beginning(text: str) -> str:
    """The beginning of a reply on one line, code left out."""
    line = one_line(_FENCE.sub("", text)) or one_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _ending(turns: Sequence[Turn]) -> str:
    if not turns:
        return "reply"
    last = turns[-1]
    if last.role == USER:
        return "request"
    if last.role == TOOL:
        return "result"
    return "call" if last.name and not last.text else "reply"
