"""Settings of a workspace and of this machine: text in, checked values out. The composition root reads the files."""

from lineage.config.workspace import SETTINGS_FILE, Settings, parse_settings

__all__ = ["SETTINGS_FILE", "Settings", "parse_settings"]
