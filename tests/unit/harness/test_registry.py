"""The registry: entries without a slip, the README's rows, and what hooks take of it."""

import subprocess
import sys
from importlib import import_module
from inspect import getmembers
from pathlib import Path
from typing import Any

import pytest

from lineage.harness import spec as forms
from lineage.harness.adapters import ADAPTERS, list_history_roots
from lineage.harness.registry import HARNESSES, find_output, iter_formats
from lineage.harness.spec import HOOKS, MANIFEST, SCRIPT, TOML_HOOKS, HarnessSpec, Record

ROOT = Path(__file__).parents[3]


def iter_records(value: Any) -> Any:
    if isinstance(value, Record):
        yield value
        for one in vars(value).values():
            yield from iter_records(one)
    if isinstance(value, tuple):
        for one in value:
            yield from iter_records(one)


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_entry_has_the_fields_of_its_form_and_all_that_have_no_default(harness: str) -> None:
    for record in iter_records(HARNESSES[harness]):
        names = type(record).__annotations__
        assert vars(record).keys() <= names.keys(), record
        assert all(hasattr(record, name) for name in names), record


def test_a_record_does_not_change() -> None:
    with pytest.raises(AttributeError, match="HarnessSpec"):
        HARNESSES["codex"].title = "another"  # type: ignore[misc]


@pytest.mark.parametrize("harness", HARNESSES)
def test_what_is_installed_is_what_the_hooks_know(harness: str) -> None:
    spec = HARNESSES[harness]
    if spec.installation is None:
        assert spec.hooks is None
        return
    assert spec.hooks is not None
    assert {*spec.installation.files.values()} <= {HOOKS, TOML_HOOKS, SCRIPT, MANIFEST}
    known = {*spec.hooks.events, *spec.hooks.prompts, *spec.hooks.actions}
    assert {*spec.installation.events} <= known
    assert bool(spec.installation.events) == (HOOKS in spec.installation.files.values())


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_adapter_is_there_and_knows_its_places(harness: str) -> None:
    functions = {name for name, _ in getmembers(ADAPTERS[harness], callable)}
    assert {"read", "discover"} <= functions
    home = Path("/home/ada")
    roots = list_history_roots(harness, home, {})
    assert bool(roots) == (harness not in ("aider", "generic"))
    assert all(root.is_relative_to(home) for root in roots)
    assert not (HARNESSES[harness].sessions and hasattr(ADAPTERS[harness], "list_roots")), "one place for one thing"


def test_the_readme_has_a_row_of_each_in_this_order() -> None:
    rows = [f"| `{name}` | {spec.reads} | {spec.arrives} |" for name, spec in HARNESSES.items()]
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    missing = [row for row in rows if row not in lines]
    assert not missing, "add to the README's table of harnesses, in the order of HARNESSES:\n" + "\n".join(missing)
    first = lines.index(rows[0])
    assert lines[first : first + len(rows)] == rows, "the README's table has another order than HARNESSES"


def test_a_harness_whose_hook_nobody_reads_has_no_output() -> None:
    assert find_output("goose") is find_output("aider") is find_output("typewriter") is None
    assert find_output("codex") is not None
    assert len(list(iter_formats())) == 1 + sum(1 for spec in HARNESSES.values() if spec.hooks)


def test_hooks_import_it_without_a_library() -> None:
    code = (
        "import sys; bare = set(sys.modules); import lineage.harness.registry; print(*sorted(set(sys.modules) - bare))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    names = ["lineage", "lineage.harness", "lineage.harness.registry", "lineage.harness.spec"]
    assert done.stdout.split() == names


def test_no_other_module_spells_out_many_harnesses() -> None:
    """An entry is one place: a module that names several of them is a second registry."""
    own = {f'"{name}"' for name in HARNESSES} - {'"generic"', '"pi"', '"cursor"'}
    # Programs that can be the model are an engine of their own; `status` has what two harnesses alone need.
    known = {"harness/registry.py", "extraction/model/harness_program.py", "config/machine.py", "installing/status.py"}
    for path in (ROOT / "lineage").rglob("*.py"):
        found = {name for name in own if name in path.read_text(encoding="utf-8")}
        place = path.relative_to(ROOT / "lineage").as_posix()
        assert place in known or len(found) <= 2, (place, found)


def test_every_form_is_one_of_the_registry_s() -> None:
    forms_used = {type(record) for spec in HARNESSES.values() for record in iter_records(spec)}
    members = (one for _, one in getmembers(import_module(forms.__name__)) if isinstance(one, type))
    assert {one for one in members if issubclass(one, Record)} - {Record} == forms_used
    assert HarnessSpec in forms_used
