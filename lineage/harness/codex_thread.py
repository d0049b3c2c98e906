"""What a Codex rollout says of its session, beside the turns. (harnesses.md 2.5, 2.7)"""

from typing import Any

from lineage.harness.json_values import as_mapping, as_string

_PAGINATED = "paginated"


class CodexThread:
    """A thread's identity, origin and settings, as its records tell them one by one.

    `root` is the thread that the first records were written in: a fork's copied ones keep their ids. `first_ordinal`
    is the ordinal of the first record that isn't a copy of the parent's (sub-agents). `compute_turn_id` is that of the
    current turn.
    """

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.parent_session: str | None = None
        self.forked_from: str | None = None
        self.project: str | None = None
        self.title: str | None = None
        self.models: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.is_paginated = False
        self.first_ordinal = 0
        self.root_id = ""
        self.turn_id = ""

    def update_meta(self, meta: dict[str, Any], *, has_turns: bool) -> None:
        """A `session_meta`: the first of a file is its own; those that follow are later states of it, or a fork's
        copies of its ancestors'. `begun`: turns precede it."""
        identity = as_string(meta.get("id"))
        if self.session_id is None:
            self._set_identity(identity, meta)
        elif identity and identity != self.session_id and not has_turns:
            self.root_id = identity
        self.project = self.project or as_string(meta.get("cwd")) or None
        branch = as_string(as_mapping(meta.get("git")).get("branch"))
        if branch:
            self.branches[branch] = None

    def _set_identity(self, identity: str, meta: dict[str, Any]) -> None:
        spawned = as_mapping(as_mapping(as_mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
        forked_from = as_string(meta.get("forked_from_id"))
        own_from = meta.get("subagent_history_start_ordinal")
        self.session_id = identity or None
        self.parent_session = (
            as_string(meta.get("parent_thread_id")) or as_string(spawned.get("parent_thread_id")) or None
        )
        self.forked_from = forked_from or None
        self.is_paginated = meta.get("history_mode") == _PAGINATED
        self.first_ordinal = own_from if isinstance(own_from, int) else 0
        copies = forked_from and not isinstance(meta.get("history_base"), dict)
        self.root_id = forked_from if copies else identity

    def update_context(self, context: dict[str, Any]) -> None:
        """A `turn_context`, or an event that begins a turn."""
        self.turn_id = as_string(context.get("turn_id")) or self.turn_id
        self.project = self.project or as_string(context.get("cwd")) or None
        if as_string(context.get("model")):
            self.models[context["model"]] = None

    def update_title(self, event: dict[str, Any]) -> None:
        self.title = as_string(event.get("thread_name")).strip() or self.title
