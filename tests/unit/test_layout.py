"""The code itself: its measures, its layers and its purity. (architecture: measures of a good house)"""

import ast
import re
import statistics
import subprocess
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[2] / "lineage"
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions() -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = (node for path in MODULES for node in ast.walk(parsed(path)))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = sorted(map(length, functions()))
    assert statistics.median(lengths) <= 12
    assert lengths[int(0.95 * (len(lengths) - 1))] <= 45
    assert lengths[-1] <= 70


def test_files_are_short() -> None:
    data = ("rules.py", "registry.py")  # the redaction rules, and the harnesses
    assert [p.name for p in MODULES if p.name not in data and p.read_text(encoding="utf-8").count("\n") > 400] == []


@cache
def measures() -> Any:
    """The program `scripts/measure`, as a module: what it prints and what is tested is counted once."""
    path = str(PACKAGE.parent / "scripts/measure")
    loader = SourceFileLoader("measure", path)
    spec = spec_from_loader("measure", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_every_public_class_name_occurs_once() -> None:
    assert measures().find_repeated_classes(map(parsed, MODULES)) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and those for type checkers count."""
    trees = {path.relative_to(PACKAGE.parent).as_posix(): parsed(path) for path in MODULES}
    assert measures().find_circles(trees) == []


def test_every_module_says_what_it_is() -> None:
    assert [path for path in MODULES if not ast.get_docstring(parsed(path))] == []


@pytest.mark.slow  # scripts/test runs it too
def test_the_layers_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=PACKAGE.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_core_calls_no_clock() -> None:
    calls = {"now", "today", "utcnow", "time", "monotonic", "open", "getenv"}
    found = []
    for path in sorted((PACKAGE / "core").rglob("*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in calls:
                    found.append(f"{path.name}:{node.lineno} {name}")
    assert found == []


def test_asking_for_help_loads_no_engine() -> None:
    """`lineage --help` imports nothing that only some command needs."""
    code = (
        "import sys; from lineage.cli.main import run; run(['--help']); print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"yaml", "sqlite_utils", "re2", "watchdog", "rich", "frontmatter", "sqlite3", "filelock"}
    assert heavy & set(done.stderr.split("\n")) == set()


def test_telling_of_the_tools_loads_nothing_that_only_their_calls_need() -> None:
    """A harness waits for the list: what stands between it and the SDK is lineage's own imports."""
    code = "import sys, lineage.cli.mcp, lineage.mcp.server; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = ("pipeline", "index", "documents", "database", "projection", "extraction", "workspace.workspace")
    loaded = done.stdout.split("\n")
    assert [name for name in loaded if name.startswith(tuple(f"lineage.{package}" for package in packages))] == []


def test_every_module_is_found_in_the_tests() -> None:
    """By a unit test of its name, or by a row of tests/README.md whose tests exist."""
    tests = PACKAGE.parent / "tests"
    sections = (tests / "README.md").read_text(encoding="utf-8").split("### `")[1:]
    rows = {
        f"{section.partition('`')[0]}/{name}" for section in sections for name in re.findall(r"\| `(\w+\.py)`", section)
    }
    modules = {path.relative_to(PACKAGE) for path in MODULES if path.name != "__init__.py"}
    mirrored = {path for path in modules if (tests / "unit" / path.parent / f"test_{path.name}").exists()}
    assert {f"lineage/{path.as_posix()}" for path in modules - mirrored} == rows
    links = re.findall(r"\]\(([\w/.]+\.py)\)", "".join(sections))
    assert [link for link in links if not (tests / link).exists()] == []


def test_no_statement_numbers_its_values() -> None:
    """Python 3.12 warns of `?1` with a sequence of values, and 3.14 refuses it."""
    is_statement = re.compile(r"\b(?:select|insert|update|delete)\b.*\?\d", re.IGNORECASE | re.DOTALL)
    constants = (node for path in MODULES for node in ast.walk(parsed(path)) if isinstance(node, ast.Constant))
    assert [one.value for one in constants if isinstance(one.value, str) and is_statement.search(one.value)] == []
