"""How sessions come in by themselves: signals, sweeps, imports, watching, and what waits for the next start."""
