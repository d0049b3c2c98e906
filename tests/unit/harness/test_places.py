"""Places of files as the registry writes them."""

from pathlib import Path

import pytest

from lineage.harness.places import is_relative, resolve_place

HOME = Path("/home/ada")
NESTED = "${A:-${B:-~/.a}/inner}/outer"


@pytest.mark.parametrize(
    ("place", "environment", "expected"),
    [
        ("~", {}, "/home/ada"),
        ("~/.codex/x", {}, "/home/ada/.codex/x"),
        ("${A:-~/.a}/x", {}, "/home/ada/.a/x"),
        ("${A:-~/.a}/x", {"A": ""}, "/home/ada/.a/x"),
        ("${A:-~/.a}/x", {"A": "/srv/a"}, "/srv/a/x"),
        ("${A:-~/.a}", {"A": "~/b"}, "/home/ada/b"),
        ("${A:-~/.a}/x", {"A": "/srv/${B}/{}"}, "/srv/${B}/{}/x"),
        ("${A}", {"A": "/srv/a"}, "/srv/a"),
        (NESTED, {}, "/home/ada/.a/inner/outer"),
        (NESTED, {"B": "/srv"}, "/srv/inner/outer"),
        (NESTED, {"A": "/top", "B": "/srv"}, "/top/outer"),
        ("/etc/x", {}, "/etc/x"),
    ],
)
def test_a_place_is_resolved_as_a_shell_does(place: str, environment: dict[str, str], expected: str) -> None:
    assert resolve_place(place, HOME, environment) == Path(expected)


def test_a_variable_without_a_value_or_default_is_no_place() -> None:
    assert resolve_place("${A}", HOME, {}) is None
    assert resolve_place("${A}/x", HOME, {"A": ""}) is None


def test_what_begins_with_no_sign_is_relative() -> None:
    assert [place for place in ("a/b", ".a", "~/a", "${A}/b", "/a") if is_relative(place)] == ["a/b", ".a"]
