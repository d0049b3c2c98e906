"""Sequences that are too long to be held: made again, or read again, whenever somebody goes through them."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TypeVar, overload

Item_co = TypeVar("Item_co", covariant=True)


class LazySequence(Sequence[Item_co]):
    """A sequence whose items are made on the way through it; a slice is a view, and holds none either."""

    @abstractmethod
    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        """The items from one place up to another, 0 <= `start` <= `stop` <= the length."""
        ...

    def __iter__(self) -> Iterator[Item_co]:
        return self.iter_range(0, len(self))

    @overload
    def __getitem__(self, place: int) -> Item_co: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item_co]: ...
    def __getitem__(self, place: int | slice) -> Item_co | Sequence[Item_co]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                return tuple(islice(self, start, stop, step)) if step > 0 else tuple(self)[place]
            return _View(self, start, max(start, stop))
        at = place + len(self) if place < 0 else place
        if not 0 <= at < len(self):
            raise IndexError(f"no item {place} of {len(self)}")
        return next(self.iter_range(at, at + 1))


class _View(LazySequence[Item_co]):
    """A part of another sequence."""

    def __init__(self, source: LazySequence[Item_co], start: int, stop: int) -> None:
        self._source, self._start, self._stop = source, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        return self._source.iter_range(self._start + start, self._start + stop)


class Replayable(LazySequence[Item_co]):
    """What each call of `again` tells from the beginning, the same every time; gone through to count it, if need be."""

    def __init__(self, replay: Callable[[], Iterator[Item_co]]) -> None:
        self._replay = replay

    def __iter__(self) -> Iterator[Item_co]:
        return self._replay()

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self._replay())

    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        return islice(self._replay(), start, stop)
