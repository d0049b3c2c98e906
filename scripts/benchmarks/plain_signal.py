"""The floor of a hook: the payload, written durably under a new name, and nothing else.

A program: `python plain_signal.py FOLDER`, with the payload on standard input.
"""

# ruff: noqa: PTH103, PTH104
import os
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
path = f"{folder}/{os.urandom(6).hex()}"
descriptor = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
os.write(descriptor, os.read(0, 65536))
os.fsync(descriptor)
os.close(descriptor)
os.rename(path + ".tmp", path + ".json")
descriptor = os.open(folder, os.O_RDONLY)
os.fsync(descriptor)
os.close(descriptor)
