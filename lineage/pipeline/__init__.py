"""Use cases, one package each; import-linter holds their order.

    conversations  lanes of people, and agents that lineage starts itself
    ingest         hook events, sweeps, imports: how sessions come in by themselves
    transfer       bundles and mirrors, to another workspace
    search         find passages, look at sessions
    maintenance    recover, reindex, verify, resanitize, remove, archive
    capture        from a request to committed artifacts: session end and compaction
    memory         the books: learn, remember, confirm, give context

What they share is in `lineage.workspace`. `lineage/__init__.py` shows the way of a session through them.
"""
