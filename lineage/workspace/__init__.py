"""One opened workspace: its sessions and books, the index's rows of them, and MEMORY.md published from both."""
