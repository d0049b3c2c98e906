"""Recovery beyond the spec's states: lost and doubled files, damaged ones, dead and living neighbours.

Fails without `_lacks_summary`, `claims.move`, `manifests.retire` or the suppressed FormatError in
pipeline/upkeep/recovery.py, without the `waiting` branch of `resume` and `_replay` (resuming.py), without `tidy` in
`recover`, when `tidy` takes a file that is held, without `wait=False` in `resume`, and when `show` takes the youngest
manifest.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.core import naming
from lineage.core.job import Job
from lineage.core.request import SESSION_END
from lineage.errors import FormatError
from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.pipeline.house import House
from lineage.pipeline.lookup import show
from lineage.pipeline.upkeep.recovery import Recovered, recover
from lineage.pipeline.upkeep.resuming import Resumed, resume
from lineage.pipeline.upkeep.verification import verify
from lineage.store.local import TEMP_PREFIX
from tests.support.commands import Lineage
from tests.support.houses import at, compact, end, house_at, turns, write_capture
from tests.support.races import other_process, says, tell
from tests.support.wrecks import artifacts, canonical, lose_machine, spooled, without_write_times

pytestmark = pytest.mark.slow

LATER, LAST = "2026-11-21T13:00:00.000Z", "2026-11-21T18:00:00.000Z"
TALK = turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Fixed in reader.py.")
FIRST = "In demo the reader lost a line in reader.py, and the session told its first sentence about it."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two captures and two compactions of `s-1`."""
    root = tmp_path / "vault"
    with house_at(root) as house:
        end(house, transcript=TALK[:2])
        compact(house, transcript=TALK[:2])
        end(at(house, LATER), transcript=TALK)
        compact(at(house, LATER), transcript=TALK, summary="Goal: all of it.")
    return root


@pytest.fixture
def no_sentences(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once `root` is there, making a sentence is an error."""

    def never(*_: object) -> tuple[str, str]:
        raise AssertionError("a second sentence was made")

    for flow in (session_end_flow, compaction_flow):
        monkeypatch.setattr(flow, "memory_sentence", never)


def files(root: Path, kind: str) -> list[Path]:
    return sorted((root / "memory").glob(f"*--{kind}.md"))


def recovered(root: Path) -> Recovered:
    with house_at(root, now=LAST) as house:
        return recover(house)


def nothing_more(root: Path) -> None:
    """Another recovery changes no byte and finishes nothing; every promise holds."""
    before = canonical(root)
    done = recovered(root)
    assert canonical(root) == before
    assert (done.finished, done.merged, done.collected) == ([], [], 0)
    with house_at(root, now=LAST) as house:
        assert verify(house) == []


LOST: dict[str, Callable[[Path], list[Path]]] = {
    "every manifest": lambda root: files(root, "manifest"),
    "the first summary": lambda root: files(root, "summary")[:1],
    "the last summary": lambda root: files(root, "summary")[1:],
    "the claim": lambda root: list((root / "memory" / "claims").iterdir()),
    "manifest, claim and summaries": lambda root: [
        *files(root, "manifest"), *files(root, "summary"), *(root / "memory" / "claims").iterdir(),
    ],
    "MEMORY.md": lambda root: [root / "MEMORY.md"],
}  # fmt: skip


@pytest.mark.usefixtures("no_sentences")
@pytest.mark.parametrize("machine", ["kept", "lost"])
@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_what_can_be_made_from_other_files_is_made_again_as_it_was(
    root: Path, lost: Callable[[Path], list[Path]], machine: str
) -> None:
    before = without_write_times(canonical(root))
    gone = lost(root)
    assert gone
    for path in gone:
        path.unlink()
    if machine == "lost":
        lose_machine(root)
    recovered(root)
    assert without_write_times(canonical(root)) == before
    nothing_more(root)


@pytest.mark.parametrize("kept", [1, 2])
def test_artifacts_that_an_older_manifest_does_not_name_are_named_again(root: Path, kept: int, tmp_path: Path) -> None:
    """A sync brought the manifest as it was before the last captures and compactions."""
    with house_at(tmp_path / "older") as house:
        end(house, transcript=TALK[:2])
        if kept == 2:
            compact(house, transcript=TALK[:2])
    before = without_write_times(canonical(root))
    shutil.copy(files(tmp_path / "older", "manifest")[0], files(root, "manifest")[0])
    done = recovered(root)
    assert len(done.finished) == 4 - kept
    assert without_write_times(canonical(root)) == before
    nothing_more(root)


def two_machines(tmp_path: Path) -> tuple[Path, str, str]:
    """What a sync makes of two machines that each began the session: (root, older stem, younger stem)."""
    stems = []
    for machine, moment, talk in (("a", "2026-11-21T10:00:00.000Z", TALK[:2]), ("b", LATER, TALK)):
        with house_at(tmp_path / machine, now=moment) as house:
            first, _ = write_capture(house, sentence=FIRST, captured_at=moment, transcript=talk)
            stems.append(first.stem)
    root = tmp_path / "b"
    for path in (tmp_path / "a" / "memory").glob("*.md"):
        shutil.copy(path, root / "memory" / path.name)
    return root, stems[0], stems[1]


@pytest.mark.leaves_findings
def test_of_two_manifests_the_older_wins_and_takes_over_the_others_captures(tmp_path: Path) -> None:
    root, older, younger = two_machines(tmp_path)
    done = recovered(root)
    assert done.merged == [naming.artifact_path(younger, naming.MANIFEST)]
    with house_at(root, now=LAST) as house:
        winner, retired = house.canon.manifests.get(older), house.canon.manifests.get(younger)
        assert winner and retired
        assert (winner.captures, retired.captures) == ([older, younger], [])
        assert house.canon.claims.stem_of(winner.identity.token) == older
        assert [row.manifest_path for row in house.index.sessions(None)] == [winner.path]
    nothing_more(root)


@pytest.mark.leaves_findings
def test_links_to_a_retired_manifest_still_resolve(tmp_path: Path) -> None:
    root, older, younger = two_machines(tmp_path)
    recovered(root)
    assert all((root / artifact.manifest_path).is_file() for artifact in artifacts(root))
    retired = (root / naming.artifact_path(younger, naming.MANIFEST)).read_text()
    assert f"[[memory/{older}--manifest.md|manifest]]" in retired


@pytest.mark.leaves_findings
def test_a_merged_session_shows_the_manifest_that_won(tmp_path: Path) -> None:
    root, older, _ = two_machines(tmp_path)
    recovered(root)
    with house_at(root, now=LAST) as house:
        assert show(house, "s-1", "manifest").path == naming.artifact_path(older, naming.MANIFEST)


@pytest.mark.leaves_findings
def test_a_merged_session_goes_on_under_the_manifest_that_won(tmp_path: Path) -> None:
    root, older, _ = two_machines(tmp_path)
    recovered(root)
    with house_at(root, now=LAST) as house:
        outcome = end(house, transcript=[*TALK, {"role": "user", "text": "Thanks.", "id": "last"}])
        assert outcome.manifest_path == naming.artifact_path(older, naming.MANIFEST)
        assert outcome.turns == 1
    nothing_more(root)


def test_temporary_files_of_a_killed_writer_are_collected_and_those_of_a_living_one_are_not(root: Path) -> None:
    dead = [root / "memory" / f"{TEMP_PREFIX}dead", root / ".lineage" / "spool" / f"{TEMP_PREFIX}dead"]
    for path in dead:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    writer = f"""
import os
from lineage.store.platform import hold
descriptor = os.open("memory/{TEMP_PREFIX}alive", os.O_WRONLY | os.O_CREAT)
hold(descriptor)
print("held", flush=True)
input()
"""
    with other_process(writer, root) as alive:
        assert says(alive) == "held"
        assert recovered(root).collected == 2
        assert [path.name for path in root.rglob(f"{TEMP_PREFIX}*")] == [f"{TEMP_PREFIX}alive"]
        tell(alive)
        alive.wait()
    assert recovered(root).collected == 1


def waiting(house: House, source: Path, session: str = "s-9") -> Job:
    """A spooled end whose transcript lies at `source`."""
    from lineage.core.identity import session_token

    payload = {"harness": "generic", "session_id": session, "transcript_path": str(source), "agent_id": "default"}
    token = session_token("default", session)
    job = Job(flow=SESSION_END, token=token, captured_at=house.now, sentence=FIRST, quality="ok", payload=payload)
    house.canon.spool.put(job)
    return job


@pytest.mark.usefixtures("no_sentences")
def test_a_job_whose_source_is_gone_waits_is_reported_and_blocks_nobody(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "away.json"
    with house_at(root) as house:
        job = waiting(house, source)
    ((name, why),) = recovered(root).waiting
    assert name == job.name
    assert "away.json" in why
    assert len(spooled(root)) == 1
    lineage = Lineage(root, capsys)
    assert f"still waiting: {job.name}" in lineage("recover").out
    assert [row["session_token"] for row in lineage("status", "--json").json["unfinished"]] == [job.token]
    assert lineage("reindex").code == 0
    source.write_text(json.dumps(TALK))
    assert len(recovered(root).finished) == 1
    assert {a.memory_sentence for a in artifacts(root) if a.session_id == "s-9"} == {FIRST}
    assert spooled(root) == []
    nothing_more(root)


@pytest.mark.leaves_findings
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 9}', b"\xff\xfe"])
def test_a_damaged_job_is_kept_and_reported(root: Path, data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / ".lineage" / "spool" / "2026-11-21T10-00-00.000Z--iy4tnccamls7nnv6--session-end.json"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(data)
    lineage = Lineage(root, capsys)
    for command in ("recover", "reindex", "render"):
        assert lineage(command).code == 0
    assert path.read_bytes() == data
    assert lineage("status", "--json").json["damaged_jobs"] == [f"spool/{path.name}"]
    (finding,) = [f for f in lineage("verify", "--json").json["findings"] if "spool" in f["path"]]
    assert (finding["level"], finding["path"]) == ("SHOULD", f".lineage/spool/{path.name}")


DAMAGED: dict[str, Callable[[Path], Path]] = {
    "a transcript": lambda root: files(root, "transcript")[0],
    "a summary": lambda root: files(root, "summary")[0],
    "a compaction": lambda root: files(root, "compaction")[0],
    "the manifest": lambda root: files(root, "manifest")[0],
}


@pytest.mark.leaves_findings
@pytest.mark.parametrize("which", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_kept_and_reported_and_the_other_sessions_are_finished(
    root: Path, which: Callable[[Path], Path]
) -> None:
    with house_at(root) as house:
        write_capture(house, "z-2", sentence=FIRST, captured_at=LATER)
        write_capture(house, "a-2", sentence=FIRST, captured_at=LATER)
    others = [path for path in files(root, "manifest") if b'"s-1"' not in path.read_bytes()]
    for path in others:
        path.unlink()
    path = which(root)
    path.chmod(0o644)
    path.write_bytes(b"---\nkind: half")
    lose_machine(root)
    done = recovered(root)
    assert all(other.is_file() for other in others)
    assert path.read_bytes() == b"---\nkind: half"
    assert path.relative_to(root).as_posix() in [problem[0] for problem in done.report.problems]
    before = canonical(root)
    recovered(root)
    assert canonical(root) == before


def test_a_damaged_claim_is_made_again(root: Path) -> None:
    (claim,) = (root / "memory" / "claims").iterdir()
    before = claim.read_bytes()
    claim.chmod(0o644)
    claim.write_bytes(b"half")
    with house_at(root) as house, pytest.raises(FormatError):
        end(house, transcript=TALK)
    recovered(root)
    assert claim.read_bytes() == before
    nothing_more(root)


@pytest.mark.leaves_findings
def test_a_job_of_a_session_with_a_damaged_manifest_blocks_no_other_command(root: Path) -> None:
    (manifest,) = files(root, "manifest")
    with house_at(root) as house:
        waiting(house, root / "nowhere", "s-1")
        manifest.chmod(0o644)
        manifest.write_bytes(b"half")
        assert [why for _, why in resume(house).waiting if "manifest" in why]
    assert len(spooled(root)) == 1


def test_a_session_that_another_process_holds_is_left_to_it_and_recover_waits_for_it(
    root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "s-9.json"
    source.write_text(json.dumps(TALK))
    with house_at(root) as house:
        job = waiting(house, source)
    holder = f"""
from pathlib import Path
from tests.support.houses import house_at
from lineage.pipeline.capture import session as sessions
with house_at(Path("."), now={LATER!r}) as house, sessions.exclusively(house, {job.token!r}):
    print("held", flush=True)
    input()
    house.canon.spool.clear(house.canon.spool.pending({job.token!r})[0])
"""
    with other_process(holder, root) as process:
        assert says(process) == "held"
        with house_at(root, now=LAST) as house:
            assert vars(resume(house)) == vars(Resumed())
            assert end(house, "s-8").status == "captured"
        code = f"""
from pathlib import Path
from tests.support.houses import house_at
from lineage.pipeline.upkeep.recovery import recover
with house_at(Path("."), now={LAST!r}) as house:
    print("ready", flush=True)
    print(recover(house).finished, flush=True)
"""
        with other_process(code, root) as recovery:
            assert says(recovery) == "ready"
            tell(process)
            assert says(recovery) == "[]", "the holder finished it: there is nothing left"
    assert not any(artifact.session_id == "s-9" for artifact in artifacts(root))
