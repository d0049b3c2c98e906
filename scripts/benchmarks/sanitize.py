"""`scripts/bench sanitize [PATH …]`: how much the sanitizer finds, how much it takes from text, and how fast it is.

Recall is that of the rules' own examples, plain and in every disguise, and of made-up cases by a seed that know nothing
of the rules: vendors' tokens by class, passwords and keys by shape and carrier, both in disguise. A secret is masked
whole, in part or not; it is over where text beside it went too. Lines that hold no secret must stay.

What is found in transcripts (files or folders; without a path a made-up one) are findings for a person to judge: their
number by the megabyte and their share of the characters are printed, with what was found by which rule, never the text
itself.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks import transcripts
from benchmarks.corpus import midnight
from benchmarks.disguises import DISGUISES
from benchmarks.redaction_forms import FORMS, Form, Group
from benchmarks.redaction_harmless import harmless
from benchmarks.redaction_marks import MISSED, PART, WHOLE, Verdict, judge
from benchmarks.rule_examples import RULE_EXAMPLES
from benchmarks.words import Prose
from lineage.core.sanitizer import BUILTIN, RULES, Rule, Sanitizer

_MEGABYTE = 1_000_000
_CASES = 2_000
_MADE_UP = 4 * _MEGABYTE
Judged = tuple[Form, Verdict]
_LEFT_OUT = frozenset({"signature", "encrypted_content", "thoughtSignature"})  # as the adapters do
_HOSTILE = (
    "a", "eyJ", "password=", "%41", '"a"+', "\u200b", "a\u200b", "\\", "&#65;", "a1\n", "://a:", "\x1b[", "=\n",
    "é\\n", "-----BEGIN PRIVATE KEY-----\n", "token='q7Zp4vLk9sXw2mBt' ", "Authorization: Bearer ", "[REDACTED:jwt] a",
    "0x41, ",
    # the slowest that searches over mixtures of names, values, quotes and encodings found
    'Password:\n\\"\\u00e9eyJhbGciOi', "aK9xQ2mZ7pL4;secret=", 'cGFzc3dvcmQ9aHVudGVyMnh5eg==%2541\\u0041"+"',
    "api_key=YXBpX2tleT1hQjN4SzltUDJ2TDU=%2541", '!psk="zMoSDm3vFbqnWwAg""+"\\xc3\\xa9',
    "?pwd=YXBpX2tleT1hQjN4SzltUDJ2TDU=%C3%A9", "\\passwd=&quot;&token=secret_name_47f189e12",
    "パスワード: pk_73822304_19", 'パスワード: ASANA_CLIENT_SECRET=51453357828dd007c69}"\n"secret_key_base\\xc3',
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench sanitize", description="What the sanitizer finds.")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="transcripts: files or folders")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the made-up secrets, 1 by default")
    parser.add_argument("--cases", type=int, default=_CASES, metavar="N", help=f"of each sort, {_CASES} by default")
    options = parser.parse_args(arguments)
    print(f"{BUILTIN.version}, {len(RULES)} rules\n")
    _print_recall([rule for rule in RULES if not rule.personal])
    _print_forms(options.seed, options.cases)
    _print_harmless(options.seed, options.cases)
    _print_hostile()
    if options.paths:
        _print_transcripts(_files(options.paths))
        return
    with TemporaryDirectory(prefix="lineage-bench-") as folder:
        path = Path(folder, "session.jsonl")
        transcripts.write(path, _MADE_UP, Prose(1), midnight())
        _print_transcripts([path])


def found_in(rule: Rule, disguise: Callable[[str], str]) -> bool:
    """Whether the rule's example is redacted in the disguise."""
    return bool(Sanitizer().find_secrets(disguise(RULE_EXAMPLES[rule.id].text)))


def _print_recall(rules: Sequence[Rule]) -> None:
    plain = [rule.id for rule in rules if not found_in(rule, str)]
    print(f"own families: {len(rules) - len(plain)} of {len(rules)}{_names(plain)}")
    read = [name for name, example in RULE_EXAMPLES.items() if example.seen]
    print(f"pages read and held against their rules: {len(read)} of {len(RULE_EXAMPLES)}")
    hits = 0
    for name, disguise in DISGUISES.items():
        missed = [rule.id for rule in rules if not found_in(rule, disguise)]
        hits += len(rules) - len(missed)
        print(f"  {name:24} {_percent(len(rules) - len(missed), len(rules))}{_names(missed)}")
    print(f"disguises: {_percent(hits, len(rules) * len(DISGUISES))}\n")


def _print_forms(seed: int, cases: int) -> None:
    for sort in FORMS:
        drawn = sort.draw(Random(seed), cases)
        judged = [(form, judge(form.case, Sanitizer().sanitize(form.case.text))) for form in drawn]
        print(f"{sort.title}, seed {seed}: {_shares([verdict for _, verdict in judged])}")
        for group in sort.groups:
            for name, verdicts in _grouped(judged, group).items():
                print(f"  {name:28} {_shares([verdict for _, verdict in verdicts])}{_not_whole(verdicts)}")
            print()
        if sort.table:
            _print_table(judged, *sort.table)


def _grouped(judged: Sequence[Judged], group: Group) -> dict[str, list[Judged]]:
    grouped: dict[str, list[Judged]] = {}
    for form, verdict in judged:
        grouped.setdefault(group(form), []).append((form, verdict))
    return grouped


def _not_whole(judged: Sequence[Judged]) -> str:
    """The families of tokens that were not always masked whole."""
    tokens = [form.what for form, verdict in judged if not form.disguise and verdict.secret != WHOLE]
    return _names(sorted(set(tokens))) if judged[0][0].place == "tokens" and not judged[0][0].disguise else ""


def _print_table(judged: Sequence[Judged], row: Group, column: Group) -> None:
    """Percent that are whole, and in part, for every pair."""
    columns = list(_grouped(judged, column))
    print(f"  {'whole/part, in %':24} {' '.join(f'{name:>18}' for name in columns)}")
    for name, in_row in _grouped(judged, row).items():
        cells = _grouped(in_row, column)
        print(f"  {name:24} {' '.join(f'{_cell(cells.get(each, [])):>18}' for each in columns)}")
    print()


def _cell(judged: Sequence[Judged]) -> str:
    secrets = Counter(verdict.secret for _, verdict in judged)
    return f"{secrets[WHOLE] / len(judged):.0%}/{secrets[PART] / len(judged):.0%}".replace("%", "") if judged else "-"


def _shares(verdicts: Sequence[Verdict]) -> str:
    secrets = Counter(verdict.secret for verdict in verdicts)
    shares = "".join(f"{name} {_percent(secrets[name], len(verdicts))}, " for name in (WHOLE, PART, MISSED))
    return f"{shares}over {_percent(sum(verdict.over for verdict in verdicts), len(verdicts))} of {len(verdicts)}"


def _print_harmless(seed: int, cases: int) -> None:
    unchanged: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for text, kind in harmless(Random(seed), cases):
        all_of[kind] += 1
        unchanged[kind] += Sanitizer().sanitize(text) == text
    print(f"harmless lines unchanged, seed {seed}: {_percent(unchanged.total(), all_of.total())} of {all_of.total()}")
    for kind, count in all_of.items():
        print(f"  {kind:32} {_percent(unchanged[kind], count)} of {count}")
    print()


def _print_hostile() -> None:
    slowest = max((_seconds(unit * (_MEGABYTE // len(unit))), unit) for unit in _HOSTILE)
    print(f"slowest hostile megabyte: {slowest[0]:.2f} s, {slowest[1]!r} over and over\n")


def _seconds(text: str) -> float:
    start = perf_counter()
    Sanitizer().sanitize(text)
    return perf_counter() - start


def _print_transcripts(files: Iterable[Path]) -> None:
    texts = [text for path in files for text in _texts(path)]
    total = sum(map(len, texts))
    if not total:
        sys.exit("no text in there")
    start = perf_counter()
    once = [Sanitizer().sanitize(text) for text in texts]
    seconds = perf_counter() - start
    found = [finding for text in texts for finding in Sanitizer().find_secrets(text)]
    replaced = sum(finding.end - finding.start for finding in found)
    whole = _seconds("\n".join(texts))
    print(
        f"{len(texts):,} texts, {total / _MEGABYTE:.2f} MB: {total / seconds / _MEGABYTE:.1f} MB/s one by one,", end=" "
    )
    print(f"{total / whole / _MEGABYTE:.1f} MB/s as one")
    print(f"{len(found) / total * _MEGABYTE:.2f} findings a MB, {replaced / total:.4%} of the characters")
    print(f"changed by a second run: {sum(Sanitizer().sanitize(text) != text for text in once)}")
    for rule, count in Counter(finding.rule for finding in found).most_common():
        print(f"  {rule:32} {count}")


def _files(paths: Iterable[Path]) -> list[Path]:
    return [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()]


def _texts(path: Path) -> Iterator[str]:
    """The strings of a transcript in JSON or JSON lines, decoded; the whole of any other file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        yield from _strings(json.loads(text))
    except ValueError:
        for line in text.splitlines(keepends=True):
            try:
                yield from _strings(json.loads(line))
            except ValueError:
                yield line


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in _LEFT_OUT:
                yield from _strings(item)


def _percent(count: int, total: int) -> str:
    return f"{count / total:7.2%}" if total else "no examples"


def _names(missed: Sequence[str]) -> str:
    return f"  without {', '.join(missed)}" if missed else ""
