"""lineage: a memory for coding agents that people can trust.

The house, from the roof down. A package imports only from floors below its own:

    cli                    surfaces: parse, call one use case, print
    app                    composition root: the only place that chooses concrete backends
    pipeline               use cases: session_end, compaction, reindex, render, verify …
    projection · index · telemetry · extract · harness
    canon                  typed documents over a store
    store                  bytes: create · read · replace · list · delete
    core · config          the contracts of the spec, pure
    errors                 one hierarchy
"""

__version__ = "0.1.0"
