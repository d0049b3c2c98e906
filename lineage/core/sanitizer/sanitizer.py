"""The sanitizer: texts in, texts without secrets out, redactions counted by rule.

Order: normalize (line ends, lone surrogates, terminal control sequences) → detection view → rules → decode encoded
spans, and the rules again → merge → `[REDACTED:rule]` → again, until nothing changes. The bytes are the same on every
system; the digest of the rules is part of the version.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lineage.core.sanitizer import stream
from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.layers import build_normalized_layer, normalize_text
from lineage.core.sanitizer.re2_patterns import load_re2
from lineage.core.sanitizer.rule import MARKER
from lineage.core.sanitizer.ruleset import BUILTIN, Ruleset, Span
from lineage.core.sanitizer.split_secrets import find_split_spans, iter_batches

_MAX_DROP_PASSES = 8


class Sanitizer:
    """Redacts texts and counts redactions by rule. Raises EngineMissing if google-re2 is not installed.

    >>> Sanitizer().sanitize("key AKIA" + "QWERTYUIOPASDFGH")
    'key [REDACTED:aws-access-key-id]'
    """

    def __init__(self, ruleset: Ruleset = BUILTIN) -> None:
        load_re2()  # fail closed: no sanitizer exists without its engine
        self.ruleset = ruleset
        self.redactions: Counter[str] = Counter()

    def sanitize(self, text: str) -> str:
        """Return the text without secrets; sanitizing it again changes nothing."""
        text = normalize_text(text)
        return self._redact(text, find_spans(text, self.ruleset))

    def sanitize_optional(self, text: str | None) -> str | None:
        """Sanitize a text, if there is one."""
        return None if text is None else self.sanitize(text)

    def sanitize_all(self, texts: Sequence[str]) -> list[str]:
        """Sanitize consecutive texts, including secrets that begin in one text and end in another."""
        return list(self.iter_sanitized(texts))

    def iter_sanitized(self, texts: Iterable[str]) -> Iterator[str]:
        """Sanitize any number of texts like `sanitize_all`: only one batch is in memory."""
        open_spans: list[Span] = []
        for batch, continues in iter_batches(map(normalize_text, texts)):
            known = find_split_spans(batch, self.ruleset)
            known[0] += open_spans
            # The last text of such a batch is the first of the next one: it waits with its spans.
            open_spans = known.pop() if continues else []
            for text, spans in zip(batch, known, strict=False):
                yield self._redact(text, find_spans(text, self.ruleset, spans))

    def sanitize_stream(
        self, chunks: Iterable[str], block_chars: int = stream.BLOCK_CHARS, overlap_chars: int = stream.OVERLAP_CHARS
    ) -> Iterator[str]:
        """Sanitize a text that comes in chunks, in bounded memory.

        The result equals `sanitize` of the whole text if each secret, with its context, is shorter than
        `overlap_chars`. A longer secret is cut short by its marker; no part of it comes out.
        """
        for block in stream.iter_blocks(chunks, self.ruleset, block_chars, overlap_chars):
            yield self._redact(block.layer.text[: block.end], block.spans)

    def find_secrets(self, text: str) -> list[stream.RedactionFinding]:
        """Return the redactions that `sanitize` would make, with their places in the original text."""
        layer = build_normalized_layer(text)
        block = stream.StreamBlock(layer, len(layer.text), find_spans(layer.text, self.ruleset), 0)
        return list(stream.FindingLocator().locate(block))

    def find_secrets_in_stream(
        self, chunks: Iterable[str], block_chars: int = stream.BLOCK_CHARS, overlap_chars: int = stream.OVERLAP_CHARS
    ) -> Iterator[stream.RedactionFinding]:
        """Yield the redactions that `sanitize_stream` would make, with their places in the whole text."""
        locator = stream.FindingLocator()
        for block in stream.iter_blocks(chunks, self.ruleset, block_chars, overlap_chars):
            yield from locator.locate(block)

    def _redact(self, text: str, spans: Sequence[Span], drop_passes: int = _MAX_DROP_PASSES) -> str:
        parts, position, dropped = [], 0, False
        for span in spans:
            rule_id = span.rule.id
            drop = bool(drop_passes) and rule_id in self.ruleset.dropped
            dropped = dropped or drop
            parts += [text[position : span.start], "" if drop else f"[REDACTED:{rule_id}]"]
            position = span.end
            self.redactions[rule_id] += 1
        redacted = "".join([*parts, text[position:]])
        # A drop joins what stood apart and may make a new secret. The last pass masks, so this ends.
        return self._redact(redacted, find_spans(redacted, self.ruleset), drop_passes - 1) if dropped else redacted


def count_redactions(text: str) -> int:
    """Count the redaction markers of a sanitized text.

    >>> count_redactions("key [REDACTED:jwt], key [REDACTED:jwt]")
    2
    """
    return len(MARKER.findall(text))
