"""What each command does, in the first sentence of its help: the list of commands is printed without importing them."""

SUMMARIES = {
    "init": "Make a workspace: settings, curated memory, the handbook.",
    "status": "What the workspace holds, what is unfinished, what was counted.",
    "session-end": "Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.",
    "compaction": "Keep the summary of a compaction; a session may have any number of them.",
    "reindex": "Make index and MEMORY.md what the files say, hand-edited books too.",
    "render": "Write MEMORY.md of every agent again; a file that would stay the same is not touched.",
    "sessions": "List sessions, newest first, each with its sentence.",
    "show": "Print a session: its newest summary, another of its files, or some of its turns.",
    "open": "Open a session's note in Obsidian, where the workspace is in a vault, else in VISUAL or EDITOR.",
    "search": "Find sessions and entries of books by any word of the query, best first, one result per session.",
    "context": "Print what a new session is told of earlier ones, within a budget for all of it.",
    "verify": "Check every promise of the format: checksums, frontmatter, identity, links, rows, MEMORY.md.",
    "recover": "Finish what a crash left unfinished, from the files alone; again changes nothing.",
    "remove": "Remove a session for good: its files, rows and every copy of its text in the workspace.",
    "sanitize": "Print a text without its secrets: FILE, or what comes on stdin.",
    "resanitize": "Redact what is committed already, under the rules of today.",
    "doctor": (
        "Look for what keeps sessions from becoming memory: hooks, the program, what waits and what was given up."
    ),
    "hook": (
        "Take what a harness's hook hands over on stdin; `lineage hooks install` puts this command into its settings."
    ),
    "work": "Capture what hooks have signalled, and end.",
    "sweep": "Capture sessions that a hook once told of and that ended without a signal, or grew since.",
    "import": (
        "Capture the sessions that HARNESS kept before lineage was there: from PATHs, else from where it keeps them."
    ),
    "hooks": "Let the harnesses on this machine hand over their sessions by themselves.",
    "watch": "Keep index and MEMORY.md what the files say, whoever changes these, until it is ended.",
    "resume": "Print the command line that resumes a session in its harness, or run it in the session's folder.",
    "send": "Send a session a message by its harness's own program, print the answer as it comes, and capture both.",
    "spawn": "Begin a session in a harness with a message, print the answer as it comes, and capture the session.",
    "remember": "Remember TEXT: a note for every session, unless a scope or kind is named.",
    "book": "What is known for good: one note of entries per scope and kind, to be edited by hand at any time.",
    "bundle": "Take a session, or the global books, from one workspace into another.",
    "archive": "Pack what ended before DATE into one folder a month.",
    "serve": "Serve the page for people and the API under /api, until it is interrupted.",
    "store": "What a workspace lies in: a folder, or a bucket.",
    "mirror": "Keep a folder, for Obsidian say, in step with the workspace, both ways, until it is ended.",
    "migrate-store": "Copy a memory to another place, a folder or a bucket, and verify it there.",
    "mcp": "Serve one agent its memory as an MCP server, on stdin and stdout: a harness starts it.",
}
