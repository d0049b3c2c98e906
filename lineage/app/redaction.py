"""Which redaction rules a workspace has: ours, those of the user's own file, and what is chosen of personal data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.core.sanitizer import BUILTIN, Ruleset, build_ruleset
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.config import Settings
    from lineage.store import Store


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """The rules in force; `unusable` are ids in the user's file that go by a path or a commit, not by a text."""

    ruleset: Ruleset
    unusable: tuple[str, ...] = ()


def load_rules(store: "Store", settings: "Settings") -> RedactionRules:
    """Raises InvalidInput where the user's file is missing, no TOML, or has rules that RE2 does not take, by name."""
    chosen = settings.sanitizer
    if not chosen.rules_path:
        return RedactionRules(
            build_ruleset(personal=chosen.personal_data_modes) if chosen.personal_data_modes else BUILTIN
        )
    from lineage.core.sanitizer.gitleaks import translate_config

    own = translate_config(_read_rules_file(store, chosen.rules_path))
    return RedactionRules(build_ruleset(own.rules, chosen.personal_data_modes, own.disabled), own.unsupported)


def _read_rules_file(store: "Store", path: str) -> dict[str, object]:
    from lineage.store import read_or_none

    blob = read_or_none(store, path)
    if blob is None:
        raise InvalidInput(
            f"sanitizer.rules_path names {path!r}, which is not there",
            hint="put the file into the workspace, or mend lineage.toml",
        )
    import tomllib

    try:
        return tomllib.loads(blob.data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}", hint="mend it, then run the command again") from error
