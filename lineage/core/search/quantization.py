"""Vectors as bytes: a byte for each component. What is compared is their angle, which their length has no part in."""

import math
from array import array
from collections.abc import Sequence

from lineage.errors import InvalidInput

_MAX_COMPONENT = 127


def quantize(vector: Sequence[float]) -> bytes:
    """A vector as signed bytes, its largest component at the end of the scale: cosines stay as they are to about a
    hundredth. Raises InvalidInput for one that has no direction.

    >>> list(quantize([0.5, -0.25, 0.0]))
    [127, 192, 0]
    """
    largest = max(map(abs, vector), default=0.0)
    if not largest or not all(map(math.isfinite, vector)):
        raise InvalidInput("a vector without a direction", hint="check the embedding model")
    return array("b", [round(component / largest * _MAX_COMPONENT) for component in vector]).tobytes()
