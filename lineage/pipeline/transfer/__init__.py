"""The transfer of sessions, global books and whole workspaces to another place."""
