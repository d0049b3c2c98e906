"""From a request to committed artifacts: the spec's two flows and their shared parts."""
