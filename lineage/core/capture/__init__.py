"""One capture: `request`, `capture`, `planner` and `ledger`; `budget` bounds what is shown."""
