"""Use cases, one package each; import-linter holds their order.

    conversations  lanes of people, and agents that lineage starts itself
    ingest         hook events, sweeps, imports: how sessions come in by themselves
    transfer       bundles and mirrors, to another workspace
    search         find passages, look at sessions
    maintenance    recover, reindex, verify, resanitize, remove, archive
    capture        from a request to committed artifacts: session end and compaction
    memory         the books: learn, remember, confirm, give context

What they share is in `lineage.workspace`. A session's way from its hook to MEMORY.md, in six files:

    cli/hook_entry.py                       queue the hook's payload
    pipeline/ingest/worker.py               take it from the queue, find the transcript
    pipeline/maintenance/finish_pending.py  finish what a crash left, then run the flow
    pipeline/capture/session_end.py         the main flow: read, narrate, lock, plan, apply
    pipeline/capture/apply.py               make the steps that core/capture/planner.py finds missing
    workspace/publish.py                    write MEMORY.md, then the rows
"""
