"""The shape of a harness's entry in the registry: everything that lineage knows of it but how its transcripts are read.

Hooks import this module, so it imports nothing. Places are written as a shell writes them, `${NAME:-default}`, with `~`
for the home folder; `lineage.harness.places` resolves them.
"""

TYPE_CHECKING = False  # typing itself costs as much as this module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, dataclass_transform
else:

    def dataclass_transform(**_):  # noqa: D103  (what type checkers read of it they read above)
        return lambda cls: cls


SESSION_START = "session-start"
TURN_END = "turn-end"
SESSION_END = "session-end"
COMPACTION = "compaction"
BEFORE_COMPACTION = "before-compaction"
OTHER = "other"

SUB_AGENT = "sub-agent"
NO_COMPACTION = "a turn that may be followed by a compaction"

SESSION = "{session}"
TEXT = "{text}"
"""In the arguments of a program: the session's id, and the message."""

PROGRAM, ARGUMENTS, COMMAND = "{program}", "{arguments}", "{command}"
SHELL, BASH, POWERSHELL = "{shell}", "{bash}", "{powershell}"
"""In settings: lineage's command as a program and its arguments, as one list, or as a line for a shell."""

HOOKS, TOML_HOOKS, SCRIPT, MANIFEST = "hooks", "hooks in TOML", "script", "manifest"
"""The kinds of a file of hooks. A script and a manifest have a template of their name in `integrations/HARNESS`."""

PROMPT, ACTION = "prompt", "action"
"""What recall is asked for. Such events are answered and not queued."""

Output = tuple[str, str, int]
"""What a harness takes for context on a hook's stdout: a line around `%s`, an encoding, the limit in bytes of it.

`EVENT` in the line stands for the name of the event. Harnesses without a documented limit have Claude Code's: 10,000
characters, as JavaScript counts them.
"""

HOOK_OUTPUT: Output = (
    '{"hookSpecificOutput":{"hookEventName":"EVENT","additionalContext":%s}}\n', "utf-16-le", 20_000
)  # fmt: skip
PLUGIN_OUTPUT: Output = ('{"context":%s}\n', "utf-16-le", 20_000)
"""Read by lineage's own plug-ins."""

Fields = dict[str, tuple[str, ...]]

FIELDS: Fields = {
    "session_id": ("session_id",),
    "transcript_path": ("transcript_path",),
    "cwd": ("cwd",),
    "reason": ("reason", "source", "error"),
    "trigger": ("trigger",),
    "summary": ("compact_summary",),
}
PLUGIN_FIELDS: Fields = {
    "session_id": ("session_id", "sessionId", "sessionID"),
    "session_key": ("session_key", "sessionKey"),
    "lane": ("lane",),
    "transcript_path": ("transcript_path", "session_file", "sessionFile"),
    "cwd": ("cwd", "directory", "worktree"),
    "reason": ("reason",),
    "trigger": ("trigger",),
    "summary": ("summary", "compactionEntry.summary"),
}
"""Of our own plugins, which pass on the names of each harness's API."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """A record with defaults, as a frozen dataclass is one: the module `dataclasses` costs more than a whole hook.

    Types are checked by mypy alone, the names of fields by the test of the registry too.
    """

    def __init__(self, **values: "Any") -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: "Any") -> None:
        raise AttributeError(f"{type(self).__name__} doesn't change")


class HookFormat(Record):
    """A harness's hooks: our names of its `events`, the reasons to ignore others. Events in neither are OTHER.

    `prompts` and `actions` are its events at which memory is recalled. `fields` are the places in a payload: a dot
    leads into an object, `.0` to the first of a list. Without a name at `event_fields`, the first of the
    `event_markers` in the payload determines the event. After a session end for one of the `continuing_reasons` the
    session may go on. `sub_agent_field` marks hooks under their parent's session id.

    Some harnesses run each other's hooks, so the payloads of `is_shared` hooks are checked for their sender. A payload
    is surely this harness's with all fields of one of the `senders` (`!` for one that it lacks), or if the name of its
    transcript begins as one of the `transcripts`. `output` is None if it ignores the stdout of a hook.
    """

    events: dict[str, str] = {}
    ignored_events: dict[str, str] = {}
    prompts: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    fields: Fields = FIELDS
    event_fields: tuple[str, ...] = ("hook_event_name",)
    event_markers: tuple[tuple[str, str], ...] = ()
    continuing_reasons: frozenset[str] = frozenset()
    sub_agent_field: str | None = None
    is_shared: bool = False
    senders: tuple[tuple[str, ...], ...] = ()
    transcripts: tuple[str, ...] = ()
    output: Output | None = None


class ServerSettings(Record):
    """Where a harness keeps its MCP servers, and the form of one there.

    `container` is the path of keys to them. A file of the harness's own state, written at each start, gets no backup.
    """

    file: str
    container: str = "mcpServers"
    value: "Mapping[str, Any]" = {"command": PROGRAM, "args": ARGUMENTS}
    has_backup: bool = True


class OffSwitch(Record):
    """A setting that keeps hooks from running: the file, the path of its key, the value, and the remedy.

    `|` in the path parts two names of one setting: the first that is there counts.
    """

    file: str
    key: str
    value: bool
    mend: str = "delete that setting"


class Installation(Record):
    """How lineage's hooks get into a harness's own settings.

    `folder` is the harness's; its `files` lie there if their path is no place of its own, by kind. `handler` is the
    form of one hook in JSON; `events` names what is registered, with the members of each that differ: `matcher` is the
    group's, the rest is the handler's. `is_grouped` is False for handlers without groups, `members` stand beside them.

    `project_files` lie in a project, `other_files` beside the hooks' own: hooks in them run too. So do those that
    lineage put for another harness into one of the `shared_files`, by its name. A plug-in of lineage's is in the table
    `plugins` (file, key), or the folder `extension`; `package` is the manifest in it, `marketplace` the file that lists
    it: where there is none, the manifest names the MCP server. `next_step` is what its user does after installing.
    """

    folder: str
    files: dict[str, str] = {}
    handler: "Mapping[str, Any]" = {"type": "command", "command": SHELL}
    events: "dict[str, dict[str, Any]]" = {}
    is_grouped: bool = True
    members: "dict[str, Any]" = {}
    server: ServerSettings | None = None
    has_skills: bool = False
    next_step: str | None = None
    project_files: tuple[str, ...] = ()
    other_files: tuple[str, ...] = ()
    shared_files: tuple[tuple[str, str], ...] = ()
    plugins: tuple[str, str] | None = None
    extension: str | None = None
    package: str | None = None
    marketplace: str | None = None
    off_switches: tuple[OffSwitch, ...] = ()


class Program(Record):
    """A harness's program and the arguments of each action, None for an action that it lacks.

    Without TEXT in the arguments the message is on stdin, so that no list of processes shows it. `history_file` is the
    name of the transcript if the harness keeps it in the session's folder. A process `is_shared` if it outlives a
    session: a server, a daemon, an editor.
    """

    name: str
    resume: tuple[str, ...] | None = None
    send: tuple[str, ...] | None = None
    spawn: tuple[str, ...] | None = None
    history_file: str = ""
    is_shared: bool = False

    @property
    def accepts_session_id(self) -> bool:
        """Whether `spawn` takes the id of the new session."""
        return any(SESSION in word for word in self.spawn or ())


class Retention(Record):
    """How long a harness keeps transcripts: the setting in its JSON file, and its default in days."""

    file: str
    key: str
    days: int


class HarnessSpec(Record):
    """A harness. `title` is its name in texts; `reads` and `arrives` are its row in the README.

    `adapter` is the module that reads its transcripts: without one, that of its name in `lineage.harness`. `sessions`
    are the places of its history, unless the adapter lists them. `variables` are those that it sets for its agents'
    commands, `session_variable` the one with the session's id; an agent that inherits one of `inherited_variables`
    joins the session around it.

    `prompt_history` is a file of prompts beside the history. `transcript` names a session's transcript for people.
    """

    title: str
    reads: str
    arrives: str = "`lineage import`"
    adapter: str = ""
    sessions: tuple[str, ...] = ()
    hooks: HookFormat | None = None
    installation: Installation | None = None
    program: Program | None = None
    variables: tuple[str, ...] = ()
    session_variable: str = ""
    inherited_variables: tuple[str, ...] = ()
    retention: Retention | None = None
    prompt_history: str = ""
    transcript: str = ""
