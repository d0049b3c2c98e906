"""One capture: `request`, `capture`, `planner` and `ledger`; `window` and `budget` bound what is shown."""
