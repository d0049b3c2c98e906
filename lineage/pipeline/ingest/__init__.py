"""How sessions come in by themselves: signals, sweeps, imports, watching, and checkpoints for the next start."""
