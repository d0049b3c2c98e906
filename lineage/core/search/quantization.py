"""Vectors as bytes, one for each component. Only their angles are compared, so their lengths don't matter."""

import math
from array import array
from collections.abc import Sequence

from lineage.errors import InvalidInput

_MAX_COMPONENT = 127


def quantize(vector: Sequence[float]) -> bytes:
    """Return a vector as signed bytes, its largest component as 127. Cosines change by about a hundredth.

    Raises InvalidInput for a vector without a direction.

    >>> list(quantize([0.5, -0.25, 0.0]))
    [127, 192, 0]
    """
    largest = max(map(abs, vector), default=0.0)
    if not largest or not all(map(math.isfinite, vector)):
        raise InvalidInput("a vector without a direction", hint="check the embedding model")
    return array("b", [round(component / largest * _MAX_COMPONENT) for component in vector]).tobytes()
