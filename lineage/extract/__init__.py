"""Digests out of turns, by rule: what was asked, touched, run, decided, learnt and left open."""

from lineage.extract.digests import digest

__all__ = ["digest"]
