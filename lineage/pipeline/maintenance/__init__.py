"""Making what is derived true again, checking every promise, and taking things away for good."""
