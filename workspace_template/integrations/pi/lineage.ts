// Hands over what happens to pi's sessions to lineage, and tells them what it remembers.
// The next line is the command; `lineage hooks install pi` writes the full one, with workspace and agent.
const COMMAND = ["lineage", "hook", "pi"];

import { spawn } from "node:child_process";

// What pi says, and what lineage calls it.
const EVENTS = {
  agent_end: "turn-end",
  session_before_compact: "before-compaction",
  session_compact: "compaction",
  session_shutdown: "session-end",
};

// Rings and forgets: nothing here waits, and nothing that goes wrong reaches pi.
function ring(payload) {
  start(payload, "ignore");
}

// Rings, and waits for the block of context that lineage prints: at most four seconds, and empty where there is none.
function ask(payload) {
  return new Promise((resolve) => {
    const child = start(payload, "pipe");
    if (!child) return resolve("");
    let printed = "";
    const timer = setTimeout(() => resolve(""), 4000);
    child.stdout.on("data", (part) => (printed += part));
    child.on("close", () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(printed).context);
      } catch {
        resolve("");
      }
    });
  });
}

function start(payload, output) {
  if (process.env.LINEAGE_SUPPRESS) return;
  try {
    const env = { ...process.env, LINEAGE_HARNESS_PID: String(process.pid) };
    const child = spawn(COMMAND[0], COMMAND.slice(1), { detached: true, env, stdio: ["pipe", output, "ignore"] });
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
    child.unref();
    return child;
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
  // A session is told once, with its first prompt, and again after a compaction; a resumed one has it in its history.
  let told = false;
  let reason = null;
  pi.on("session_start", async (event) => {
    told = event?.reason === "resume" || event?.reason === "reload";
  });
  pi.on("session_compact", async () => {
    told = false;
    reason = "compact";
  });
  pi.on("before_agent_start", async (_event, ctx) => {
    if (told) return;
    told = true;
    const content = await ask({ event: "session-start", reason, ...session(ctx) });
    if (content) return { message: { customType: "lineage", content, display: false } };
  });
  for (const [name, called] of Object.entries(EVENTS)) {
    pi.on(name, async (event, ctx) => {
      const reason = event?.reason ?? null;
      const goesOn = name === "session_shutdown" && reason === "reload";
      const summary = event?.compactionEntry?.summary ?? null;
      ring({ event: goesOn ? "turn-end" : called, reason, summary, ...session(ctx) });
    });
  }
}
