"""lineage: a memory for coding agents that people can trust.

Files are the truth; the index and MEMORY.md are derived from them. A capture observes the existing files, plans the
missing steps as data and applies them in order: a second run, recovery after a crash and repair are the same call.

Layers
------
A package imports only from layers below its own::

    cli · mcp · web      surfaces: parse, call one use case, print
    app                  composition root: chooses backends, reads clock, environment and settings
    pipeline/            use cases: capture, memory, search, ingest, maintenance, transfer, conversations
    workspace            the Workspace and the operations that all use cases share: lookup, publish, access, stale index
    installing           lineage's hooks in the settings of harnesses
    projection           MEMORY.md, context blocks and notes, rendered from typed entries
    index                the derived rows: SQLite, or PostgreSQL for many machines
    recall               the hook's answer at a prompt out of the index, by the standard library alone
    telemetry            counters and marks that survive a rebuild of the index
    extraction           digests, candidates for memory, language and embedding models
    harness              adapters: a harness's transcript or hook payload → turns
    documents            typed documents over a store: artifacts, manifests, claims, tombstones, books, spool, archives
    database             the engines of SQLite and PostgreSQL
    store                bytes under keys: folder or bucket; locks and leases
    core/                pure: base ← format ← capture, books, search, transfer, sanitizer
    config, errors       settings as values; one hierarchy of errors with exit codes and hints

`lineage.api` is the public surface for Python.

A session on its way from the hook to MEMORY.md
-----------------------------------------------
1. `cli/hook_entry`, `enqueue`: a harness's hook spools an event and starts `lineage work`, another process.
2. `pipeline/ingest/worker`, `drain`: takes the events, finds the transcript, calls `run_capture`: it first finishes
   the jobs that a crash left.
3. `pipeline/capture/session_end`, `capture_session`: reads and sanitizes the source, selects the new turns under the
   session's lock, and builds the intent: the files that shall exist.
4. `pipeline/capture/apply`, `apply_plan`: observes the existing files, asks `core/capture/planner` for the missing
   steps, makes them in order.
5. `workspace/publish`, `index_and_publish`: the step PUBLISH, MEMORY.md first, then the rows of the index.
6. `projection/memory_md`, `render_memory_md`: the text of MEMORY.md from these rows.

Words
-----
- harness: a program that runs agents, such as Claude Code or Codex; an adapter reads its transcripts
- session, turn: one conversation with an agent; one message, tool call or tool result in it
- event, job: a hook's payload in the spool; an unfinished capture, removal or import in the spool
- capture: the files written of a session at one time, transcript and summary; a resumed session has several
- lane: the conversation that a person's message belongs to; the sessions in it come and go
- token: the 16 letters and digits that name a session in file names and commands, derived from agent and session
- stem: the common part of a capture's file names: time and token
- artifact: an immutable file of a capture: transcript, summary or compaction
- manifest: the document that names the artifacts of a capture, with their hashes
- claim: the document that fixes the stem of a session's manifest: of many writers one wins
- tombstone: the document of a removed session: it keeps the session from coming back
- spool: this machine's queue of hook events and unfinished jobs
- checkpoint: the last messages of a running session, for the next one after an interruption
- watermark: the count and the last id of the turns that are captured already
- planner: the pure function from the state of a capture to the steps that are missing
- sanitizer: the redaction of secrets, the only way for text into a file of the workspace; the spool of this machine
  holds raw payloads until they are captured
- ledger: the lines of MEMORY.md, one a capture, oldest clipped; a row is one of the index
- window: the days that the ledger covers
- book: a file of entries (decisions, lessons, tasks …) of one scope and kind
- rollover: moving old entries of a book to the archive of their year
- bundle: a session or the global books in one portable file
- lease: a lock with an expiry and a generation, also between machines that share a bucket
- sweep: the search for sessions that ended without an event
- receipt: the report of a removal or migration: its effects and its checks
"""

__version__ = "0.1.0"
