"""Many cases of one law in one test. (style: tests)"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from inspect import signature
from typing import Any

import pytest

Test = Callable[..., None]
Labels = Iterable[str] | Callable[[Any], object] | None


def each(names: str | tuple[str, ...], cases: Iterable[Any], ids: Labels = None) -> Callable[[Test], Test]:
    """What `pytest.mark.parametrize` does, in one test, which tries every case and names those that fail.

    For laws of values, which need no fixture of their own: what pytest does around a test costs more than such a case.
    """
    wanted = tuple(names.replace(" ", "").split(",")) if isinstance(names, str) else names
    labelled = list(_label_cases(len(wanted) == 1, cases, ids))

    def decorated(test: Test) -> Test:
        left = [it for it in signature(test).parameters.values() if it.name not in wanted]

        @wraps(test)
        def run(**given: object) -> None:
            failed = []
            for label, values in labelled:
                try:
                    test(**given, **dict(zip(wanted, values, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001
                    failure.add_note(f"The case: {label}")
                    failed.append(failure)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(labelled)} cases", failed)

        run.__signature__ = signature(test).replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorated


def _label_cases(is_single: bool, cases: Iterable[Any], ids: Labels) -> Iterator[tuple[object, Collection[Any]]]:
    """Each case's values, after what tells it from the others."""
    names = iter(ids) if ids is not None and not callable(ids) else None
    for case in cases:
        values = (case,) if is_single else tuple(case)
        if names is not None:
            yield next(names), values
        else:
            yield ", ".join(str(ids(value)) if callable(ids) else repr(value) for value in values), values
