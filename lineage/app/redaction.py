"""The redaction rules of a workspace: built in, from the user's own file, and for personal data."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from lineage.app.locations import load_settings, open_store
from lineage.config import Settings
from lineage.core.sanitizer import BUILTIN, Ruleset, build_ruleset
from lineage.core.sanitizer.gitleaks import translate_config
from lineage.errors import InvalidInput
from lineage.store import Store, read_or_none


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """The rules in force. `unusable` are ids in the user's file that match a path or a commit instead of a text."""

    ruleset: Ruleset
    unusable: tuple[str, ...] = ()


def load_workspace_rules(root: Path) -> RedactionRules:
    """Return the redaction rules of the workspace, the built-in ones for a missing workspace."""
    store = open_store(root)
    return load_rules(store, load_settings(store)) if store.exists() else RedactionRules(BUILTIN)


def load_rules(store: Store, settings: Settings) -> RedactionRules:
    """Return the rules that lineage.toml configures.

    Raises InvalidInput for a user's file that is missing, malformed or has rules that RE2 rejects, by name.
    """
    sanitizer = settings.sanitizer
    if not sanitizer.rules_path:
        personal = sanitizer.personal_data_modes
        return RedactionRules(build_ruleset(personal=personal) if personal else BUILTIN)
    config = translate_config(_read_rules_file(store, sanitizer.rules_path))
    ruleset = build_ruleset(config.rules, sanitizer.personal_data_modes, config.disabled)
    return RedactionRules(ruleset, config.unsupported)


def _read_rules_file(store: Store, path: str) -> dict[str, object]:
    blob = read_or_none(store, path)
    if blob is None:
        raise InvalidInput(
            f"sanitizer.rules_path names {path!r}, which is not there",
            hint="put the file into the workspace, or mend lineage.toml",
        )
    try:
        return tomllib.loads(blob.data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}", hint="mend it, then run the command again") from error
