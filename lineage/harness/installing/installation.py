"""Installing and uninstalling: what is to change is worked out first, as data, then carried out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from lineage.harness.installing import files, marks
from lineage.harness.installing.commands import Command
from lineage.harness.installing.layouts import Machine, Part, layout_of
from lineage.harness.installing.marks import Marks, Record, digest


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file: its bytes before and after (None: no file), the marks that belong to it then (None: it
    holds nothing of lineage's), and those it had."""

    path: Path
    before: bytes | None
    after: bytes | None
    marks: Marks | None
    old: Marks | None

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where only the record changes."""
        sides = (self.before, self.after)
        old, new = ((side or b"").decode("utf-8", "replace").splitlines(keepends=True) for side in sides)
        name = str(self.path)
        fromfile, tofile = ("/dev/null" if side is None else name for side in sides)
        lines = unified_diff(old, new, fromfile, tofile)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def record_path(machine: Machine) -> Path:
    """Where this machine keeps the marks: `$XDG_STATE_HOME/lineage/hooks.json`."""
    return machine.folder("XDG_STATE_HOME", ".local", "state") / "lineage" / "hooks.json"


def read_record(machine: Machine) -> Record:
    """Raises InvalidInput where the record is damaged."""
    path = record_path(machine)
    data = files.read(path)
    return Record() if data is None else marks.read(files.text_of(data, str(path)), str(path))


def installing(machine: Machine, command: Command, record: Record) -> list[Change]:
    """What installing changes; nothing where it is done already. Raises InvalidInput where a file cannot take hooks."""
    return list(_changes(machine, command, record, lambda part: _installed if part.wanted else _uninstalled))


def uninstalling(machine: Machine, command: Command, record: Record) -> list[Change]:
    """What uninstalling changes, the last file first. Raises InvalidInput where a file cannot be understood."""
    return list(_changes(machine, command, record, lambda part: _uninstalled))[::-1]


def carry_out(machine: Machine, changes: Iterable[Change]) -> None:
    """Makes the changes. The record knows of what is made before it is there, and forgets it when it is gone.

    Raises WorkspaceError where a file cannot be written or has changed since; what was made until then stays noted.
    """
    for change in changes:
        if change.marks is not None:
            made = [str(folder) for folder in files.make_folders(change.path)]
            folders = (*made, *(folder for folder in change.marks.folders if folder not in made))
            _remember(machine, change.path, replace(change.marks, folders=folders))
        if change.before != change.after:
            written = change.old.written if change.old else None
            files.replace(change.path, change.before, change.after, written=written)
        if change.marks is None:
            files.remove_folders(change.old.folders if change.old else ())
            _remember(machine, change.path, None)


_Planned = Callable[[Part, Record], Change | None]


def _changes(
    machine: Machine, command: Command, record: Record, chosen: Callable[[Part], _Planned]
) -> Iterator[Change]:
    for part in layout_of(command.harness).parts(machine, command):
        change = chosen(part)(part, record)
        if change is not None:
            yield change


def _installed(part: Part, record: Record) -> Change | None:
    path, name = files.target(part.path), str(part.path)
    before, old = files.read(path), record.of(path)
    text = files.text_of(before or b"", name)
    known = old if before is not None and old and _still(part, text, old) else Marks()
    result, noted = part.form.install(text, known, name)
    after = result.encode()
    if after == before:
        return None
    noted = replace(noted, file=known.file or before is None, written=digest(after))
    return Change(path, before, after, noted, old)


def _still(part: Part, text: str, old: Marks) -> bool:
    """Whether what was noted of a file is about this one: it holds entries, or is what lineage wrote."""
    return bool(part.form.ours(text, str(part.path))) or digest(text.encode()) == old.written


def _uninstalled(part: Part, record: Record) -> Change | None:
    path, name = files.target(part.path), str(part.path)
    before, old = files.read(path), record.of(path)
    if before is None:
        return Change(path, None, None, None, old) if old else None
    text = files.text_of(before, name)
    result = part.form.uninstall(text, old or Marks(), name)
    if result == text and old is None:
        return None
    gone = result == "" != text and (old is None or old.file)
    return Change(path, before, None if gone else result.encode(), None, old)


def _remember(machine: Machine, path: Path, noted: Marks | None) -> None:
    place, kept = record_path(machine), read_record(machine)
    now = kept.holding(path, noted)
    if now == kept:
        return
    made = tuple(str(folder) for folder in files.make_folders(place))
    now = replace(now, folders=made or now.folders)
    before = files.read(place)
    after = now.rendered().encode() if now.files else None
    files.replace(place, before, after, written=None if before is None else digest(before))
    if after is None:
        files.remove_folders(now.folders)
