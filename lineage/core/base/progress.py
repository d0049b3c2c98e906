"""The callbacks of long-running use cases."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total) items."""
StageProgress = Callable[[str, int, int], None]
"""Called with the stage, and (done, total) items of it."""
