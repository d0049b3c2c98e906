// Hands over what happens to pi's sessions to lineage.
// The next line is the command; `lineage hooks install pi` writes the full one, with workspace and agent.
const COMMAND = ["lineage", "hook", "pi"];

import { spawn } from "node:child_process";

// What pi says, and what lineage calls it.
const EVENTS = {
  session_start: "session-start",
  agent_end: "turn-end",
  session_compact: "compaction",
  session_shutdown: "session-end",
};

// Rings and forgets: nothing here waits, and nothing that goes wrong reaches pi.
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

function session(ctx) {
  try {
    return {
      session_id: ctx.sessionManager.getSessionId?.() ?? null,
      transcript_path: ctx.sessionManager.getSessionFile() ?? null,
      cwd: ctx.cwd ?? null,
    };
  } catch {
    return { session_id: null, transcript_path: null, cwd: null };
  }
}

export default function (pi) {
  for (const [name, called] of Object.entries(EVENTS)) {
    pi.on(name, async (event, ctx) => {
      const reason = event?.reason ?? null;
      const goesOn = name === "session_shutdown" && reason === "reload";
      const summary = event?.compactionEntry?.summary ?? null;
      ring({ event: goesOn ? "turn-end" : called, reason, summary, ...session(ctx) });
    });
  }
}
