"""Use cases: one function each, reading like the spec's list of steps."""
