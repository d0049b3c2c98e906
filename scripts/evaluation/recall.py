"""How well recall at the prompt is silent, and right where it isn't; and the fit of its floor.

A prompt is one that a session of its project answers, one of the same project that no session answers, or unrelated:
small talk, and every prompt of the other projects. Nothing is told of the half that the floor is fitted on but beside.
"""

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evaluation import regression
from evaluation.material import Material, coding
from evaluation.measures import interval
from evaluation.rankers import captured
from lineage.core.base.project import build_project_key
from lineage.index import SqliteIndex
from lineage.recall import floor as floor_file
from lineage.recall import reader
from lineage.recall.at_prompt import recall_at_prompt
from lineage.recall.floor import Floor
from lineage.recall.items import Recall

HELD, MISSING, ELSEWHERE, UNRELATED = "held", "missing", "elsewhere", "unrelated"
_OWN = Path(__file__).with_name("prompts.txt")
_SIGNS = {"+": HELD, "-": MISSING, "=": ELSEWHERE, "~": UNRELATED}
_ALONE = "each project alone"
_PROJECTS_ASKED = 4  # projects that a prompt of another one is asked in
_HEAD = """| recall at the prompt | right | given | tokens, median | given, though not held | given, though unrelated |
| --- | ---: | ---: | ---: | ---: | ---: |"""
_SELECT_PROJECTS = "select distinct project_key from artifacts where project_key != '' order by 1"
_SELECT_PROJECT = "select project_key from artifacts where session_id glob ? limit 1"
_SELECT_NAMED = "select project_key from artifacts where project_key like ? limit 1"

_ROUNDS, _STEPS, _RIDGE, _ORDER_RIDGE = 4, 12, 2.0, 0.3  # of choosing what answers and fitting, and of Newton's method
_UNRELATED_WEIGHT = 0.3  # there are many more of them
_MISSING_SHARE = 0.1  # of the same project's prompts that may be above the floor
_UNRELATED_SHARE = 0.01  # of the unrelated prompts of sets that aren't ours: some do touch what a project holds
_NEVER = -99.0  # of what isn't found at all
_SPARE = 0.15  # above the best that must not be given


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in a project, by the project's key; `answer` are the words that have to be in what is given."""

    kind: str
    text: str
    project: str
    answer: str = ""

    @property
    def is_held_out(self) -> bool:
        """Whether the floor wasn't fitted on it."""
        return bool(zlib.crc32(self.text.encode()) % 2)


class Asked(NamedTuple):
    prompt: Prompt
    recall: Recall

    @property
    def is_right(self) -> bool:
        return any(holds(one.text, self.prompt.answer) for one in self.recall.items)


def holds(text: str, answer: str) -> bool:
    """Whether words stand in a text, however its lines are broken; of several, between `||`, one of them."""
    flat = " ".join(text.lower().split())
    return any(" ".join(one.split()) in flat for one in answer.lower().split(" || "))


PromptSet = tuple[Path, Material] | tuple[None, None]
"""A file of prompts and what they are asked of, None for ours."""


def tables(sets: Sequence[PromptSet]) -> Iterator[str]:
    """The table: each set in one workspace, ours with each project alone as well, and all sets together."""
    yield from _HEAD.splitlines()
    every = [found for one in sets for found in _ask_sets(*one)]
    together = [one for name, asked in every for one in asked if name != _ALONE]
    for name, asked in [*every, ("together", together)] if len(sets) > 1 else every:
        for half in (False, True):
            chosen = [one for one in asked if one.prompt.is_held_out == half]
            yield _line(f"{name}, {'held out' if half else 'tuned on'}", chosen)


def _ask_sets(file: Path | None, material: Material | None) -> Iterator[tuple[str, list[Asked]]]:
    with _opened(material or coding()) as connection:
        prompts = list(read_prompts(file or _OWN, connection))
        yield (material or coding()).name, ask(connection, prompts)
    if material is None:
        yield _ALONE, [one for project in _projects() for one in _ask_alone(project, prompts)]


def _projects() -> list[str]:
    return sorted({session.project or "" for session in coding().sessions})


def _ask_alone(project: str, prompts: Iterable[Prompt]) -> list[Asked]:
    """What is given where nothing but a project is in memory."""
    whole = coding()
    own = replace(whole, sessions=[one for one in whole.sessions if one.project == project])
    with _opened(own) as connection:
        return ask(connection, [one for one in prompts if one.project == build_project_key(project)])


@contextmanager
def _opened(material: Material) -> Iterator[sqlite3.Connection]:
    with TemporaryDirectory(prefix="lineage-eval-") as folder, captured(Path(folder) / "workspace", material) as ws:
        assert isinstance(ws.index, SqliteIndex)
        with closing(reader.open_database(str(ws.index.path))) as connection:
            yield connection


def read_prompts(file: Path, connection: sqlite3.Connection) -> Iterator[Prompt]:
    """The prompts of a file; those of a project are asked in a few others, too, and small talk in a few of all."""
    projects = [key for (key,) in connection.execute(_SELECT_PROJECTS)]
    for line in file.read_text(encoding="utf-8").splitlines():
        kind = _SIGNS.get(line[:1])
        if kind is None:
            continue
        *place, text = line[2:].split(" | ")[: 1 + (kind != UNRELATED)]
        key = ""
        if kind == HELD:
            (key,) = connection.execute(_SELECT_PROJECT, (f"{place[0]}*",)).fetchone()
            yield Prompt(HELD, text, key, line.rpartition(" | ")[2])
        elif kind != UNRELATED:
            found = connection.execute(_SELECT_NAMED, (f"%/{place[0]}",)).fetchone()
            key = found[0] if found else place[0]
        if kind == MISSING:
            yield Prompt(MISSING, text, key)
        others = [one for one in projects if one != key]
        start = zlib.crc32(text.encode()) >> 8
        for number in range(min(_PROJECTS_ASKED, len(others))):
            yield Prompt(UNRELATED, text, others[(start + number * 7) % len(others)])


def ask(connection: sqlite3.Connection, prompts: Iterable[Prompt]) -> list[Asked]:
    return [Asked(one, recall_at_prompt(connection, [one.project], None, one.text)) for one in prompts]


def _line(name: str, asked: Sequence[Asked]) -> str:
    by_kind = {kind: [one for one in asked if one.prompt.kind == kind] for kind in (HELD, MISSING, UNRELATED)}
    held = by_kind[HELD]
    given = {kind: [bool(one.recall.items) for one in some] for kind, some in by_kind.items()}
    tokens = [sum(item.tokens for item in one.recall.items) for one in held if one.recall.items]
    cells = (_share([one.is_right for one in held]), _share(given[HELD]), f"{median(tokens or [0]):.0f}")
    return f"| {name} | {' | '.join((*cells, _share(given[MISSING]), _share(given[UNRELATED])))} |"


def _share(values: Sequence[bool]) -> str:
    if not values:
        return "-"
    low, high = interval(values)
    return f"{sum(values):,} of {len(values):,} = {sum(values) / len(values):.3f} {low:.2f} to {high:.2f}"


Example = tuple[Mapping[str, float], bool, float]
"""Features, whether they are those of an answer, and the weight of the prompt."""


def fit(sets: Sequence[PromptSet]) -> Iterator[str]:
    """Fit weights, floor and order on the tuned half of sets, and write the data file.

    Ours are asked with each project alone as well.
    """
    named = [
        [(name, one) for name, some in _ask_sets(*own) for one in some if not one.prompt.is_held_out] for own in sets
    ]
    by_set = [[one for _, one in some] for some in named]
    tuned = [one for some in by_set for one in some]
    values = json.loads(Path(floor_file.FILE).read_text(encoding="utf-8"))
    for _ in range(_ROUNDS):
        samples = [sample for one in tuned for sample in _build_samples(one, Floor(values))]
        values |= {"weights": _fit_weights(samples, list(values["weights"])), "floor": 0.0}
    fitted = Floor(values)
    same = max(find_floor(_best_scores(some, MISSING, fitted), _MISSING_SHARE) for some in by_set)
    unrelated = max(
        find_floor(_best_scores(some, UNRELATED, fitted), _UNRELATED_SHARE if file else 0.0)
        for (file, _), some in zip(sets, by_set, strict=True)
    )
    values["floor"] = round(max(same, unrelated + _SPARE), 3)
    values["order"] = _fit_order([one for some in named for name, one in some if name != _ALONE], Floor(values))
    Path(floor_file.FILE).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    yield f"{len(samples):,} samples: {values['weights']}, floor {values['floor']}; {same:.2f} would do for the same"
    yield f"project, and {unrelated:.2f} for what is unrelated. Sentences by {values['order']}"


def find_floor(scores: Iterable[float], share: float) -> float:
    """Return the score that no more than a share of these exceed; a very low one of none, as of a single project."""
    ordered = sorted(scores)
    return ordered[int(len(ordered) * (1 - share)) - 1] if ordered else _NEVER


def _considered(one: Asked) -> list[tuple[Mapping[str, float], str]]:
    return [(found.features, "".join(found.sentences.parts)) for found in one.recall.considered]


def _build_samples(one: Asked, floor: Floor) -> Iterator[Example]:
    """Yield the best answer of a prompt that memory holds, and what would be given at one that it doesn't."""
    is_held, found = one.prompt.kind == HELD, _considered(one)
    known = [features for features, text in found if not is_held or holds(text, one.prompt.answer)]
    allowed = [features for features in known if not floor.find_missed(features)] or (known if is_held else [])
    weight = _UNRELATED_WEIGHT if one.prompt.kind == UNRELATED else 1.0
    yield from ((features, is_held, weight) for features in sorted(allowed, key=floor.score)[-1:])


def _best_scores(asked: Iterable[Asked], kind: str, floor: Floor) -> Iterator[float]:
    for one in asked:
        if one.prompt.kind == kind:
            yield max((floor.score(one) for one, _ in _considered(one) if not floor.find_missed(one)), default=_NEVER)


def _fit_weights(samples: Sequence[Example], names: Sequence[str]) -> dict[str, float]:
    """Return the weights by which features tell answers, without their constant: the floor takes it up."""
    means = {name: sum(features[name] for features, *_ in samples) / len(samples) for name in names}
    spreads = {
        name: math.sqrt(sum((features[name] - means[name]) ** 2 for features, *_ in samples) / len(samples)) or 1.0
        for name in names
    }
    rows = [
        regression.Sample(
            [
                *((at, (features[name] - means[name]) / spreads[name]) for at, name in enumerate(names)),
                (len(names), 1.0),
            ],
            is_answer,
            weight,
        )
        for features, is_answer, weight in samples
    ]
    found = regression.regress(rows, [_RIDGE] * (len(names) + 1), _STEPS)
    return {name: round(one / spreads[name], 3) for name, one in zip(names, found, strict=False)}


def _fit_order(asked: Iterable[Asked], floor: Floor) -> dict[str, float]:
    """Return the weights by which the sentence that answers goes before others, in units of the first."""
    names = list(floor.order)
    groups = [_build_group(one, floor, names) for one in asked]
    groups = [group for group in groups if any(sample.is_right for sample in group)]
    first, *rest = regression.rank(groups, [_ORDER_RIDGE] * len(names), _STEPS)
    if first <= 0:
        raise ValueError(f"what a sentence holds of a prompt doesn't tell in {len(groups)} prompts")
    return dict(zip(names, [1.0, *(round(weight / first, 3) for weight in rest)], strict=True))


def _build_group(one: Asked, floor: Floor, names: Sequence[str]) -> list[regression.Sample]:
    group = []
    for row in one.recall.considered if one.prompt.kind == HELD else ():
        row.score = floor.score(row.features)
        for sentence in row.sentences.list_found(floor.deciding, floor.narrating):
            found = row.measure(sentence)
            is_right = holds(row.sentences.parts[sentence.place], one.prompt.answer)
            group.append(
                regression.Sample([(at, found[name]) for at, name in enumerate(names) if found[name]], is_right)
            )
    return group
