"""Git itself, without the settings of this machine."""

import os
import subprocess
from pathlib import Path


def run_git(*arguments: object) -> None:
    """Runs git, and lets it clone from folders."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def make_repository(root: Path, remote: str = "", name: str = "origin") -> Path:
    """A repository with one commit, and a remote if one is named."""
    run_git("init", "--quiet", root)
    run_git("-C", root, "commit", "--quiet", "--allow-empty", "-m", "begin")
    if remote:
        run_git("-C", root, "remote", "add", name, remote)
    return root
