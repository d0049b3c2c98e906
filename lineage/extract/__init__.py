"""What turns hold, by rule: digests of what happened, candidates for memory, and the policy that admits them."""

from lineage.extract.admission import Admitted, Dropped, Origin, Setting, admit, admit_all, unknown
from lineage.extract.candidates import Candidate, attributed, extract
from lineage.extract.digests import digest

__all__ = [
    "Admitted",
    "Candidate",
    "Dropped",
    "Origin",
    "Setting",
    "admit",
    "admit_all",
    "attributed",
    "digest",
    "extract",
    "unknown",
]
