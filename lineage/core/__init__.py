"""The pure part of lineage: no clock, no files, no database. Its packages import each other in one order only.

`base` (times, names, identities) comes first, then `format` (the files of a workspace), then the subjects, all of them
independent of each other: `books`, `capture`, `search`, `transfer` and `sanitizer`.
"""
