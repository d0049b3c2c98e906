"""What turns hold, by rule: digests of what happened, candidates for memory, and the policy that admits them.

Every capture makes a digest; the policy (`lineage.extraction.admission_policy`) is imported by those who ask it.
"""

from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily

if TYPE_CHECKING:
    from lineage.extraction.candidates import HEURISTIC, MODEL, Candidate, attribute_quote, extract_candidates
    from lineage.extraction.digests import build_digest, build_digest_and_candidates
else:
    _HOMES = {
        "candidates": (
            "HEURISTIC",
            "MODEL",
            "Candidate",
            "attribute_quote",
            "extract_candidates",
        ),
        "digests": (
            "build_digest",
            "build_digest_and_candidates",
        ),
    }
    __getattr__ = export_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "HEURISTIC",
    "MODEL",
    "Candidate",
    "attribute_quote",
    "build_digest",
    "build_digest_and_candidates",
    "extract_candidates",
]
