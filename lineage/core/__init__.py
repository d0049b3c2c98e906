"""The contracts of the spec as pure functions and named tuples: no clock, no files, no database."""
