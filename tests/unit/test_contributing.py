"""The kit for contributors: what it names is there, and its workflows say what the project says."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from lineage.core.format.turns import ASSISTANT, USER
from lineage.harness.registry import HARNESSES
from tests.support.parametrize import each

ROOT = Path(__file__).parents[2]
KIT = ROOT / ".github"
CONTRIBUTING = (KIT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@each("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_what_a_page_links_and_names_is_there(page: str) -> None:
    text = (KIT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (KIT / target).exists(), target
    for name in re.findall(r"`((?:tests|lineage|scripts|\.ci)/[\w./-]+)`", text):
        if "teletype" not in name and not name.startswith(("lineage/x", "tests/unit/x")):
            assert (ROOT / name).exists(), name


def test_the_example_s_adapter_reads_a_page(tmp_path: Path) -> None:
    """As it stands on the page, nothing added."""
    code = next(block for block in list_python(CONTRIBUTING) if "def read" in block)
    module: dict[str, object] = {}
    exec(compile(code, "teletype.py", "exec"), module)
    path = tmp_path / "a.jsonl"
    records = ['{"page":"p","desk":"/d"}', '{"who":"typist","line":"Hi"}', '{"who":"machine","line":"Ting"}', "{}"]
    path.write_text("\n".join(records))
    capture = module["read"](path)  # type: ignore[operator]
    assert [(turn.role, turn.text) for turn in capture.turns] == [(USER, "Hi"), (ASSISTANT, "Ting")]
    assert (capture.session_id, capture.project) == ("p", "/d")
    assert capture.skipped == {"bookkeeping": 1, "unknown": 1}


def test_the_example_s_entry_is_one() -> None:
    code = next(block for block in list_python(CONTRIBUTING) if "HarnessSpec(" in block)
    names: dict[str, object] = {}
    exec("from lineage.harness.registry import *", names)
    (entry,) = eval(f"{{{code}}}", names).values()
    assert type(entry) is type(HARNESSES["codex"])
    for record in (entry, entry.hooks, entry.installation, entry.program):
        assert vars(record).keys() <= type(record).__annotations__.keys()
    assert {*entry.installation.events} <= {*entry.hooks.events}


def list_python(text: str) -> list[str]:
    blocks = re.findall(r"^   ```python\n(.*?)^   ```$", text, re.MULTILINE | re.DOTALL)
    return ["".join(line.removeprefix("   ") for line in block.splitlines(keepends=True)) for block in blocks]


@pytest.mark.parametrize("name", ["test.yml", "release.yml"])
def test_a_workflow_gives_away_no_more_than_it_needs(name: str) -> None:
    workflow = yaml.safe_load((KIT / "workflows" / name).read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    text = (KIT / "workflows" / name).read_text(encoding="utf-8")
    assert "secrets." not in text and "pull_request_target" not in text
    for job in workflow["jobs"].values():
        assert job["steps"] and set(job.get("permissions", {})) <= {"id-token"}


def test_the_tests_run_on_every_python_and_system_that_is_promised() -> None:
    workflow = yaml.safe_load((KIT / "workflows" / "test.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["fast"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    versions = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if one.startswith("Programming Language")]
    assert versions == PYTHONS and PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_only_what_was_built_and_passed_is_published() -> None:
    jobs = yaml.safe_load((KIT / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["publish"]["needs"] == "build" and jobs["publish"]["permissions"] == {"id-token": "write"}
    steps = [step.get("run", step.get("uses", "")) for step in jobs["build"]["steps"]]
    assert steps.index(".ci/run") < next(number for number, step in enumerate(steps) if "python -m build" in step)


def test_the_hooks_of_a_commit_are_programs_of_the_environment() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = [hook["entry"].split()[0] for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    assert entries and all((ROOT / entry).exists() for entry in entries if (ROOT / ".venv").exists())
