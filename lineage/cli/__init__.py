"""The command line: one file per command, each parses its options, calls one use case and prints."""
