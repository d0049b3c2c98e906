"""What a new session is told: gathered with one query of the index and the files that it names. (format: Commands)

"Today" is the UTC day of `house.now`; but for it and the end of a checkpoint's seven days, no clock has part in it.
"""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from lineage.core import naming
from lineage.core.book import Book, Part
from lineage.core.book_paths import CURATED, GLOBAL, BookRef
from lineage.core.documents import Artifact
from lineage.core.entry import DERIVED, HAND
from lineage.core.identity import DEFAULT_AGENT, TOKEN, checked_agent, session_token
from lineage.core.privacy import may_reach, session_scope
from lineage.core.times import day, shifted
from lineage.harness.projects import project_of
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.projects import project_folder, project_key
from lineage.pipeline.knowledge.said import Knowledge, Known, ranked, tasks
from lineage.pipeline.reading import readable_at
from lineage.projection import Block, Item, Recollection, assemble

if TYPE_CHECKING:
    from lineage.index import EntryRow, RecalledSession

_REMEMBERED = ("preference", "decision", "note", "fact")
_OF_A_PROJECT = ("note", "context", "fact", "project")
_OF_A_SESSION = ("finding", "note", "context", "fact", "decision", "lesson", "preference")
_RELEVANT = ("decision", "lesson")
_HANDOFF = "handoff"

_LOOKED_AT, _NEWEST = 1000, 50  # sessions, to find a project's among them and without one
_MOST_RECENT = 8
_MOST_RELEVANT = 5
_MOST_MESSAGES = 6
_LONGEST_MESSAGE = 600
_SHORTEST_WORD = 4
_HEADING = re.compile(r"\s*#{1,6}\s")
_COMMANDS = re.compile(r"^## Commands run\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""An agent may have written anything into a command, a commit's message for instance."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Asked(NamedTuple):
    """For whom: the agent; its project, a path or a bare name; the running session, a token or an id; what it is
    about. `budget` is in tokens, the workspace's where it is None."""

    agent_id: str = DEFAULT_AGENT
    project: str | None = None
    query: str | None = None
    session: str | None = None
    budget: int | None = None

    @property
    def token(self) -> str:
        """The running session's, "" where none is named."""
        named = (self.session or "").strip()
        return named if not named or TOKEN.fullmatch(named) else session_token(self.agent_id, named)


def context(house: House, asked: Asked, knowledge: Knowledge | None = None) -> Block:
    """The block for a new session. Writes nothing. `knowledge` is what was read of the books already.

    Raises InvalidInput for an agent's id that is none.
    """
    checked_agent(asked.agent_id)
    gathering = _Gathering(house, asked, (knowledge or Knowledge(house)).of(asked.agent_id))
    budget = house.settings.context.budget if asked.budget is None else asked.budget
    return assemble(gathering.recollection(), budget)


class _Gathering:
    """One answer while it is put together."""

    def __init__(self, house: House, asked: Asked, knowledge: Knowledge) -> None:
        self._house = house
        self._asked = asked
        self._knowledge = knowledge
        self._project = project_of(asked.project)
        self._folder = project_folder(house, self._project)
        self._agent = f"agent/{asked.agent_id}"
        self._scopes = [self._agent, *([f"project/{self._folder}"] if self._folder else [])]
        self._handoffs = self._said(self._scopes, _HANDOFF)

    def recollection(self) -> Recollection:
        found = self._house.index.recalled(
            self._asked.query or " ".join([self._folder or "", *(known.text for known in self._handoffs[:1])]),
            agent_id=self._asked.agent_id,
            scopes=[GLOBAL, *self._scopes],
            kinds=_RELEVANT,
            sessions=_LOOKED_AT if self._project else _NEWEST,
            entries=4 * _MOST_RELEVANT,
            until=self._house.now,
        )
        sessions = self._of_the_project([row for row in found.sessions if self._may_show(row)])
        here = {row.session_token for row in sessions}
        handoff = self._handoff(sessions, {row.session_token for row in found.sessions} - here)
        last = self._captured(sessions[0]) if sessions and not handoff else []
        relevant = self._relevant(found.entries, sessions, handoff)
        return Recollection(
            curated=curated(self._knowledge),
            preferences=_items(self._knowledge.said(GLOBAL, *_REMEMBERED)),
            project=_items(self._said(self._scopes[1:], *_OF_A_PROJECT)),
            last_session=_items([handoff]) if handoff else last,
            decisions=_items([known for known in relevant if known.ref.kind == "decision"][:_MOST_RELEVANT]),
            lessons=_items([known for known in relevant if known.ref.kind == "lesson"][:_MOST_RELEVANT]),
            session=self._own(),
            tasks=self._tasks(),
            daily=self._daily(),
            recovery=self._recovery(),
            recent=self._recent(sessions[1:] if last else sessions),
        )

    def _said(self, scopes: Iterable[str], *kinds: str) -> list[Known]:
        return ranked(known for scope in scopes for known in self._knowledge.said(scope, *kinds))

    def _may_show(self, row: "RecalledSession") -> bool:
        return row.session_token != self._asked.token and row.session_token not in self._knowledge.removed

    def _of_the_project(self, rows: "list[RecalledSession]") -> "list[RecalledSession]":
        """Those of the project, all where none is given. A bare name is the project of that path, if there is any, else
        the one with that folder."""
        if not self._project:
            return rows
        key = project_key(self._project)
        keys = {path: project_key(path) for path in {row.project for row in rows if row.project}}
        same = [row for row in rows if row.project and keys[row.project] == key]
        if same or key != self._folder:
            return same
        paths = {row.project for row in rows if row.project}
        named = {path for path in paths if project_folder(self._house, path) == self._folder}
        return [row for row in rows if row.project in named]

    def _handoff(self, sessions: "Sequence[RecalledSession]", others: Set[str]) -> Known | None:
        """The newest handoff that no session of another project left, unless more than the session that left it ended
        since: then it is history."""
        left = (known for known in self._handoffs if others.isdisjoint(naming.tokens_in(known.entry.origin or "")))
        newest = max(left, key=lambda known: known.at, default=None)
        if newest and newest.at and len(sessions) > 1 and newest.at < sessions[1].membership_ts:
            return None
        return newest

    def _captured(self, row: "RecalledSession") -> list[Item]:
        """What stands for a handoff that nobody wrote: the sentence of the last capture, and its summary line by line.
        (lessons: 30)"""
        items = [Item(row.memory_sentence, DERIVED, day(row.membership_ts), row.summary_path)]
        summary = readable_at(self._house, row.summary_path)
        if not isinstance(summary, Artifact):
            return items
        if not may_reach(GLOBAL, private=summary.private, token=summary.identity.token):
            return []
        lines = _COMMANDS.sub("", str(summary.body)).splitlines()[1:]
        return items + [Item(line) for line in lines if line.strip() and not line.startswith("# ")]

    def _relevant(
        self, rows: "Sequence[EntryRow]", sessions: "Sequence[RecalledSession]", handoff: Known | None
    ) -> list[Known]:
        """Decisions and lessons, best first: what the query finds. Without a query, those of project and agent too,
        ranked by the words that they share with the last session, then by age."""
        found = list(filter(None, map(self._found, rows)))
        if not self._asked.query:
            found = [*self._said(self._scopes, *_RELEVANT), *self._said([GLOBAL], "lesson"), *found]
            last = handoff.text if handoff else sessions[0].memory_sentence if sessions else ""
            newest = sorted({known.entry.id: known for known in found}.values(), key=_age, reverse=True)
            found = _by_shared_words(newest, f"{self._folder or ''} {last}")
        shown = {known.entry.id for known in self._knowledge.said(GLOBAL, *_REMEMBERED)}
        return [known for known in found if known.entry.id not in shown]

    def _found(self, row: "EntryRow") -> Known | None:
        """The entry of a row as its file has it now."""
        known = self._knowledge.in_force(BookRef(row.scope, row.kind, row.shelf))
        return next((one for one in known if one.entry.id == row.id), None)

    def _own(self) -> list[Item]:
        token = self._asked.token
        return _items(self._knowledge.said(session_scope(token), *_OF_A_SESSION)) if token else []

    def _tasks(self) -> list[Item]:
        own = [session_scope(self._asked.token)] if self._asked.token else []
        found = tasks(self._knowledge, [GLOBAL, *self._scopes, *own])
        return [Item(text, known.entry.trust, day(known.at)) for known, text in found]

    def _daily(self) -> list[Item]:
        days = (day(self._house.now), day(shifted(self._house.now, days=-1)))
        notes = [(date, self._knowledge.said(self._agent, f"daily/{date}")) for date in days]
        return [Item(known.text, known.entry.trust, date) for date, found in notes for known in found]

    def _recovery(self) -> list[Item]:
        """What the newest session said that had not ended, the last words first to be kept."""
        found = self._house.canon.checkpoints.get(self._asked.agent_id, self._house.now, project=self._project)
        if found is None or found.session_token in (*self._knowledge.removed, self._asked.token):
            return []
        said = found.messages[-_MOST_MESSAGES:]
        messages = (
            Item(one.text[:_LONGEST_MESSAGE], about=one.role, rank=len(said) - number)
            for number, one in enumerate(said)
        )
        return [Item(found.title), *messages]

    def _recent(self, sessions: "Sequence[RecalledSession]") -> list[Item]:
        return [
            Item(row.memory_sentence, about=day(row.membership_ts), link=row.summary_path)
            for row in sessions[:_MOST_RECENT]
        ]


def curated(knowledge: Knowledge) -> list[Item]:
    """AGENT_MEMORY.md in the order of the file: entries, and a human's text line by line.

    Where it is too long, the newest entries are kept, and of the text its end and its beginning: what is left out is
    the middle. Headings alone say nothing. (lessons: 31)
    """
    ref = BookRef(GLOBAL, CURATED)
    entries = {known.entry.id: known for known in knowledge.in_force(ref) if known.entry.source != HAND}
    found: list[Known | str] = []
    for part in knowledge.book(ref).parts:
        if part.entry and (known := entries.pop(part.entry.id, None)):
            found.append(known)
        elif part.is_free:
            found += [line for line in _prose(knowledge.book(ref), part).splitlines() if line.strip()]
    if all(isinstance(one, str) and _HEADING.match(one) for one in found):
        return []
    ranks = {place: rank for rank, place in enumerate(_newest_first(found))}
    return [
        Item(one, rank=ranks[place]) if isinstance(one, str) else _item(one)._replace(rank=ranks[place])
        for place, one in enumerate(found)
    ]


def _newest_first(found: Sequence[Known | str]) -> list[int]:
    """The places of entries, the newest first, taking turns with those of lines: the last, the first, and so on."""
    entries = sorted(((one.at, place) for place, one in enumerate(found) if isinstance(one, Known)), reverse=True)
    lines = [place for place, one in enumerate(found) if isinstance(one, str)]
    ends = (lines[-1 - turn // 2] if turn % 2 == 0 else lines[turn // 2] for turn in range(len(lines)))
    turns = zip_longest((place for _, place in entries), ends)
    return [place for place in chain.from_iterable(turns) if place is not None]


def _prose(book: Book, part: Part) -> str:
    """What a person wrote there, without comments: nobody sees those in a note."""
    return _COMMENT.sub("", "".join(entry.text for entry in book._replace(parts=(part,)).hand))


def _items(found: Iterable[Known]) -> list[Item]:
    return [_item(known) for known in found]


def _item(known: Known) -> Item:
    about = ", ".join(filter(None, (known.ref.kind, day(known.at))))
    return Item(known.text, known.entry.trust, about)


def _age(known: Known) -> tuple[str, str]:
    return known.at, known.entry.id


def _by_shared_words(found: Sequence[Known], text: str) -> list[Known]:
    """The entries that share most words with a text first."""
    if len(found) < 2:
        return list(found)
    words = _words(text)
    return sorted(found, key=lambda known: -len(words & _words(known.text)))


def _words(text: str) -> frozenset[str]:
    """The words by which two texts are compared; short ones say little, but in scripts without spaces."""
    from lineage.extract.folding import is_dense, tokens  # noqa: PLC0415  (only where there are entries to compare)

    return frozenset(word for word in tokens(text) if len(word) >= _SHORTEST_WORD or is_dense(word))
