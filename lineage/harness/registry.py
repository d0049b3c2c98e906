"""The harnesses that lineage knows: one entry each, and nothing else of them anywhere but an adapter's module.

Everything that depends on the harness is derived from here: adapters, hooks, discovery, settings, `doctor`, `resume`,
help, and the tests' parameters. Hooks import this module, so it imports no more than the form of an entry. (how to add
one: CONTRIBUTING; names are the harness's own, spelling included: harnesses.md, the tables of events)
"""

from lineage.harness.spec import (
    ACTION,
    ARGUMENTS,
    BASH,
    BEFORE_COMPACTION,
    COMMAND,
    COMPACTION,
    FIELDS,
    HOOK_OUTPUT,
    HOOKS,
    MANIFEST,
    NO_COMPACTION,
    OTHER,
    PLUGIN_FIELDS,
    PLUGIN_OUTPUT,
    POWERSHELL,
    PROGRAM,
    PROMPT,
    SCRIPT,
    SESSION,
    SESSION_END,
    SESSION_START,
    SHELL,
    SUB_AGENT,
    TEXT,
    TOML_HOOKS,
    TURN_END,
    HarnessSpec,
    HookFormat,
    Installation,
    OffSwitch,
    Program,
    Retention,
    ServerSettings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from lineage.harness.spec import Output

PROMPT_SECONDS = 5
"""What a harness waits for a hook that hangs before it takes a prompt, or an action, without its answer."""

_PROMPT = f"--prompt={TEXT}"
_QUICK = {"timeout": PROMPT_SECONDS}
_QUICK_MS = {"timeout": 1000 * PROMPT_SECONDS}
_IGNORED_EVENTS = {"SubagentStart": SUB_AGENT, "SubagentStop": SUB_AGENT}
_CLAUDE_EVENTS = {
    "SessionStart": SESSION_START,
    "Stop": TURN_END,
    "StopFailure": TURN_END,
    "SessionEnd": SESSION_END,
    "PreCompact": BEFORE_COMPACTION,
    "PostCompact": COMPACTION,
}
_CLAUDE_ACTIONS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_CLAUDE_SETTINGS = "${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json"
_MANAGED_SETTINGS = (  # Linux and macOS
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)

PLAIN_FORMAT = HookFormat(
    events={event: event for event in (SESSION_START, TURN_END, SESSION_END, BEFORE_COMPACTION, COMPACTION)},
    prompts=(PROMPT,),
    actions=(ACTION,),
    fields=PLUGIN_FIELDS,
    event_fields=("event",),
)
"""The form that our own plugins and extensions send under any harness's name."""

HARNESSES: dict[str, HarnessSpec] = {
    "claude-code": HarnessSpec(
        title="Claude Code",
        reads="JSONL, sub-agents, forks, spilled tool results",
        arrives="hooks, plug-in",
        sessions=("${CLAUDE_CONFIG_DIR:-~/.claude}/projects",),
        hooks=HookFormat(
            events=_CLAUDE_EVENTS,
            ignored_events=_IGNORED_EVENTS,
            prompts=("UserPromptSubmit",),
            actions=_CLAUDE_ACTIONS,
            continuing_reasons=frozenset({"resume"}),
            sub_agent_field="agent_id",
            is_shared=True,
            output=HOOK_OUTPUT,
        ),
        installation=Installation(
            folder="${CLAUDE_CONFIG_DIR:-~/.claude}",
            files={"settings.json": HOOKS},
            handler={"type": "command", "command": PROGRAM, "args": ARGUMENTS},
            # SubagentStart is left out: another harness that imports these settings rejects the whole file for it.
            events={
                "SessionStart": {"timeout": 10},
                "UserPromptSubmit": _QUICK,
                "PreToolUse": {"matcher": "Edit|MultiEdit|Write|NotebookEdit|Bash", **_QUICK},
                "PostToolUseFailure": {"matcher": "Bash", **_QUICK},
                "PreCompact": {"timeout": 10},
                "PostCompact": {"timeout": 10},
                "Stop": {"async": True, "timeout": 30},
                # All hooks of a session end share 1.5 s, unless a settings file declares a timeout.
                "SessionEnd": {"timeout": 5},
            },
            server=ServerSettings(
                file="${CLAUDE_CONFIG_DIR:-~}/.claude.json",
                value={"type": "stdio", "command": PROGRAM, "args": ARGUMENTS},
                has_backup=False,
            ),
            has_skills=True,
            project_files=(".claude/settings.json", ".claude/settings.local.json"),
            plugins=("settings.json", "enabledPlugins"),
            package=".claude-plugin/plugin.json",
            marketplace=".claude-plugin/marketplace.json",
            off_switches=(
                *(
                    OffSwitch(file=name, key="disableAllHooks", value=True)
                    for name in ("settings.json", *_MANAGED_SETTINGS)
                ),
                *(
                    OffSwitch(file=name, key="allowManagedHooksOnly", value=True, mend="ask who manages this machine")
                    for name in _MANAGED_SETTINGS
                ),
            ),
        ),
        program=Program(
            name="claude",
            resume=("--resume", SESSION),
            send=("-p", "--resume", SESSION),
            spawn=("-p", "--session-id", SESSION),
        ),
        variables=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
        session_variable="CLAUDE_CODE_SESSION_ID",
        inherited_variables=(
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_CHILD_SESSION",
            "CLAUDE_CODE_ENTRYPOINT",
        ),
        retention=Retention(file=_CLAUDE_SETTINGS, key="cleanupPeriodDays", days=30),
        prompt_history="history.jsonl",
        transcript="~/.claude/projects/*/{session}.jsonl",
    ),
    "codex": HarnessSpec(
        title="Codex",
        reads="rollouts, old and paginated, forks, sub-agents, rollbacks",
        arrives="hooks (approve them with `/hooks`), plug-in",
        sessions=("${CODEX_HOME:-~/.codex}/sessions", "${CODEX_HOME:-~/.codex}/archived_sessions"),
        hooks=HookFormat(
            events=_CLAUDE_EVENTS | {"Interrupt": TURN_END, "agent-turn-complete": TURN_END},
            ignored_events=_IGNORED_EVENTS,
            prompts=("UserPromptSubmit",),
            actions=_CLAUDE_ACTIONS,
            fields=FIELDS | {"session_id": ("session_id", "thread-id")},
            event_fields=("hook_event_name", "type"),  # `type`: the older `notify` program
            sub_agent_field="agent_id",
            is_shared=True,
            senders=(("turn_id", "model"),),
            transcripts=("rollout-",),
            output=(HOOK_OUTPUT[0], "utf-8", 9_600),  # about 2,500 tokens, a token being four bytes
        ),
        installation=Installation(
            folder="${CODEX_HOME:-~/.codex}",
            files={"hooks.json": HOOKS, "config.toml": TOML_HOOKS},
            events={
                "SessionStart": {"matcher": "startup|resume|clear|compact", "timeout": 10},
                "Stop": {"timeout": 10},
                "PreCompact": {"timeout": 10},
                "PostCompact": {"timeout": 10},
                # 1 s by default and 3 s at most: a larger value gives a warning at each launch.
                "SessionEnd": {"timeout": 3},
                "UserPromptSubmit": _QUICK,
                "PreToolUse": {"matcher": "Bash|apply_patch", **_QUICK},
                "PostToolUse": {"matcher": "Bash", **_QUICK},
            },
            server=ServerSettings(file="config.toml", container="mcp_servers"),
            has_skills=True,
            next_step="start Codex, type /hooks and approve lineage's: before, none is run",
            project_files=(".codex/hooks.json",),
            plugins=("config.toml", "plugins"),
            package=".codex-plugin/plugin.json",
            marketplace=".agents/plugins/marketplace.json",
            off_switches=(OffSwitch(file="config.toml", key="features.hooks|features.codex_hooks", value=False),),
        ),
        program=Program(
            name="codex",
            resume=("resume", SESSION),
            send=("exec", "resume", SESSION, "-"),
            spawn=("exec", "-"),
            is_shared=True,
        ),
        variables=("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"),
        session_variable="CODEX_THREAD_ID",
    ),
    "gemini": HarnessSpec(
        title="Gemini CLI",
        reads="replay log, the older JSON document, sub-agents",
        arrives="hooks, extension",
        sessions=("${GEMINI_CLI_HOME:-~}/.gemini/tmp",),
        hooks=HookFormat(
            events={"SessionStart": SESSION_START, "AfterAgent": TURN_END, "SessionEnd": SESSION_END},
            ignored_events={"PreCompress": NO_COMPACTION},  # it comes with every turn
            prompts=("BeforeAgent",),
            actions=("AfterTool",),
            is_shared=True,
            output=HOOK_OUTPUT,
        ),
        installation=Installation(
            folder="${GEMINI_CLI_HOME:-~}/.gemini",
            files={"settings.json": HOOKS},
            # Timeouts are in milliseconds; `hooksConfig.disabled` refers to the names.
            handler={"name": "", "type": "command", "command": SHELL, **_QUICK_MS},
            events={
                "SessionStart": {"name": "lineage-start"},
                "BeforeAgent": {"name": "lineage-recall"},
                # What is told before a tool never reaches the model.
                "AfterTool": {"name": "lineage-action", "matcher": "replace|write_file|run_shell_command"},
                "AfterAgent": {"name": "lineage-turn"},
                "SessionEnd": {"name": "lineage", "matcher": "*"},
            },
            server=ServerSettings(file="settings.json"),
            has_skills=True,
            project_files=(".gemini/settings.json",),
            extension="extensions/lineage/gemini-extension.json",
            package="gemini-extension.json",
            off_switches=(OffSwitch(file="settings.json", key="hooksConfig.enabled", value=False),),
        ),
        program=Program(
            name="gemini", resume=("--resume", SESSION), send=("--resume", SESSION, _PROMPT), spawn=(_PROMPT,)
        ),
        variables=("GEMINI_CLI", "GEMINI_SESSION_ID"),
        session_variable="GEMINI_SESSION_ID",
    ),
    "qwen": HarnessSpec(
        title="Qwen Code",
        reads="JSONL, sub-agents",
        arrives="hooks",
        sessions=("${QWEN_RUNTIME_DIR:-${QWEN_HOME:-~/.qwen}}/projects",),
        hooks=HookFormat(
            events=_CLAUDE_EVENTS,
            ignored_events=_IGNORED_EVENTS,
            prompts=("UserPromptSubmit",),
            actions=_CLAUDE_ACTIONS,
            sub_agent_field="agent_id",
            is_shared=True,
            output=HOOK_OUTPUT,
        ),
        installation=Installation(
            folder="~/.qwen",
            files={"settings.json": HOOKS},
            # Timeouts are in milliseconds for commands.
            events={
                **{
                    event: {"timeout": 10000}
                    for event in ("SessionStart", "Stop", "PreCompact", "PostCompact", "SessionEnd")
                },
                "UserPromptSubmit": _QUICK_MS,
                # Before a tool it takes context with a permission alone, and that is the user's to give.
                "PostToolUse": {"matcher": "edit|write_file|run_shell_command", **_QUICK_MS},
                "PostToolUseFailure": {"matcher": "run_shell_command", **_QUICK_MS},
            },
            server=ServerSettings(file="settings.json"),
            has_skills=True,
            project_files=(".qwen/settings.json",),
            off_switches=(OffSwitch(file="settings.json", key="disableAllHooks", value=True),),
        ),
        program=Program(
            name="qwen", resume=("--resume", SESSION), send=("--resume", SESSION, _PROMPT), spawn=(_PROMPT,)
        ),
        variables=("QWEN_CODE", "QWEN_PROJECT_DIR"),
    ),
    "copilot": HarnessSpec(
        title="Copilot CLI",
        reads="event log",
        arrives="hooks",
        sessions=("${COPILOT_HOME:-~/.copilot}/session-state",),
        hooks=HookFormat(
            events={"sessionStart": SESSION_START, "agentStop": TURN_END, "sessionEnd": SESSION_END}
            | {"SessionStart": SESSION_START, "AgentStop": TURN_END, "Stop": TURN_END, "SessionEnd": SESSION_END}
            | {"preCompact": BEFORE_COMPACTION, "PreCompact": BEFORE_COMPACTION},
            ignored_events=_IGNORED_EVENTS | {"subagentStop": SUB_AGENT},
            prompts=("userPromptSubmitted",),
            actions=("preToolUse", "postToolUse", "postToolUseFailure"),
            fields={
                "session_id": ("sessionId", "session_id"),
                "transcript_path": ("transcriptPath", "transcript_path"),
                "cwd": ("cwd",),
                "reason": ("reason", "stopReason", "stop_reason", "source"),
                "trigger": ("trigger",),
            },
            # In camel case mode payloads have no event name; the order decides between shared fields.
            event_markers=(
                ("toolResult", "postToolUse"),
                ("toolArgs", "preToolUse"),
                ("agentId", "subagentStop"),
                ("stopReason", "agentStop"),
                ("trigger", "preCompact"),
                ("reason", "sessionEnd"),
                ("source", "sessionStart"),
                ("prompt", "userPromptSubmitted"),
            ),
            sub_agent_field="agent_id",
            is_shared=True,
            senders=(("sessionId", "!hook_event_name"),),
            transcripts=("events.jsonl",),
            output=('{"additionalContext":%s}\n', "utf-16-le", 20_000),
        ),
        installation=Installation(
            folder="${COPILOT_HOME:-~/.copilot}",
            files={"hooks/lineage.json": HOOKS},
            # Event names in camel case select the payload in camel case.
            handler={"type": "command", "bash": BASH, "powershell": POWERSHELL, "timeoutSec": 10},
            events={
                **{key: {} for key in ("sessionStart", "agentStop", "preCompact", "sessionEnd")},
                **{key: {"timeoutSec": PROMPT_SECONDS} for key in ("userPromptSubmitted", "preToolUse", "postToolUse")},
            },
            is_grouped=False,
            members={"version": 1},
            server=ServerSettings(
                file="mcp-config.json",
                value={"type": "local", "command": PROGRAM, "args": ARGUMENTS, "tools": ["*"]},
            ),
            has_skills=True,
            project_files=(".github/hooks/*.json",),
            other_files=("settings.json",),
            shared_files=((".claude/settings.json", "claude-code"),),
        ),
        program=Program(
            name="copilot", resume=(f"--resume={SESSION}",), send=(f"--resume={SESSION}", _PROMPT), spawn=(_PROMPT,)
        ),
        variables=("COPILOT_CLI", "COPILOT_AGENT"),
    ),
    "cursor": HarnessSpec(
        title="Cursor",
        reads="JSONL of the agent, sub-agents",
        arrives="hooks",
        sessions=("~/.cursor/projects",),
        hooks=HookFormat(
            events={
                "sessionStart": SESSION_START,
                "stop": TURN_END,
                "afterAgentResponse": TURN_END,
                "sessionEnd": SESSION_END,
                "preCompact": BEFORE_COMPACTION,
            },
            ignored_events={"subagentStart": SUB_AGENT, "subagentStop": SUB_AGENT},
            fields=FIELDS
            | {"session_id": ("conversation_id", "session_id"), "cwd": ("cwd", "workspace_roots.0")}
            | {"reason": ("reason", "status")},
            is_shared=True,
            senders=(("cursor_version",), ("conversation_id", "generation_id")),
            output=('{"additional_context":%s}\n', "utf-16-le", 20_000),
        ),
        installation=Installation(
            folder="~/.cursor",
            files={"hooks.json": HOOKS},
            handler={"command": SHELL, "timeout": 10},
            events={key: {} for key in ("sessionStart", "stop", "preCompact", "sessionEnd")},
            is_grouped=False,
            members={"version": 1},
            server=ServerSettings(file="mcp.json"),
            has_skills=True,
            project_files=(".cursor/hooks.json",),
            shared_files=((_CLAUDE_SETTINGS, "claude-code"),),
        ),
        program=Program(
            name="cursor-agent",
            resume=(f"--resume={SESSION}",),
            send=("-p", f"--resume={SESSION}", "--", TEXT),
            spawn=("-p", "--", TEXT),
            is_shared=True,
        ),
        variables=("CURSOR_AGENT", "CURSOR_VERSION"),
    ),
    "opencode": HarnessSpec(
        title="OpenCode",
        reads="its database in both schemas, `opencode export`, sub-agents",
        arrives="plug-in",
        hooks=HookFormat(
            events={
                "session.created": SESSION_START,
                "session.idle": TURN_END,
                "session.error": TURN_END,
                "session.compacted": COMPACTION,
                "session.execution.succeeded": TURN_END,
                "session.execution.failed": TURN_END,
                "session.execution.interrupted": TURN_END,
                "dispose": SESSION_END,
            },
            fields=PLUGIN_FIELDS,
            event_fields=("event",),
            output=PLUGIN_OUTPUT,
        ),
        installation=Installation(
            folder="${XDG_CONFIG_HOME:-~/.config}/opencode",
            files={"plugins/lineage.js": SCRIPT},
            server=ServerSettings(
                file="opencode.json", container="mcp", value={"type": "local", "command": COMMAND, "enabled": True}
            ),
            has_skills=True,
            next_step="start OpenCode again",
        ),
        program=Program(
            name="opencode",
            resume=("--session", SESSION),
            send=("run", "--session", SESSION),
            spawn=("run",),
            is_shared=True,
        ),
        variables=("OPENCODE",),
    ),
    "pi": HarnessSpec(
        title="pi",
        reads="JSONL trees",
        arrives="extension",
        sessions=("${PI_CODING_AGENT_SESSION_DIR:-${PI_CODING_AGENT_DIR:-~/.pi/agent}/sessions}",),
        hooks=HookFormat(
            events={
                "session_start": SESSION_START,
                "turn_end": TURN_END,
                "agent_end": TURN_END,
                "session_before_compact": BEFORE_COMPACTION,
                "session_compact": COMPACTION,
                "session_shutdown": SESSION_END,
            },
            fields=PLUGIN_FIELDS,
            event_fields=("event",),
            continuing_reasons=frozenset({"reload"}),
            output=PLUGIN_OUTPUT,
        ),
        installation=Installation(  # it has no MCP client
            folder="${PI_CODING_AGENT_DIR:-~/.pi/agent}",
            files={"extensions/lineage.ts": SCRIPT},
            has_skills=True,
            next_step="type /reload in pi",
        ),
        program=Program(name="pi", resume=("--session", SESSION), send=("-p", "--session", SESSION), spawn=("-p",)),
        variables=("PI_CODING_AGENT",),
    ),
    "openclaw": HarnessSpec(
        title="OpenClaw",
        reads="its database since July 2026, with zstd entries; the JSONL of before",
        arrives="extension",
        sessions=("${OPENCLAW_STATE_DIR:-~/.openclaw}/agents",),
        hooks=HookFormat(
            events={
                "session_start": SESSION_START,
                "agent_end": TURN_END,
                "before_compaction": BEFORE_COMPACTION,
                "after_compaction": COMPACTION,
                "session_end": SESSION_END,
            },
            fields=PLUGIN_FIELDS,
            event_fields=("event",),
            output=PLUGIN_OUTPUT,
        ),
        installation=Installation(
            folder="${OPENCLAW_STATE_DIR:-~/.openclaw}",
            files={
                "extensions/lineage/openclaw.plugin.json": MANIFEST,
                "extensions/lineage/package.json": MANIFEST,
                "extensions/lineage/index.mjs": SCRIPT,
            },
            server=ServerSettings(file="openclaw.json", container="mcp.servers"),
            has_skills=True,
            next_step="start the gateway again",
        ),
        # It starts and shows sessions by lane.
        program=Program(name="openclaw", send=("agent", "--session-id", SESSION, f"--message={TEXT}"), is_shared=True),
        variables=("OPENCLAW_SHELL",),
    ),
    "goose": HarnessSpec(
        title="Goose",
        reads="its database, `goose session export`, sub-agents",
        arrives="hooks",
        hooks=HookFormat(
            events={"SessionStart": SESSION_START, "Stop": TURN_END, "SessionEnd": SESSION_END},
            fields=FIELDS | {"cwd": ("cwd", "working_dir")},
            event_fields=("event",),
        ),
        installation=Installation(  # it keeps its servers in YAML
            folder="${XDG_CONFIG_HOME:-~/.config}/goose",
            files={
                "~/.agents/plugins/lineage/plugin.json": MANIFEST,
                "~/.agents/plugins/lineage/hooks/hooks.json": HOOKS,
            },
            # No matcher: `*` is invalid there, and Goose would drop the rule in silence.
            events={key: {"timeout": 10} for key in ("SessionStart", "Stop", "SessionEnd")},
        ),
        program=Program(
            name="goose",
            resume=("session", "--resume", "--session-id", SESSION),
            send=("run", "--resume", "--session-id", SESSION, "--instructions", "-"),
            spawn=("run", "--instructions", "-"),
            is_shared=True,
        ),
        variables=("GOOSE_TERMINAL",),
    ),
    "aider": HarnessSpec(
        title="aider",
        reads="`.aider.chat.history.md`",
        sessions=("${AIDER_CHAT_HISTORY_FILE}",),  # else each history lies in its project
        # It has no session ids: it continues its folder's history.
        program=Program(
            name="aider",
            resume=("--restore-chat-history",),
            send=("--restore-chat-history", f"--message={TEXT}"),
            spawn=(f"--message={TEXT}",),
            history_file=".aider.chat.history.md",
        ),
    ),
    "antigravity": HarnessSpec(
        title="Antigravity",
        reads="JSONL of the editor and of `agy`; its databases have no public format",
        sessions=tuple(f"~/.gemini/{name}/brain" for name in ("antigravity", "antigravity-cli", "antigravity-ide")),
    ),
    "generic": HarnessSpec(
        title="generic JSON",
        reads='a JSON list of `{"role", "text", "at"?, "name"?, "input"?, "id"?}`, or plain text',
        arrives="`lineage session-end`",
    ),
}

_COMMON_FIELDS = (
    "agentId", "agent_type", "at", "error", "last-assistant-message", "last_assistant_message", "last_message",
    "model", "parentID", "parentToolCallId", "parent_id", "parent_session", "prompt_response", "source", "status",
    "stop_reason", "text", "timestamp",
)  # fmt: skip


def iter_formats() -> "Iterator[HookFormat]":
    """Yield the format of our own plugins, then that of every harness with hooks."""
    yield PLAIN_FORMAT
    for spec in HARNESSES.values():
        if spec.hooks:
            yield spec.hooks


def find_output(harness: str) -> "Output | None":
    """Return the form of context on the stdout of a harness's hook, None if nobody reads it."""
    spec = HARNESSES.get(harness)
    return spec.hooks.output if spec and spec.hooks else None


def find_field(payload: "Mapping[str, Any]", key: str) -> str:
    """Return a value of any harness's payload by our name of it, such as `session_id`, "" without one."""
    for name in dict.fromkeys(name for one in iter_formats() for name in one.fields.get(key, ())):
        first, _, rest = name.partition(".")
        value = payload.get(first)
        if rest == "0":
            value = value[0] if isinstance(value, list) and value else None
        if isinstance(value, str) and value.strip():
            return value
    return ""


def find_event(payload: "Mapping[str, Any]") -> str:
    """Return the event that a payload names or shows, as its harness spells it; "" for none.

    Harnesses run each other's hooks, so the hook of one takes the events of all.
    """
    formats = list(iter_formats())
    for field in dict.fromkeys(name for one in formats for name in one.event_fields):
        if isinstance(name := payload.get(field), str) and name.strip():
            return name
    marks = (mark for one in formats for mark in one.event_markers)
    return next((name for field, name in marks if field in payload), "")


def classify_event(event: str) -> str:
    """Return our name of an event of any harness: PROMPT and ACTION for those that are answered at once, else OTHER."""
    for one in iter_formats():
        if event in one.events:
            return one.events[event]
        if event in one.prompts or event in one.actions:
            return PROMPT if event in one.prompts else ACTION
    return OTHER


def list_payload_fields() -> "set[str]":
    """Return the fields of a payload that describe a session. All others are dropped, people's names among them."""
    names = set(_COMMON_FIELDS)
    for one in iter_formats():
        names.update(one.event_fields, *one.fields.values(), *one.senders, (one.sub_agent_field or "event",))
    return {name.partition(".")[0].removeprefix("!") for name in names}


def list_id_fields() -> "list[str]":
    """Return the fields of a payload that tell sessions apart."""
    names = [
        name
        for one in iter_formats()
        for key in ("session_id", "session_key", "lane")
        for name in one.fields.get(key, ())
    ]
    return list(dict.fromkeys([*names, "agent_id"]))
