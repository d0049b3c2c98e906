"""A mirror keeps a folder and a workspace the same, both ways: a guest with one entry, `run.run_mirror`."""
