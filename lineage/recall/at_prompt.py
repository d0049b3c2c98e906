"""What memory holds about a prompt: at most three passages and entries above a floor, else nothing.

The rows of the prompt's rare words are added up word by word, so that no row is scored that common words alone would
find. The best of the project are read and measured against those of all others. (usefulness: What an agent is given)
"""

import math
import sqlite3

from lineage import full_text
from lineage.core.base.templates import strip_template
from lineage.core.search import words
from lineage.core.search.index_sql import MAX_OF_KIND, MAX_PASSAGES
from lineage.core.search.language import is_stop_word
from lineage.recall import reader
from lineage.recall.considered import ConsideredRow, consider
from lineage.recall.evidence import FoundSentence, Word, normalize, weigh
from lineage.recall.floor import Floor, load_floor
from lineage.recall.items import Recall, RecalledItem
from lineage.recall.questions import list_questions
from lineage.recall.reader import PASSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

MAX_ITEMS, MAX_TOKENS = 3, 400
MAX_CHARS = 885  # of text, without what says where it is from
_CURRENT_CHARS = 300  # of what supersedes a passage
_READ_CHARS = 6_000  # of a prompt: what it wants stands at its beginning
_MAX_WORDS = 32  # those that tell most
_MAX_ROWS = 1_000  # a word of more is common: it finds none by itself
_LOADED, _READ, _OTHERS = 300, 40, 4  # rows: of any project, of its own, of others
_GIVEN_BEFORE = "given before"
_WORSE = 0.7  # a sentence whose rank is so far below that of the best isn't given beside it


def recall_at_prompt(
    connection: sqlite3.Connection,
    project_keys: "Sequence[str]",
    agent: str | None,
    prompt: str,
    *,
    owns_folder: "Callable[[str], bool]" = lambda _: False,
    given: "Collection[str]" = (),
    exclude_session: str = "",
    is_asked: bool = False,
) -> Recall:
    """Return the quotes from memory about a prompt, for an agent in a project; without a project none.

    Where it finds nothing about the whole of a prompt, it looks for each question in it: a log or a greeting around one
    says nothing of what is asked. Items in `given` are left out, and the words of the running session, by its id.
    `owns_folder` decides for a folder of books that no session names whether it is the project's. With `is_asked` a
    person asks, and the floor doesn't hold. Raise `sqlite3.Error`.
    """

    def recall(text: str) -> Recall:
        return _recall_text(
            connection, project_keys, agent, text,
            owns_folder=owns_folder, given=given, exclude_session=exclude_session, is_asked=is_asked,
        )  # fmt: skip

    prompt = strip_template(prompt)
    found = recall(prompt)
    if found.items or is_asked or not project_keys:
        return found
    return next((one for one in map(recall, list_questions(prompt)) if one.items), found)


def _recall_text(
    connection: sqlite3.Connection,
    project_keys: "Sequence[str]",
    agent: str | None,
    prompt: str,
    *,
    owns_folder: "Callable[[str], bool]",
    given: "Collection[str]",
    exclude_session: str,
    is_asked: bool,
) -> Recall:
    """Return the quotes about a text.

    If one row is above the floor, so are all with a score above it, whatever else they miss.
    """
    floor = load_floor()
    found_words = _find_words(connection, prompt, floor, is_asked=is_asked) if project_keys else []
    rows = _score_rows(found_words)
    loaded = reader.load_rows(connection, _find_best(rows), agent, exclude_session)
    loaded.sort(key=lambda row: (-rows[row.number], row.at, row.number))
    is_own = {row.number: row.is_of(project_keys, owns_folder) for row in loaded}
    own = [row for row in loaded if is_own[row.number]][:_READ]
    removed = reader.find_removed(connection, {row.token for row in own})
    own = [row for row in own if row.token not in removed]
    others = [row.number for row in loaded if not is_own[row.number]][:_OTHERS]
    candidates = consider(connection, found_words, own, others, floor, floor.find_asking(prompt))
    if not candidates:
        return Recall(reason="memory holds no rare word of the prompt" if project_keys else "no project")
    for one in candidates:
        one.score = floor.score(one.features)
        one.missed = [] if is_asked else floor.find_missed(one.features)
        one.is_above = is_asked or (one.score > 0 and not one.missed)
    if any(one.is_above for one in candidates):
        for one in candidates:
            one.is_above = one.is_above or one.score > 0
            one.missed = [] if one.is_above else one.missed
    chosen = _choose(connection, candidates, floor, given, math.inf if is_asked else _WORSE)
    found = [_add_current(connection, item, agent, exclude_session, given) for item in chosen]
    named = dict[str, RecalledItem]()
    for item in (item for some in found for item in some):
        named[item.id] = item if item.is_successor else named.get(item.id, item)
    items = sorted(named.values(), key=lambda item: item.at, reverse=True)
    # The newest come first, so that what is superseded goes first where there is no room, and is never alone.
    while len(items) > MAX_ITEMS or sum(item.tokens for item in items) > MAX_TOKENS:
        items.pop()
    told = {item.id for item in items}
    for one in candidates:
        if one.id in told or one.verdict == "given":
            one.verdict = "given" if one.id in told else "left out"
    return Recall(items, candidates)


def _find_words(connection: sqlite3.Connection, prompt: str, floor: Floor, *, is_asked: bool = False) -> list[Word]:
    """Return the words of a prompt in its order, with their rows."""
    terms, language = words.select_words(words.split_words(prompt[:_READ_CHARS]))
    if not is_asked and all(is_stop_word(term, language) for term in terms):
        return []  # "can we do that?" asks for nothing that memory could hold
    count, newest = full_text.count_rows(connection), reader.find_newest(connection)
    found = []
    # Sorting is stable, so that words stay in the order of the prompt while there are not too many.
    rarest = sorted(terms, key=floor.weigh_everyday, reverse=True)[:_MAX_WORDS]
    for term in (term for term in terms if term in rarest):
        word = Word(term, words.build_expression(term, language), floor.weigh_everyday(term))
        rows = full_text.find_rows(connection, word.expression, _MAX_ROWS + 1)
        word.is_common = len(rows) > _MAX_ROWS
        # The first rows are of the oldest files: how far they reach says about how many there are.
        total = len(rows) * newest // max(1, rows[-1] // MAX_PASSAGES) if word.is_common else len(rows)
        word.rows, word.rarity = set(rows), weigh(total, count)
        word.weight = word.everyday * word.rarity
        if word.is_pair:
            word.rarity = word.weight  # an ending is as rare as its language is in an index of several
        found.append(word)
    return found


def _score_rows(found_words: "Sequence[Word]") -> dict[int, float]:
    """Return the rarity of the rare words in each row of entries and of what was said."""
    rows: dict[int, float] = {}
    for word in found_words:
        for row in () if word.is_common else word.rows:
            if row < 0 or row % MAX_PASSAGES < MAX_OF_KIND:
                rows[row] = rows.get(row, 0.0) + word.rarity
    return rows


def _find_best(scores: dict[int, float]) -> list[int]:
    """Return the rows with the best scores, of equal ones the last."""
    # Numbers alone are sorted five times as fast as rows by their numbers.
    least = sorted(scores.values(), reverse=True)[:_LOADED][-1:]
    best = [row for row, score in scores.items() if score >= least[0]]
    return sorted(best, key=lambda row: (-scores[row], -row))[:_LOADED]


def _choose(
    connection: sqlite3.Connection,
    candidates: "Sequence[ConsideredRow]",
    floor: Floor,
    given: "Collection[str]",
    worse: float,
) -> list[RecalledItem]:
    """Return the items for which there is room, the best first, and note the verdict of each candidate.

    A sentence that ranks so much `worse` than the best isn't given.
    """
    sessions = {name.partition("/")[0] for name in given}
    passages = [one for one in candidates if one.is_above and one.row.kind == PASSAGE]
    for one in candidates:
        one.verdict = "others say more"
        if not one.is_above:
            one.verdict = "below the floor"
        elif one.id in given or (one.row.kind != PASSAGE and one.row.token in sessions):
            one.verdict = _GIVEN_BEFORE
        elif one.row.kind != PASSAGE and any(other.says(one, connection) for other in passages):
            one.verdict = "a passage says it"
    # What was given before is the best all the same: nothing that was too much worse then is given now.
    compared = [one for one in candidates if one.verdict in ("others say more", _GIVEN_BEFORE)]
    found = sorted(one for number, row in enumerate(compared) for one in _rank_sentences(number, row, floor))
    left, chosen, texts = MAX_CHARS, dict[int, set[int]](), {"  "}  # a line without a word says nothing
    least = -math.inf
    while found and found[-1][0] >= least:
        rank, number, place, sentence = found.pop()
        one = compared[-number]
        if one.verdict == _GIVEN_BEFORE:
            least = max(least, rank - worse)
            continue
        text = one.sentences.normal[-place]
        is_new = -number in chosen or len(chosen) < MAX_ITEMS
        if sentence.length > left or not is_new or text in texts:
            continue
        one.hide_echoes(connection)
        if not one.sentences.shows_met or -place in one.sentences.hidden:
            continue
        least = max(least, rank - worse)
        chosen.setdefault(-number, set()).add(-place)
        left -= sentence.length
        texts.add(text)
    return [_build_item(compared[number], places) for number, places in chosen.items()]


def _rank_sentences(number: int, one: ConsideredRow, floor: Floor) -> "Iterator[tuple[float, int, int, FoundSentence]]":
    """Yield the sentences of a candidate with their ranks; of equal ones the first of the first sorts last."""
    for sentence in one.sentences.list_found(floor.deciding, floor.narrating):
        yield floor.rank(one.measure(sentence)), -number, -sentence.place, sentence


def _build_item(one: ConsideredRow, places: "Collection[int]") -> RecalledItem:
    row, one.verdict = one.row, "given"
    origin = row.scope or row.owner
    return RecalledItem(
        one.id, one.sentences.join(places), origin, row.title, row.at, row.kind, "".join(one.sentences.parts)
    )


def _add_current(
    connection: sqlite3.Connection, item: RecalledItem, agent: str | None, session: str, given: "Collection[str]"
) -> list[RecalledItem]:
    """Return an item with its successor, an empty list if the successor can't be given."""
    if item.kind != PASSAGE:
        return [item]
    text = normalize(item.passage)
    for old, rows in reader.find_superseded(connection, item.origin):
        if normalize(old) in text:
            loaded = {row.number: row for row in reader.load_rows(connection, rows, agent, session)}
            row = next((loaded[number] for number in rows if number in loaded), None)
            if row is None or row.owner in given:
                return []
            body = next(full_text.read_rows(connection, [row.number])).body
            item.title, item.is_superseded = f"superseded on {row.at[:10]}", True
            current = RecalledItem(row.owner, body[:_CURRENT_CHARS], row.scope, row.title, row.at, row.kind)
            current.is_successor = True
            return [current, item]
    return [item]
