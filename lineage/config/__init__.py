"""Settings of a workspace and of this machine: text in, checked values out. The composition root reads the files."""

from lineage.config.workspace import (
    SETTINGS_FILE,
    ContextSettings,
    KnowledgeSettings,
    LanguageModelSettings,
    LedgerSettings,
    PersonalDataMode,
    SanitizerSettings,
    SessionSettings,
    Settings,
    TranscriptSettings,
    parse_settings,
)

__all__ = [
    "SETTINGS_FILE",
    "ContextSettings",
    "KnowledgeSettings",
    "LanguageModelSettings",
    "LedgerSettings",
    "PersonalDataMode",
    "SanitizerSettings",
    "SessionSettings",
    "Settings",
    "TranscriptSettings",
    "parse_settings",
]
