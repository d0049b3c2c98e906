"""What is built of this project, and the environments that uv, pipx and pip make of it."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

from lineage.store.platform import lock_file

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
_SOURCES = (
    "lineage",
    "workspace_template",
    "tests",
    "scripts",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
)


def build(folder: Path, environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the wheel and the sdist by their kind, built once for all workers of a run that share the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    unlock = lock_file(folder / "lock", wait=True)
    try:
        if not list(folder.glob("*.whl")):
            source, out = folder / "source", folder / "out"
            copy_sources(source)  # a build leaves nothing in the clone, and takes nothing along from it
            _run([sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(out), str(source)], environment)
            shutil.rmtree(source)
            for path in sorted(out.iterdir(), reverse=True):
                path.rename(folder / path.name)
    finally:
        unlock()
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def copy_sources(folder: Path) -> None:
    """Copy what is built of this project, as in a fresh clone."""
    for name in _SOURCES:
        _copy(ROOT / name, folder / name)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


class Installation:
    """lineage in an environment of its own below `root`; its programs lie in `bin`."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root, self.bin = root, root / "bin"
        own = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
        self.environment = {
            **environment, **{name: str(root / folder) for name, folder in own.items()},
            "PATH": os.pathsep.join([str(self.bin), str(SCRIPTS), environment["PATH"]]),
        }  # fmt: skip

    def run(self, *words: str) -> None:
        """Run a program of an installer."""
        _run(words, self.environment)

    def run_line(self, line: str) -> None:
        """Run a command line as somebody pastes it."""
        _run(["sh", "-c", line], self.environment)


def _install_by_uv(made: Installation, path: Path) -> None:
    made.run("uv", "tool", "install", "--python", sys.executable, str(path))


def _install_by_pipx(made: Installation, path: Path) -> None:
    made.run("pipx", "install", "--python", sys.executable, str(path))


def _install_by_pip(made: Installation, path: Path) -> None:
    made.run(sys.executable, "-m", "venv", str(made.root))
    scheme = sysconfig.get_path("scripts", "venv", {"base": str(made.root)})
    made.run(str(Path(scheme) / "python"), "-m", "pip", "install", "--quiet", str(path))


INSTALLERS: Mapping[str, Callable[[Installation, Path], None]] = {
    "uv": _install_by_uv,
    "pipx": _install_by_pipx,
    "pip": _install_by_pip,
}


def _run(words: "list[str] | tuple[str, ...]", environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        words, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}"
