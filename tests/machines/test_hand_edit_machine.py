"""One workspace in any order of hand edits, memos, forgetting, captures, reindexing, mirroring and death.

A hand edit comes between any two steps, and in the middle of one: just before or after a file is replaced. Processes
die at any of their mutating calls. In the end, when one more run has finished what was cut off: every line written by
hand is in its file, what was forgotten is in none and in no page of a database, what was remembered and not forgotten
is there, both sides of the mirror are the same, and `verify` finds nothing.
"""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lineage import file_swap
from lineage.app.folder_mirror import open_mirror
from lineage.app.workspace import run_in_workspace
from lineage.core.base.times import shift_time
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory import books
from lineage.pipeline.memory.remember import Memo, remember
from lineage.store import temporaries
from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import find_holders, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

FILES = ("books/global/note.md", "AGENT_MEMORY.md", "Plans.md")
files = st.sampled_from(FILES)
savers = st.sampled_from(["append", "rename"])
calls = st.integers(1, 40)


class HandEditMachine(RuleBasedStateMachine):
    """The model knows each line and each entry by a word of its own."""

    @initialize()
    def begin(self) -> None:
        self.opened = ExitStack()
        folder = Path(self.opened.enter_context(tempfile.TemporaryDirectory(prefix="hand-edit-machine-")))
        self.root, self.vault = folder / "w", folder / "vault"
        self.now, self.number = "2026-11-20T00:00:00.000Z", 0
        self.lines: dict[str, list[str]] = {name: [] for name in FILES}
        self.known: dict[str, str] = {}
        self.doubtful: set[str] = set()
        self.forgotten: set[str] = set()
        with open_test_workspace(self.root, now=self.now) as ws:
            remember(ws, Memo(text="The first note of all of them is this."))
            remember(ws, Memo(text="The first curated note is this one.", kind="curated"))
        (self.root / "Plans.md").write_text("# Plans\n")

    def teardown(self) -> None:
        if not hasattr(self, "opened"):
            return
        try:
            self.judge()
        finally:
            self.opened.close()

    def word(self) -> str:
        self.number += 1
        self.now = shift_time(self.now, milliseconds=60_000)
        return f"word{self.number:04d}x"

    def save(self, file: str, saver: str) -> None:
        path, line = self.root / file, f"- by hand: {self.word()}"
        if saver == "append":
            with path.open("a") as opened:
                opened.write(f"{line}\n")
        else:
            new = path.with_name("editor's own")
            new.write_text(f"{path.read_text()}{line}\n")
            new.replace(path)
        self.lines[file].append(line)

    def run(self, flow: object, dies_at: int, edits: tuple[str, str, int] | None) -> bool:
        """Run a flow that may die, with a save beside the nth exchange of names; tell whether it lived."""
        genuine, exchanges = file_swap.exchange, 0

        def exchange(one: Path, other: Path) -> bool:
            nonlocal exchanges
            exchanges += 1
            if edits and exchanges == abs(edits[2]) and edits[2] > 0:
                self.save(*edits[:2])
            done = genuine(one, other)
            if edits and exchanges == abs(edits[2]) and edits[2] < 0:
                self.save(*edits[:2])
            return done

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(file_swap, "exchange", exchange)
            return not run_until_crash(self.root, flow, CrashPoint(dies_at), now=self.now)  # type: ignore[arg-type]

    edits = st.none() | st.tuples(files, savers, st.integers(-3, 3).filter(bool))

    @rule(file=files, saver=savers)
    def edit(self, file: str, saver: str) -> None:
        self.save(file, saver)

    @rule(curated=st.booleans(), dies_at=calls, edits=edits)
    def remember(self, curated: bool, dies_at: int, edits: tuple[str, str, int] | None) -> None:
        word = self.word()
        memo = Memo(text=f"The server of {word} is rebuilt at night.", kind="curated" if curated else "note")
        identifiers: list[str] = []

        def flow(ws: Workspace) -> None:
            finish_pending(ws)
            identifiers.append(remember(ws, memo).id or "")

        if self.run(flow, dies_at, edits):
            self.known[word] = identifiers[0]
        else:
            self.doubtful.add(word)

    @rule(data=st.data(), dies_at=calls, edits=edits)
    def forget(self, data: st.DataObject, dies_at: int, edits: tuple[str, str, int] | None) -> None:
        if not self.known:
            return
        word = data.draw(st.sampled_from(sorted(self.known)))
        self.now = shift_time(self.now, milliseconds=60_000)

        def flow(ws: Workspace) -> None:
            finish_pending(ws)
            books.forget_entry(ws, self.known[word])

        if self.run(flow, dies_at, edits):
            self.forgotten.add(word)
        else:
            self.doubtful.add(word)
        self.known = {other: name for other, name in self.known.items() if other != word}

    @rule(session=st.sampled_from(["s-1", "s-2"]), dies_at=calls, edits=edits)
    def capture(self, session: str, dies_at: int, edits: tuple[str, str, int] | None) -> None:
        word = self.word()
        turns = make_turns(f"What about {word} in reader.py?", f"We decided to keep {word} as it is.")

        def flow(ws: Workspace) -> None:
            finish_pending(ws)
            end_session(ws, session, transcript=[{**turn, "id": f"{word}-{turn['id']}"} for turn in turns])

        self.run(flow, dies_at, edits)

    @rule(dies_at=calls, edits=edits)
    def reindex(self, dies_at: int, edits: tuple[str, str, int] | None) -> None:
        self.run(lambda ws: reindex(ws, confirmed=True), dies_at, edits)

    @rule()
    def lose_the_index(self) -> None:
        for path in (self.root / ".lineage").glob("index.db*"):
            path.unlink()

    @rule()
    def mirror(self) -> None:
        with open_mirror(self.root, str(self.vault)) as run_round:
            run_round(True)

    def judge(self) -> None:
        with pytest.MonkeyPatch.context() as patched:
            # No editor is left that might save what it read while two files traded places.
            patched.setattr(temporaries, "_OVERWRITE_SECONDS", 0)
            for _ in range(2):
                run_in_workspace(self.root, recover)
                self.mirror()
        for file, lines in self.lines.items():
            text = (self.root / file).read_text()
            assert [line for line in lines if text.count(line) != 1] == [], file
            assert (self.vault / file).read_text() == text
        known = "".join((self.root / file).read_text() for file in FILES)
        assert [word for word in self.known if word not in known] == []
        holders = find_holders(self.root, *self.forgotten)
        assert holders == []
        assert run_in_workspace(self.root, verify) == []
        shutil.rmtree(self.vault)


HandEditMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
TestHandEdits = HandEditMachine.TestCase
