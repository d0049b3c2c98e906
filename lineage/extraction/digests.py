"""From sanitized turns to a `Digest`: a pure function of what the transcript artifact itself holds, so that a summary
can be made again from its transcript after a crash."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial

from lineage.core.base.links import to_one_line
from lineage.core.format.digest import Digest
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction.candidates import Candidate, extract_candidates, extract_with_tool_overlap
from lineage.extraction.cues import DECISION, LESSON, TASK

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
_MULTI_FILE_TOOL = "apply_patch"  # the one tool that names several files in its input

_NAME = re.compile(  # most words are none: one look tells where one begins, and no part of it is gone through twice
    r"#\d{1,6}\b|\b(?:[A-Z][A-Z0-9]{1,9}+-\d{1,6}\b|\w[^\W_]*+_\w+\b|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"
    r"|(?!e\.g\b|i\.e\b)[\w-]{1,64}+\.[a-z]{1,4}\b)"
)
_HINT = re.compile(  # what every name has: begins with a set of characters, as the engine likes best
    r"[#_.A-Z-](?:(?<=[#_])|(?<=\.)[a-z]|(?<=-)\d|(?<=[a-z][A-Z]))"
)
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)", re.MULTILINE | re.DOTALL)

_MAX_PER_KIND = 8
_RECENT_TURNS = 4  # turns in which something that is said to be open still is
_MAX_REPLY_LENGTH = 300
_MAX_NAMES = 64


def build_digest(turns: Sequence[Turn]) -> Digest:
    """`gathered` without its candidates."""
    return build_digest_and_candidates(turns)[0]


def build_digest_and_candidates(turns: Sequence[Turn]) -> tuple[Digest, list[Candidate]]:
    """What happened in these turns. Decisions, lessons, tasks and last words that merely repeat a tool are not in it:
    summaries are read by later sessions. (reliability: poisoned memory)

    The candidates are those of `extract`: who learns from the same turns need not look for them again."""
    seen = _TurnCounter()
    for position, turn in enumerate(turns):
        seen.add(position, turn)
    found, echoes = extract_with_tool_overlap(turns, [(position, reply, False) for position, reply in seen.last_reply])
    repeated = {candidate.text for candidate in found if candidate.tool}
    happened = Digest(
        turns=len(turns),
        requests=_collect_requests(turns),
        replies=seen.replies,
        last_reply=_truncate_reply(seen.last_reply[0][1]) if echoes == [""] else "",
        edited_files=tuple(seen.inputs[_EDITS]),
        read_files=tuple(seen.inputs[_READS]),
        commands=tuple(seen.inputs[_RUNS]),
        tools=tuple(sorted(seen.tool_counts.items(), key=lambda item: (-item[1], item[0]))),
        errors=seen.errors,
        decisions=_select_kind(found, DECISION, repeated),
        lessons=_select_kind(found, LESSON, repeated),
        open_items=_select_kind(extract_candidates(tuple(seen.recent_turns)), TASK, repeated),
        names=tuple(seen.names)[:_MAX_NAMES],
        ending=_classify_ending(turns),
    )
    return happened, found


def _collect_requests(turns: Sequence[Turn]) -> Sequence[str]:
    """What the user said; told again each time where the turns aren't held either."""
    if isinstance(turns, tuple | list):
        return tuple(_iter_requests(turns))
    from lineage.core.base.sequences import Replayable  # noqa: PLC0415  (few sessions are that long)

    return Replayable(partial(_iter_requests, turns))


def _iter_requests(turns: Iterable[Turn]) -> Iterator[str]:
    return (to_one_line(turn.text) for turn in turns if turn.role == USER and turn.text)


class _TurnCounter:
    """What is counted and gathered on one way through the turns: they need not all be held."""

    def __init__(self) -> None:
        self.replies = self.errors = 0
        self.last_reply: list[tuple[int, str]] = []
        self.inputs: dict[frozenset[str], dict[str, None]] = {names: {} for names in (_EDITS, _READS, _RUNS)}
        self.tool_counts: Counter[str] = Counter()
        self.recent_turns: deque[Turn] = deque(maxlen=_RECENT_TURNS)
        self.names: dict[str, None] = {}

    def add(self, position: int, turn: Turn) -> None:
        self.errors += turn.error
        if turn.role == ASSISTANT and turn.name:
            self.tool_counts[turn.name] += 1
        if turn.name and turn.role in (ASSISTANT, TOOL) and turn.input:
            self._add_call(turn)
        if turn.role in (USER, ASSISTANT) and not turn.thinking:
            self._add_message(position, turn)

    def _add_call(self, turn: Turn) -> None:
        """What a call was about; an extension puts its name before the tool's (`developer__shell`)."""
        name = turn.name.lower().rpartition("__")[2]
        for names, known in self.inputs.items():
            if name in names:
                known.update(dict.fromkeys(turn.input.split(", ") if name == _MULTI_FILE_TOOL else [turn.input]))

    def _add_message(self, position: int, turn: Turn) -> None:
        """Of what is said, the identifiers that people and the agent named: issues, files, components."""
        self.recent_turns.append(turn)
        if turn.role == ASSISTANT and turn.text:
            self.replies += 1
            self.last_reply = [(position, turn.text)]
        if len(self.names) < _MAX_NAMES and _HINT.search(turn.text):
            self.names |= dict.fromkeys(_NAME.findall(turn.text[:20_000]))


def _select_kind(candidates: Iterable[Candidate], kind: str, excluded_texts: Set[str]) -> tuple[str, ...]:
    """What candidates of a kind say."""
    said = (candidate.text for candidate in candidates if candidate.kind == kind)
    return tuple(text for text in said if text not in excluded_texts)[:_MAX_PER_KIND]


def _truncate_reply(text: str) -> str:
    """The beginning of a reply on one line, code left out."""
    line = to_one_line(_FENCE.sub("", text)) or to_one_line(text)
    return line if len(line) <= _MAX_REPLY_LENGTH else line[: _MAX_REPLY_LENGTH - 1] + "…"


def _classify_ending(turns: Sequence[Turn]) -> str:
    if not turns:
        return "reply"
    last = turns[-1]
    if last.role == USER:
        return "request"
    if last.role == TOOL:
        return "result"
    return "call" if last.name and not last.text else "reply"
