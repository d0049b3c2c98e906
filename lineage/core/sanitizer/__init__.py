"""`sanitize_transcript_v1`: every text passes the sanitizer before it reaches a file. (spec: sanitization contract).

`rules` holds the built-in rules as data, `ruleset` runs them on one text with RE2, `layers` and `encodings` build the
decoded readings of a text, `detection` searches all of them, `split_secrets` and `stream` handle secrets that cross
texts and texts that do not fit into memory.
"""

from lineage.core.sanitizer.layers import normalize_text
from lineage.core.sanitizer.rule import MARKER, Allowance, Rule, compute_rules_digest
from lineage.core.sanitizer.rules import RULES
from lineage.core.sanitizer.ruleset import BUILTIN, DROP, MASK, Ruleset, build_ruleset
from lineage.core.sanitizer.sanitizer import Sanitizer, count_redactions
from lineage.core.sanitizer.stream import RedactionFinding

__all__ = [
    "BUILTIN", "DROP", "MARKER", "MASK", "RULES", "Allowance", "RedactionFinding", "Rule", "Ruleset", "Sanitizer",
    "build_ruleset", "compute_rules_digest", "count_redactions", "normalize_text",
]  # fmt: skip
