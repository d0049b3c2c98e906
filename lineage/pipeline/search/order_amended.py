"""Search results with what amends before what it amends (usefulness: What is learned).

An entry that is superseded comes behind all others. Of two sessions of a project the newer comes first if one of its
sentences about the query amends one of the older session's. Such a sentence holds half of the query's words, or follows
one that does. With fewer, sessions amend each other by what nobody asked for, and a search takes half as long again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import NamedTuple

from lineage.core.base.naming import TRANSCRIPT
from lineage.core.base.normalize import fold_text, normalize_text
from lineage.core.base.project import join_projects
from lineage.core.search.index_sql import MAX_OF_KIND, MAX_PASSAGES
from lineage.core.search.query import strip_operators
from lineage.core.search.words import extract_words
from lineage.extraction.amendments import OlderStatements, parse_statement
from lineage.extraction.forms import find_forms, name_language
from lineage.extraction.sentences import list_sentence_texts
from lineage.index import Hit, Superseded
from lineage.workspace.workspace import Workspace

MAX_COMPARED = 10  # results, the best ones
_MAX_ROWS = 2  # of a session
_MAX_SENTENCES = 8
_MAX_LENGTH = 400
_STEM = 5


class _Statement(NamedTuple):
    """A sentence of a result, with those before and after it, "" without one."""

    before: str
    text: str
    after: str


class _Said(NamedTuple):
    """What a result says: its place among the results, its time, project and name, and its sentences.

    `session` is the token of the session that said it, "" for what a person wrote.
    """

    place: int
    at: str
    project: str
    session: str
    name: str
    sentences: Sequence[_Statement]


def order_amended(ws: Workspace, hits: Sequence[Hit], query: str) -> list[Hit]:
    """Return the hits with the newer first where one amends the other, and say so in the older ones."""
    marked = [_mark_entry(ws, hit) for hit in hits]
    newer: dict[int, list[int]] = {}
    said = sorted(_read(ws, marked[:MAX_COMPARED], query), key=lambda one: (one.project, one.at, one.place))
    for _, of_project in groupby(said, key=lambda one: one.project):
        for one, other, sentence in _find_amendments(of_project):
            newer.setdefault(one.place, []).insert(0, other.place)
            marked[one.place] = replace(marked[one.place], superseded=Superseded(other.at[:10], other.name, sentence))
    _mark_superseded(ws, marked, newer)
    ordered = dict[int, None]()
    for place in range(len(marked)):
        _visit(place, newer, ordered)
    return sorted(
        (marked[place] for place in ordered), key=lambda hit: hit.entry is not None and not hit.entry.standing
    )


def _mark_superseded(ws: Workspace, hits: list[Hit], newer: dict[int, list[int]]) -> None:
    """Mark the results that say what an entry superseded, and note the place of that entry among the results."""
    own = {hit.session_token: place for place, hit in enumerate(hits) if not (hit.entry or hit.superseded)}
    statements = ws.index.list_superseded([token for token in own if token])
    places = {hit.entry.id: place for place, hit in enumerate(hits) if hit.entry}
    for token, of_session in groupby(statements, key=lambda one: one.token):
        place = own[token]
        with ws.index.open_vector_search() as engine:
            passages = [normalize_text(row.text) for row in engine.read_passage_rows(hits[place].rows)]
        for one in of_session:
            if any(normalize_text(one.text) in passage for passage in passages):
                hits[place] = replace(hits[place], superseded=Superseded(one.at[:10], one.successor, one.current))
                newer.setdefault(place, []).extend([places[one.successor]] if one.successor in places else [])
                break


def _visit(place: int, newer: Mapping[int, Sequence[int]], ordered: dict[int, None]) -> None:
    for other in newer.get(place, ()):
        if other not in ordered:
            _visit(other, newer, ordered)
    ordered[place] = None


def _find_amendments(said: Iterable[_Said]) -> Iterator[tuple[_Said, _Said, str]]:
    """Yield what is amended, by what, and its first sentence that does, given results by time."""
    statements, owners = OlderStatements(), list[_Said]()
    for one in said:
        found: dict[int, tuple[_Said, str]] = {}
        stated = (sentence for sentence in one.sentences if owners and not _announces(sentence.text))
        for sentence in stated:
            for text in _list_texts(sentence):
                for number in statements.find_amended(text):
                    found.setdefault(owners[number].place, (owners[number], text))
        # A session's entry says in its book what the session itself says.
        others = ((older, text) for older, text in found.values() if not older.session or older.session != one.session)
        yield from ((older, one, text) for older, text in others if older.at != one.at)
        for sentence in one.sentences:
            statements.add(sentence.text)
            owners.append(one)


def _announces(text: str) -> bool:
    """Return whether a sentence only says what its speaker does next."""
    folded = fold_text(text)
    return "^announcement" in find_forms(folded, name_language(folded))


def _list_texts(sentence: _Statement) -> Iterator[str]:
    """Yield a sentence and, if it says that it replaces something, its pairs: a neighbour may name what."""
    yield sentence.text
    if parse_statement(sentence.text).is_amending:
        yield from (f"{sentence.before} {sentence.text}",) * bool(sentence.before)
        yield from (f"{sentence.text} {sentence.after}",) * bool(sentence.after)


def _mark_entry(ws: Workspace, hit: Hit) -> Hit:
    """Return the hit of a superseded entry with what took its place."""
    if hit.entry is None or hit.entry.standing:
        return hit
    rows = ws.index.load_entries(hit.entry.scope, hit.entry.kind)
    new = max((row for row in rows if hit.entry.id in row.supersedes), key=lambda row: row.at, default=None)
    return replace(hit, superseded=Superseded(new.at[:10], new.id, new.text)) if new else hit


def _read(ws: Workspace, hits: Sequence[Hit], query: str) -> Iterator[_Said]:
    """Yield the results that have a project with another one, at another time."""
    projects = _name_projects(hits)
    told = {
        (project, hit.membership_ts)
        for project, hit in zip(projects, hits, strict=True)
        if project and hit.membership_ts
    }
    times = Counter(project for project, _ in told)
    places = [place for place, hit in enumerate(hits) if hit.membership_ts and times[projects[place]] > 1]
    spoken = {
        place: [row for row in hits[place].rows if row % MAX_PASSAGES < MAX_OF_KIND][:_MAX_ROWS] for place in places
    }
    with ws.index.open_vector_search() as engine:
        # The phrases of summaries are lineage's own.
        rows_read = engine.read_passage_rows(chain.from_iterable(spoken.values()))
        texts = {row.number: row.text for row in rows_read if row.kind == TRANSCRIPT}
    stems = {fold_text(word)[: _STEM if word.isascii() else 2] for word in extract_words(strip_operators(query))}
    for place, rows in spoken.items():
        hit = hits[place]
        passages = [hit.entry.text] if hit.entry else [texts.get(row, "") for row in rows]
        session, sentences = hit.session_token or "", _choose_sentences(passages, stems)
        name = hit.entry.id if hit.entry else session
        yield _Said(place, hit.membership_ts or "", projects[place], session, name, sentences)


def _name_projects(hits: Sequence[Hit]) -> list[str]:
    """Return the project of each result, "" for none: a folder's repository, if it got a remote later."""
    joined = join_projects([(hit.project_key, hit.project or "") for hit in hits if hit.project_key])
    return [joined[hit.project_key] if hit.project_key else hit.entry.scope if hit.entry else "" for hit in hits]


def _choose_sentences(passages: Iterable[str], stems: set[str]) -> list[_Statement]:
    """Return the first sentences with half of the query's words, then what follows such ones."""

    def is_asked(folded: str) -> bool:
        return 2 * sum(map(folded.__contains__, stems)) >= len(stems)

    asked, followers = dict[_Statement, None](), dict[_Statement, None]()
    for passage in passages:
        if not any(map(is_asked, fold_text(passage).splitlines())):
            continue  # and so is no sentence: these take longer to find
        texts = ["", *list_sentence_texts(passage, _MAX_LENGTH), ""]
        found = list(map(is_asked, fold_text("\n".join(texts)).split("\n")))
        for place in range(1, len(texts) - 1):
            if any(found[place - 1 : place + 1]):
                (asked if found[place] else followers)[_Statement(*texts[place - 1 : place + 2])] = None
        if len(asked) >= _MAX_SENTENCES:
            break
    return [*asked, *followers][:_MAX_SENTENCES]
