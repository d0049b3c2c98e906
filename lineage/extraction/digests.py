"""Digests of sanitized turns: pure functions, so that after a crash a summary follows from its transcript alone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import is_unspaced
from lineage.core.base.sequences import Replayable
from lineage.core.format.digest import Digest
from lineage.core.format.sentence import base_name
from lineage.core.format.summary import CHECK
from lineage.core.format.synopsis import Synopsis, build_synopsis, find_content_words
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn, TurnText
from lineage.extraction.calls import EDITS, READS, RUNS, get_tool_name, list_call_files
from lineage.extraction.candidates import Candidate, extract_with_tool_overlap
from lineage.extraction.changes import find_commit_id, find_pull_request, find_subject, find_title
from lineage.extraction.sentence_kinds import DECISION, LESSON, TASK

_NAME = re.compile(  # possessive, so that the many words that are no names fail without backtracking
    r"#\d{1,6}\b|\b(?:[A-Z][A-Z0-9]{1,9}+-\d{1,6}\b|\w[^\W_]*+_\w+\b|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"
    r"|(?!e\.g\b|i\.e\b)[\w-]{1,64}+\.[a-z]{1,4}\b)"
)
_HINT = re.compile(  # in every name; begins with a set of characters, the fastest start for the engine
    r"[#_.A-Z-](?:(?<=[#_])|(?<=\.)[a-z]|(?<=-)\d|(?<=[a-z][A-Z]))"
)
_ID = re.compile(r" \((?:`[0-9a-f]+`|#\d+)\)$")  # of a commit or a pull request
_COMMIT_TYPE = re.compile(  # "fix(api): ", or a picture of it
    r"[^\w\s]*\s*(?:(build|chore|ci|docs|style|tests?)|\w+)(?:\([^()]*\))?!?: |[^\w\s]+\s+", re.IGNORECASE
)
_MERGE = re.compile(r"Merge (?:branch|commit|pull request|remote-tracking|tag|(?:\w+/)?(?:main|master))\b")

_MIN_SUBJECT_WORDS = 2  # of content
_PRODUCT_WORTH = 3  # of a subject, in halves of a word that it shares
_MAX_PER_KIND = 8
_MAX_COMMITS = 50
_MAX_CHECK_LENGTH = 200
_MAX_NAMES, _MAX_MOST_EDITED = 64, 6
_MAX_PLAIN_NAME = 60
_PATH_END = re.compile(r"[\\/]")


def build_digest(turns: Sequence[Turn], evidence: ToolEvidence | None = None) -> Digest:
    """Return the digest of these turns, see `build_digest_and_candidates`."""
    return build_digest_and_candidates(turns, evidence)[0]


def build_digest_and_candidates(
    turns: Sequence[Turn], evidence: ToolEvidence | None = None
) -> tuple[Digest, list[Candidate]]:
    """Return the digest of these turns, and the candidates of `extract_candidates`, so that nobody extracts them twice.

    The digest leaves out decisions, lessons, tasks, sentences of the last reply, commits and names of files that merely
    repeat a tool, because later sessions read summaries. (reliability: poisoned memory) The evidence is that of the
    turns unless it is given.
    """
    evidence = evidence or ToolEvidence(turns)
    counter = _TurnCounter()
    for position, turn in enumerate(turns):
        counter.add(position, turn)
    commits, pulls = counter.commits[:_MAX_COMMITS], counter.pull_requests[:_MAX_COMMITS]
    checks = [command for command, is_passed in counter.checks.items() if is_passed]
    paths = chain(counter.inputs[EDITS], counter.inputs[READS])
    wordy = {path: words for path in paths if (words := _find_words(path))}
    subjects = {*commits, *pulls}
    wordy |= {text: text for text in (*commits, *pulls, *checks) if text in subjects or len(text) > _MAX_PLAIN_NAME}
    statements = [Statement(len(turns), words) for words in wordy.values()]
    candidates, tools = extract_with_tool_overlap(turns, statements, evidence)
    hidden = {name for name, tool in zip(wordy, tools, strict=True) if tool}
    commits, pulls = ([text for text in part if text not in hidden] for part in (commits, pulls))
    # Summaries are read unasked: what waits for a person's confirmation stands in none.
    clean = [candidate for candidate in candidates if not (candidate.tool or candidate.waits)]
    synopsis = build_synopsis(iter_texts(turns), lambda found: _find_faults(evidence, found))
    edited = tuple(name for name in counter.inputs[EDITS] if name not in hidden)
    digest = Digest(
        turns=len(turns),
        requests=_collect_requests(turns),
        replies=counter.replies,
        **synopsis._asdict(),
        last_reply=evidence.clean(*counter.last_reply).strip("\n"),
        commits=tuple(commits),
        pull_requests=tuple(pulls),
        committed=_choose_subject(commits, synopsis, evidence, len(turns)),
        opened=_choose_subject(pulls, synopsis, evidence, len(turns)),
        checks=tuple(command for command in checks if command not in hidden),
        edited_files=edited,
        most_edited=_list_most_edited({path: counter.inputs[EDITS][path] for path in edited}),
        read_files=tuple(name for name in counter.inputs[READS] if name not in hidden),
        commands=tuple(counter.inputs[RUNS]),
        tools=tuple(sorted(counter.tool_counts.items(), key=lambda item: (-item[1], item[0]))),
        errors=counter.errors,
        decisions=_select_kind(clean, DECISION),
        lessons=_select_kind(clean, LESSON),
        open_items=_select_kind([one for one in clean if one.is_last], TASK),
        names=tuple(counter.names)[:_MAX_NAMES],
        ending=_classify_ending(turns),
    )
    return digest, candidates


def _list_most_edited(edits: Mapping[str, int]) -> tuple[str, ...]:
    """Return the base names with most edits: a project may have many files of one name."""
    counts = Counter[str]()
    for path, count in edits.items():
        counts[base_name(path)] += count
    return tuple(name for name, _ in counts.most_common(_MAX_MOST_EDITED))


def _find_words(path: str) -> str:
    """Return the parts of a path that can say what a tool said: summaries, which are read unasked, list paths."""
    parts = _PATH_END.split(path)
    return " ".join(part for part in parts if len(part) > _MAX_PLAIN_NAME or " " in part or is_unspaced(part))


def _collect_requests(turns: Sequence[Turn]) -> Sequence[str]:
    if isinstance(turns, tuple | list):  # else they are on disk, and read anew on each pass
        return tuple(_iter_requests(turns))
    return Replayable(partial(_iter_requests, turns))


def _iter_requests(turns: Iterable[Turn]) -> Iterator[str]:
    return (to_one_line(said) for turn in turns if turn.role == USER and (said := turn.said))


def iter_texts(turns: Iterable[Turn]) -> Iterator[TurnText]:
    """Yield what was said in turns, numbered by position."""
    for position, turn in enumerate(turns):
        if turn.text and turn.role != TOOL:
            yield TurnText(position, SYSTEM if turn.thinking else turn.role, turn.text)


def _find_faults(evidence: ToolEvidence, found: Sequence[Statement]) -> list[bool]:
    """Return for each statement whether it repeats a tool or would wait for a person's confirmation."""
    judged = zip(evidence.find_tools(found), evidence.find_waiting(found), strict=True)
    return [bool(tool) or waits for tool, waits in judged]


def _choose_subject(done: Sequence[str], synopsis: Synopsis, evidence: ToolEvidence, end: int) -> str:
    """Return the subject of the commits or pull requests that tells most of what was asked and achieved.

    What changes a product tells more than its documents and chores, the first one more than others that share as many
    words. None of a word or two that shares none, and none that a person has to confirm: "" if there is no other.
    """
    told = find_content_words(" ".join((*synopsis.asks, *synopsis.outcomes)))
    subjects = dict[str, int]()
    for one in done:
        line = _ID.sub("", one)
        kind = _COMMIT_TYPE.match(line)
        subject = line[kind.end() :] if kind else line
        words = find_content_words(subject)
        if (told & words or len(words) >= _MIN_SUBJECT_WORDS) and not _MERGE.match(subject):
            worth = 2 * len(told & words) + (0 if kind and kind[1] else _PRODUCT_WORTH)
            subjects.setdefault(subject, worth)
    best = sorted(subjects, key=lambda one: -subjects[one])
    waiting = evidence.find_waiting([Statement(end, one) for one in best])
    return next((one for one, waits in zip(best, waiting, strict=True) if not waits), "")


class _Running(NamedTuple):
    """A call whose result is awaited: subjects of what it commits and opens, or the command that it checks with."""

    subject: str
    title: str
    check: str


class _TurnCounter:
    """Counts of one pass through the turns, which need not fit into memory."""

    def __init__(self) -> None:
        self.replies = self.errors = 0
        self.last_reply = ("", 0)
        self.inputs: dict[frozenset[str], Counter[str]] = {names: Counter() for names in (EDITS, READS, RUNS)}
        self.tool_counts: Counter[str] = Counter()
        self.commits: list[str] = []
        self.pull_requests: list[str] = []
        self.checks: dict[str, bool] = {}
        self.running: dict[int, _Running] = {}
        self.names: dict[str, None] = {}

    def add(self, position: int, turn: Turn) -> None:
        """Count one turn."""
        self.errors += turn.error
        if turn.role == ASSISTANT and turn.name:
            self.tool_counts[turn.name] += 1
        if turn.name and turn.role in (ASSISTANT, TOOL) and turn.input:
            self._add_call(turn)
        if turn.role == TOOL and turn.call in self.running:
            self._add_result(turn, self.running.pop(turn.call))
        if turn.role in (USER, ASSISTANT) and not turn.thinking:
            self._add_message(position, turn)

    def _add_call(self, turn: Turn) -> None:
        name = get_tool_name(turn)
        for names, inputs in self.inputs.items():
            if name in names:
                inputs.update(list_call_files(turn))
        if name in RUNS and turn.role == ASSISTANT:
            whole = "\n".join((*(part.text for part in turn.parts), turn.input))
            subject, title = find_subject(whole), find_title(whole)
            is_check = not (subject or title) and CHECK.search(turn.input[:_MAX_CHECK_LENGTH])
            check = to_one_line(turn.input)[:_MAX_CHECK_LENGTH] if is_check else ""
            if subject or title or check:
                self.running[turn.number] = _Running(subject, title, check)

    def _add_result(self, turn: Turn, running: _Running) -> None:
        """Note the result of a call that commits, opens or checks: words of the agent, of the tool the id alone."""
        if running.check:
            self.checks[running.check] = not turn.error
        if turn.error:
            return
        if running.subject and (commit_id := find_commit_id(turn.text)):
            self.commits.append(f"{running.subject} (`{commit_id}`)")
        if running.title and (number := find_pull_request(turn.text)):
            self.pull_requests.append(f"{running.title} (#{number})")

    def _add_message(self, position: int, turn: Turn) -> None:
        if turn.role == ASSISTANT and turn.text:
            self.replies += 1
            self.last_reply = turn.text, position
        # Names are issues, files and components in prose.
        said = turn.said
        if len(self.names) < _MAX_NAMES and _HINT.search(said):
            self.names |= dict.fromkeys(_NAME.findall(said[:20_000]))  # a paste may be huge


def _select_kind(candidates: Iterable[Candidate], kind: str) -> tuple[str, ...]:
    return tuple(candidate.text for candidate in candidates if candidate.kind == kind)[:_MAX_PER_KIND]


def _classify_ending(turns: Sequence[Turn]) -> str:
    if not turns:
        return "reply"
    last = turns[-1]
    if last.role == USER:
        return "request"
    if last.role == TOOL:
        return "result"
    return "call" if last.name and not last.text else "reply"
