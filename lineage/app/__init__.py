"""Composition root: the only place that chooses concrete backends, reads the clock and the environment."""
