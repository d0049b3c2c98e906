"""The harnesses: what lineage knows of each, and the adapters that turn its transcripts into a `Capture`.

    registry             one entry a harness: its hooks, settings, program, places; everything else is derived from it
    spec                 the form of an entry
    adapters             the adapters by name, imported at their first use; where a history lies
    adapter              the interface of an adapter, and what adapters share
    hook_payload         a hook's payload, of any harness
    programs             the command lines of harnesses' own programs
    detect_caller        the harness around a command

Hooks import this package, so it re-exports nothing.
"""
