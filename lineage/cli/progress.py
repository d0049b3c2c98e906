"""Progress bars, for a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
StageProgress = Callable[[str, int, int], None]

# rich costs more to import than most commands take: it is loaded when there is a terminal to draw on.


@contextmanager
def show_progress(title: str) -> Iterator[Progress | None]:
    """Draw a bar until the block ends. Yield its update function (done, total), None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import console, progress

    with progress.Progress(console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def show_stages() -> Iterator[StageProgress]:
    """Draw a bar for each stage until the block ends. Yield the update function (stage, done, total)."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich import console, progress

    columns = (*progress.Progress.get_default_columns(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        yield update
