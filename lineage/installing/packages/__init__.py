"""The packages for harnesses' own plug-in managers and the MCP registry: path and text of each file, nothing else.

What is in them has one source with `hooks install`: the hooks and the server come from the registry of harnesses, the
skill is the one file that both write. The JSON files beside this module are the manifests.
"""

import json
from pathlib import Path
from typing import Any

from lineage.distribution import NAME
from lineage.harness.registry import classify_event
from lineage.harness.spec import SESSION_START
from lineage.installing.commands import SERVER
from lineage.installing.hook_definitions import INSTALLATIONS, build_packaged_hooks, build_packaged_server

_FOLDER = Path(__file__).parent
MANIFEST = "server.json"
"""The file by which a folder of packages is known."""

_MISSING = "lineage is not on PATH: this session is not kept. Install lineage-memory, then run `lineage setup`."


def read_skill() -> str:
    """Return the skill that every harness gets."""
    return _read("SKILL.md")


def build_packages(version: str, namespace: str) -> dict[str, str]:
    """Return the text of each file by its path, the same for the same arguments."""
    common = {"VERSION": version, "NAMESPACE": namespace, "DISTRIBUTION": NAME}
    files = {"README.md": _read("README.md"), MANIFEST: _read("server.json", **common)}
    for harness, installation in INSTALLATIONS.items():
        if not installation.package:
            continue
        servers = {"mcpServers": {SERVER: build_packaged_server(harness)}}
        files[f"{harness}/hooks/hooks.json"] = _format({"hooks": _build_hooks(harness)})
        files[f"{harness}/skills/lineage/SKILL.md"] = read_skill()
        manifest = _read(f"{harness}.json", **common)
        if installation.marketplace:
            files[installation.marketplace] = _read("marketplace.json", SOURCE=f"./{harness}")
            files[f"{harness}/.mcp.json"] = _format(servers)
        else:
            manifest = _format(json.loads(manifest) | servers)
        files[f"{harness}/{installation.package}"] = manifest
    return dict(sorted(files.items()))


def is_manifest(value: Any) -> bool:
    """Return whether a value is the manifest of lineage's MCP server."""
    packages = value.get("packages") if isinstance(value, dict) else None
    return isinstance(packages, list) and any(
        isinstance(package, dict) and package.get("identifier") == NAME for package in packages
    )


def _build_hooks(harness: str) -> dict[str, Any]:
    said = json.dumps({"systemMessage": _MISSING})

    def format_line(event: str) -> str:
        missing = f"{{ echo '{said}'; exit 0; }}" if classify_event(event) == SESSION_START else "exit 0"
        return f"command -v lineage >/dev/null 2>&1 || {missing}; exec lineage hook {harness} --plugin"

    return {event: [element] for event, element in build_packaged_hooks(harness, format_line).items()}


def _read(name: str, **values: str) -> str:
    text = (_FOLDER / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _format(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
