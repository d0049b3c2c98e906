// Hands over what happens to OpenClaw's sessions to lineage.
// The next line is the command; `lineage hooks install openclaw` writes the full one, with workspace and agent.
const COMMAND = ["lineage", "hook", "openclaw"];

import { spawn } from "node:child_process";

// What OpenClaw says, and what lineage calls it.
const EVENTS = { session_start: "session-start", after_compaction: "compaction", session_end: "session-end" };

// Rings and forgets: at shutdown all handlers together have two seconds.
function ring(payload) {
  if (process.env.LINEAGE_SUPPRESS) return;
  try {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
    child.unref();
  } catch {}
}

// The key is a chat that lives on while its sessions come and go: a lane.
function payload(called, event, ctx) {
  return {
    event: called,
    reason: event?.reason ?? null,
    session_id: event?.sessionId ?? ctx?.sessionId ?? null,
    lane: event?.sessionKey ?? ctx?.sessionKey ?? null,
    transcript_path: event?.sessionFile ?? null,
    cwd: ctx?.workspaceDir ?? null,
  };
}

export default {
  id: "lineage",
  name: "lineage",
  register(api) {
    for (const [name, called] of Object.entries(EVENTS))
      api.on(name, async (event, ctx) => ring(payload(called, event, ctx)), { timeoutMs: 1000 });
  },
};
