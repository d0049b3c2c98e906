"""Months that are out of the window, packed and still there."""
