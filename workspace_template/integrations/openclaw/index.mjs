// Hands over what happens to OpenClaw's sessions to lineage, and tells them what it remembers.
// The next line is the command; `lineage hooks install openclaw` writes the full one, with workspace and agent.
const COMMAND = ["lineage", "hook", "openclaw"];

import { spawn } from "node:child_process";

// What OpenClaw says, and what lineage calls it.
const EVENTS = {
  session_start: "session-start",
  agent_end: "turn-end",
  before_compaction: "before-compaction",
  after_compaction: "compaction",
  session_end: "session-end",
};

// Rings and forgets: at shutdown all handlers together have two seconds.
function ring(payload) {
  start(payload, "ignore");
}

// Rings, and waits for what lineage has to tell: at most four seconds, and empty where there is nothing.
function ask(payload) {
  if (payload.event !== "session-start" && COMMAND.includes("--no-recall")) return Promise.resolve("");
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
    // The block is part of every request of a session, the same in each, until a compaction.
    const blocks = new Map();
    const compacted = new Set();
    // What memory holds about a prompt, which may be built more than once.
    const recalled = new Map();
    function recall(asked) {
      const last = recalled.get(asked.session_id);
      if (last?.prompt !== asked.prompt) recalled.set(asked.session_id, { prompt: asked.prompt, text: ask(asked) });
      return recalled.get(asked.session_id).text;
    }
    const forget = async (event, ctx) => {
      const id = event?.sessionId ?? ctx?.sessionId;
      blocks.delete(id);
      compacted.add(id);
    };
    api.on("after_compaction", forget, { timeoutMs: 1000 });
    api.on("before_prompt_build", async (event, ctx) => {
      const start = payload("session-start", event, ctx);
      start.reason = compacted.has(start.session_id) ? "compact" : null;
      if (!blocks.has(start.session_id)) blocks.set(start.session_id, ask(start));
      const prompt = event?.currentUserMessage ?? event?.prompt ?? null;
      const text = recall({ ...payload("prompt", event, ctx), prompt });
      const told = { appendSystemContext: await blocks.get(start.session_id), prependContext: await text };
      return Object.fromEntries(Object.entries(told).filter(([, value]) => value));
    });
    for (const [name, called] of Object.entries(EVENTS))
      api.on(name, async (event, ctx) => ring(payload(called, event, ctx)), { timeoutMs: 1000 });
  },
};
