"""The pictures of the README: `scripts/pictures`."""
