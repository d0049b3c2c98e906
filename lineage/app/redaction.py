"""The redaction rules of a workspace: built in, from the user's own file, and for personal data."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from lineage.app.locations import load_machine_settings, load_settings, open_store
from lineage.config import Settings
from lineage.core.sanitizer import BUILTIN, Ruleset, build_ruleset
from lineage.core.sanitizer.allowlist import NOTHING_ALLOWED, AllowedValues, check_allowed_patterns
from lineage.core.sanitizer.gitleaks import translate_config
from lineage.errors import SettingsError
from lineage.store import Store, read_or_none


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """The rules in force.

    `unusable` are ids in the user's file that match a path or a commit instead of a text, `kept` those of built-in
    rules that it would switch off.
    """

    ruleset: Ruleset
    unusable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def load_workspace_rules(root: Path) -> RedactionRules:
    """Return the redaction rules of the workspace, the built-in ones for a missing workspace."""
    store = open_store(root)
    settings = load_settings(store) if store.exists() else Settings()
    return load_rules(store, settings, load_machine_settings(os.environ).allow_patterns)


def load_rules(store: Store, settings: Settings, patterns: tuple[str, ...]) -> RedactionRules:
    """Return the rules that lineage.toml configures, without values that fit this machine's allowed patterns.

    Raises InvalidInput for a user's file that is missing, malformed or has rules that RE2 rejects, by name.
    """
    check_allowed_patterns(patterns)
    sanitizer, allowed = settings.sanitizer, AllowedValues(settings.sanitizer.allow, patterns)
    if not sanitizer.rules_path:
        personal = sanitizer.personal_data_modes
        is_builtin = not personal and allowed == NOTHING_ALLOWED
        return RedactionRules(BUILTIN if is_builtin else build_ruleset((), personal, allowed))
    config = translate_config(_read_rules_file(store, sanitizer.rules_path))
    ruleset = build_ruleset(config.rules, sanitizer.personal_data_modes, allowed)
    kept = tuple(sorted(config.disabled & {rule.id for rule in BUILTIN.rules}))
    return RedactionRules(ruleset, config.unsupported, kept)


def _read_rules_file(store: Store, path: str) -> dict[str, object]:
    blob = read_or_none(store, path)
    if blob is None:
        hint = "put the file into the workspace, or mend lineage.toml"
        raise SettingsError(f"sanitizer.rules_path names {path!r}, which is not there", hint=hint)
    try:
        return tomllib.loads(blob.data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}", hint="mend it, then run the command again") from error
