"""The contracts of the spec as pure functions and frozen dataclasses: no clock, no files, no database."""
