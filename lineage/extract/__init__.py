"""What turns hold, by rule: digests of what happened, candidates for memory, and the policy that admits them.

Every capture makes a digest; the policy (`lineage.extract.admission`) is imported by those who ask it.
"""

from typing import TYPE_CHECKING

from lineage.core.lazily import exporting

if TYPE_CHECKING:
    from lineage.extract.candidates import HEURISTIC, MODEL, Candidate, attributed, extract
    from lineage.extract.digests import digest, gathered
else:
    _HOMES = {
        "candidates": ("HEURISTIC", "MODEL", "Candidate", "attributed", "extract"),
        "digests": ("digest", "gathered"),
    }
    __getattr__ = exporting(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = ["HEURISTIC", "MODEL", "Candidate", "attributed", "digest", "extract", "gathered"]
