"""The callback of a long-running use case."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total) items."""
