"""What turns hold, by rule: digests of what happened, candidates for memory, and the policy that admits them.

Every capture makes a digest; the policy (`lineage.extract.admission`) is imported by those who ask it.
"""

from lineage.extract.candidates import HEURISTIC, MODEL, Candidate, attributed, extract
from lineage.extract.digests import digest

__all__ = ["HEURISTIC", "MODEL", "Candidate", "attributed", "digest", "extract"]
