"""Use cases: one function each, reading like the spec's list of steps.

    capture      from a request to committed artifacts: the two flows
    incoming     how sessions come in by themselves: signals, sweeps, imports, watching
    knowledge    books: learned, remembered, looked after, told to a new session
    upkeep       recover, reindex, verify, resanitize, remove
    bundles      sessions and global books on their way to another workspace
    archive      months out of the window, packed and still there
    people       conversations of people; agents spoken to through their own programs

What they share lies beside them: the house, reading, lookup and publishing.
"""
