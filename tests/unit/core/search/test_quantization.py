"""Vectors as bytes keep their angles. Fails where the scale is not the vector's own."""

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.search.quantization import quantize
from lineage.errors import InvalidInput

COMPONENTS = st.floats(-1e3, 1e3).filter(lambda number: number == 0 or abs(number) > 1e-3)
VECTORS = st.lists(COMPONENTS, min_size=32, max_size=32).filter(any)


def cosine(one: list[float], two: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, two, strict=True))
    return dot / math.hypot(*one) / math.hypot(*two)


def read(data: bytes) -> list[float]:
    return list(map(float, array("b", data)))


@given(VECTORS)
def test_a_vector_keeps_its_direction_whatever_its_length(vector: list[float]) -> None:
    data = quantize(vector)
    assert len(data) == len(vector)
    assert cosine(read(data), vector) > 0.999
    assert quantize([component * 8 for component in vector]) == data


@given(VECTORS, VECTORS)
def test_the_angle_between_two_stays(one: list[float], two: list[float]) -> None:
    assert abs(cosine(read(quantize(one)), read(quantize(two))) - cosine(one, two)) < 0.03


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [1.0, math.nan], [math.inf, 1.0]])
def test_what_has_no_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(InvalidInput):
        quantize(vector)
