"""Sequences too long for memory: each iteration makes or reads their items anew."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TypeVar, overload

Item_co = TypeVar("Item_co", covariant=True)


class LazySequence(Sequence[Item_co]):
    """A sequence that makes its items on iteration. A slice with step 1 is a view and holds none either."""

    @abstractmethod
    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        """Yield the items from `start` up to `stop`, for 0 <= `start` <= `stop` <= the length."""
        ...

    def __iter__(self) -> Iterator[Item_co]:
        return self.iter_range(0, len(self))

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Item_co | Sequence[Item_co]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return tuple(islice(self, start, stop, step)) if step > 0 else tuple(self)[index]
            return _View(self, start, max(start, stop))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"no item {index} of {len(self)}")
        return next(self.iter_range(position, position + 1))


class _View(LazySequence[Item_co]):
    def __init__(self, source: LazySequence[Item_co], start: int, stop: int) -> None:
        self._source, self._start, self._stop = source, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        return self._source.iter_range(self._start + start, self._start + stop)


class Replayable(LazySequence[Item_co]):
    """The items of an iterator that each call of `replay` starts anew, the same every time."""

    def __init__(self, replay: Callable[[], Iterator[Item_co]]) -> None:
        self._replay = replay

    def __iter__(self) -> Iterator[Item_co]:
        return self._replay()

    def __len__(self) -> int:
        return self._count

    @cached_property  # counting means reading all items
    def _count(self) -> int:
        return sum(1 for _ in self._replay())

    def iter_range(self, start: int, stop: int) -> Iterator[Item_co]:
        """Yield the items from `start` up to `stop`."""
        return islice(self._replay(), start, stop)
