"""Embedding: texts as vectors whose angles say how alike their meanings are. Optional, and never a judge of truth."""
