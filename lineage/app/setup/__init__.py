"""`lineage setup`: from nothing to a memory that works, and back.

    observe   what is on this machine: a place for the memory, harnesses, their histories
    plan      the steps that are missing, as data; pure
    apply     the steps, in order: memory, default workspace, hooks, history
    journal   every byte that was changed, written down before it is
    undo      what the journal says, back to the byte

A step that is done is not in the plan. So running it again, and finishing a set-up that was cut off, are the same call.
"""
