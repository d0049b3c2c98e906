"""One capture of a session: `request` and `capture` go in, `planner` lists the missing steps, `ledger` the results.

`window` and `budget` bound the ledger and rendered texts.
"""
