"""`sanitize_transcript_v1`: the one way in for text that reaches a file. (spec: sanitization contract)

Order: normalize (line ends, lone surrogates, terminal control sequences) → detection view → rules → encoded spans
decoded, and the rules again → merge → `[REDACTED:rule]` → again, until nothing changes. The same bytes on every
system; the digest of the rules is part of the version.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.findings import FindingLocator, RedactionFinding
from lineage.core.sanitizer.layers import build_normalized_layer, normalize_text
from lineage.core.sanitizer.re2_patterns import load_re2
from lineage.core.sanitizer.rule import MARKER, Allowance, Rule, compute_rules_digest
from lineage.core.sanitizer.rules import RULES
from lineage.core.sanitizer.ruleset import BUILTIN, DROP, MASK, Ruleset, Span, build_ruleset
from lineage.core.sanitizer.split_secrets import find_split_spans, iter_batches
from lineage.core.sanitizer.stream import BLOCK_CHARS, OVERLAP_CHARS, StreamBlock, iter_blocks

_MAX_DROP_PASSES = 8


class Sanitizer:
    """Redacts texts and counts what it redacted, by rule. Raises EngineMissing where google-re2 is not installed.

    >>> Sanitizer().sanitize("key AKIA" + "QWERTYUIOPASDFGH")
    'key [REDACTED:aws-access-key-id]'
    """

    def __init__(self, ruleset: Ruleset = BUILTIN) -> None:
        load_re2()
        self.ruleset = ruleset
        self.redactions: Counter[str] = Counter()

    def sanitize(self, text: str) -> str:
        """The text without secrets; sanitizing it again changes nothing."""
        text = normalize_text(text)
        return self._redact(text, find_spans(text, self.ruleset))

    def sanitize_optional(self, text: str | None) -> str | None:
        return None if text is None else self.sanitize(text)

    def sanitize_all(self, texts: Sequence[str]) -> list[str]:
        """Consecutive texts, each without secrets, nor any part of one that begins in one text and ends in another."""
        return list(self.iter_sanitized(texts))

    def iter_sanitized(self, texts: Iterable[str]) -> Iterator[str]:
        """`texts`, of as many as there are: as many as it pays to look through together are held."""
        begun: list[Span] = []
        for batch, goes_on in iter_batches(map(normalize_text, texts)):
            clean, begun = self._sanitize_batch(batch, begun, goes_on)
            yield from clean

    def _sanitize_batch(
        self, texts: Sequence[str], open_spans: Sequence[Span], continues: bool
    ) -> tuple[list[str], list[Span]]:
        """Normalized texts without secrets. `begun` is what is known of the first one; where it `goes_on`, the last one
        is not among them, and what is known of it is told."""
        known = find_split_spans(texts, self.ruleset)
        known[0] += open_spans
        rest = known.pop() if continues else []
        clean = (
            self._redact(text, find_spans(text, self.ruleset, own)) for text, own in zip(texts, known, strict=False)
        )
        return list(clean), rest

    def sanitize_stream(
        self, chunks: Iterable[str], block_chars: int = BLOCK_CHARS, overlap_chars: int = OVERLAP_CHARS
    ) -> Iterator[str]:
        """A text that comes in chunks, in bounded memory. The same as `text` of the whole for every secret that is,
        with all that has to be read to know it, shorter than `overlap` characters; a longer one is cut short by its
        marker, and no part of it comes out."""
        for part in iter_blocks(chunks, self.ruleset, block_chars, overlap_chars):
            yield self._redact(part.layer.text[: part.end], part.spans)

    def find_secrets(self, text: str) -> list[RedactionFinding]:
        """What `text` would redact, and where in the text as it was given."""
        layer = build_normalized_layer(text)
        return list(
            FindingLocator().locate(StreamBlock(layer, len(layer.text), find_spans(layer.text, self.ruleset), 0))
        )

    def find_secrets_in_stream(
        self, chunks: Iterable[str], block_chars: int = BLOCK_CHARS, overlap_chars: int = OVERLAP_CHARS
    ) -> Iterator[RedactionFinding]:
        """What `stream` would redact, and where in the whole."""
        places = FindingLocator()
        for part in iter_blocks(chunks, self.ruleset, block_chars, overlap_chars):
            yield from places.locate(part)

    def _redact(self, text: str, found_spans: Sequence[Span], drops: int = _MAX_DROP_PASSES) -> str:
        parts, position, dropped = [], 0, False
        for span in found_spans:
            name = span.rule.id
            drop = bool(drops) and name in self.ruleset.dropped
            dropped = dropped or drop
            parts += [text[position : span.start], "" if drop else f"[REDACTED:{name}]"]
            position = span.end
            self.redactions[name] += 1
        whole = "".join([*parts, text[position:]])
        return self._redact(whole, find_spans(whole, self.ruleset), drops - 1) if dropped else whole


def count_redactions(text: str) -> int:
    """How many redactions a sanitized text shows.

    >>> count_redactions("key [REDACTED:jwt], key [REDACTED:jwt]")
    2
    """
    return len(MARKER.findall(text))


__all__ = [
    "BUILTIN",
    "DROP",
    "MARKER",
    "MASK",
    "RULES",
    "Allowance",
    "RedactionFinding",
    "Rule",
    "Ruleset",
    "Sanitizer",
    "build_ruleset",
    "compute_rules_digest",
    "count_redactions",
    "normalize_text",
]  # fmt: skip
