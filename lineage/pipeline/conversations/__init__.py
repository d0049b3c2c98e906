"""Conversations of people, and agents that are spoken to through their own programs."""
