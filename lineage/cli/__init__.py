"""The command line: one file per command, each parses, calls one use case and prints."""
