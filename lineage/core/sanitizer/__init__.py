"""`sanitize_transcript_v1`: the one way in for text that reaches a file. (spec: sanitization contract)

Order: normalize (line ends, lone surrogates, terminal control sequences) → detection view → rules → encoded spans
decoded, and the rules again → merge → `[REDACTED:rule]` → again, until nothing changes. The same bytes on every
system; the digest of the rules is part of the version.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lineage.core.sanitizer.engine import spans
from lineage.core.sanitizer.patterns import engine
from lineage.core.sanitizer.report import Finding, Places
from lineage.core.sanitizer.rule import MARKER, Allowance, Rule, digest_of
from lineage.core.sanitizer.rules import RULES
from lineage.core.sanitizer.ruleset import BUILTIN, DROP, MASK, Ruleset, Span, ruleset
from lineage.core.sanitizer.seams import batches, split_over
from lineage.core.sanitizer.stream import BLOCK, OVERLAP, Block, blocks
from lineage.core.sanitizer.view import normalized, normalizing

_MOST_DROPS = 8


class Sanitizer:
    """Redacts texts and counts what it redacted, by rule. Raises EngineMissing where google-re2 is not installed.

    >>> Sanitizer().text("key AKIA" + "QWERTYUIOPASDFGH")
    'key [REDACTED:aws-access-key-id]'
    """

    def __init__(self, rules: Ruleset = BUILTIN) -> None:
        engine()
        self.rules = rules
        self.redactions: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without secrets; sanitizing it again changes nothing."""
        text = normalized(text)
        return self._redacted(text, spans(text, self.rules))

    def optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Consecutive texts, each without secrets, nor any part of one that begins in one text and ends in another."""
        return list(self.consecutive(texts))

    def consecutive(self, texts: Iterable[str]) -> Iterator[str]:
        """`texts`, of as many as there are: as many as it pays to look through together are held."""
        begun: list[Span] = []
        for batch, goes_on in batches(map(normalized, texts)):
            clean, begun = self._together(batch, begun, goes_on)
            yield from clean

    def _together(self, texts: Sequence[str], begun: Sequence[Span], goes_on: bool) -> tuple[list[str], list[Span]]:
        """Normalized texts without secrets. `begun` is what is known of the first one; where it `goes_on`, the last one
        is not among them, and what is known of it is told."""
        known = split_over(texts, self.rules)
        known[0] += begun
        rest = known.pop() if goes_on else []
        clean = (self._redacted(text, spans(text, self.rules, own)) for text, own in zip(texts, known, strict=False))
        return list(clean), rest

    def stream(self, chunks: Iterable[str], block: int = BLOCK, overlap: int = OVERLAP) -> Iterator[str]:
        """A text that comes in chunks, in bounded memory. The same as `text` of the whole for every secret that is,
        with all that has to be read to know it, shorter than `overlap` characters; a longer one is cut short by its
        marker, and no part of it comes out."""
        for part in blocks(chunks, self.rules, block, overlap):
            yield self._redacted(part.layer.text[: part.end], part.spans)

    def findings(self, text: str) -> list[Finding]:
        """What `text` would redact, and where in the text as it was given."""
        layer = normalizing(text)
        return list(Places().of(Block(layer, len(layer.text), spans(layer.text, self.rules), 0)))

    def findings_in(self, chunks: Iterable[str], block: int = BLOCK, overlap: int = OVERLAP) -> Iterator[Finding]:
        """What `stream` would redact, and where in the whole."""
        places = Places()
        for part in blocks(chunks, self.rules, block, overlap):
            yield from places.of(part)

    def _redacted(self, text: str, found: Sequence[Span], drops: int = _MOST_DROPS) -> str:
        parts, position, dropped = [], 0, False
        for span in found:
            name = span.rule.id
            drop = bool(drops) and name in self.rules.dropped
            dropped = dropped or drop
            parts += [text[position : span.start], "" if drop else f"[REDACTED:{name}]"]
            position = span.end
            self.redactions[name] += 1
        whole = "".join([*parts, text[position:]])
        return self._redacted(whole, spans(whole, self.rules), drops - 1) if dropped else whole


def redactions_in(text: str) -> int:
    """How many redactions a sanitized text shows.

    >>> redactions_in("key [REDACTED:jwt], key [REDACTED:jwt]")
    2
    """
    return len(MARKER.findall(text))


__all__ = [
    "BUILTIN", "DROP", "MARKER", "MASK", "RULES", "Allowance", "Finding", "Rule", "Ruleset", "Sanitizer",
    "digest_of", "normalized", "redactions_in", "ruleset",
]  # fmt: skip
