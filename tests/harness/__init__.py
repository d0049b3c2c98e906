"""The real harness programs, each against a scripted model on loopback."""
