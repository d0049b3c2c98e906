"""The examples in docstrings are true: each module that has some is imported and its examples are run.

Fails when a promise changes and the example beside it does not.
"""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import lineage

_ROOT = Path(lineage.__file__).parent.parent


def _with_examples() -> list[str]:
    files = [file for file in (_ROOT / "lineage").rglob("*.py") if ">>> " in file.read_text(encoding="utf-8")]
    modules = (file.relative_to(_ROOT).with_suffix("") for file in files)
    return sorted(".".join(module.parts).removesuffix(".__init__") for module in modules)


@pytest.mark.parametrize("name", _with_examples())
def test_the_examples_of_a_module_are_true(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0, capsys.readouterr().out
