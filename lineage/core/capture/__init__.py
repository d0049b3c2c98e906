"""One capture: `request`, `capture`, `planner` and `ledger`; `budget` bounds the text that is shown."""
