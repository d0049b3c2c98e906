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

// The tools that edit and run: what memory holds about their files and commands is told once.
const ACTIONS = new Set(["bash", "powershell", "edit", "write"]);

// Rings and forgets: nothing here waits, and nothing that goes wrong reaches pi.
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
  // The block comes once, with the first prompt, and again after a compaction; a resumed session has it in its history.
  // What memory holds about a prompt comes with each.
  let told = false;
  let reason = null;
  pi.on("session_start", async (event) => {
    told = event?.reason === "resume" || event?.reason === "reload";
  });
  pi.on("session_compact", async () => {
    told = false;
    reason = "compact";
  });
  pi.on("before_agent_start", async (event, ctx) => {
    const asked = [ask({ event: "prompt", prompt: event?.prompt ?? null, ...session(ctx) })];
    if (!told) asked.unshift(ask({ event: "session-start", reason, ...session(ctx) }));
    told = true;
    const content = (await Promise.all(asked)).filter(Boolean).join("\n\n");
    if (content) return { message: { customType: "lineage", content, display: false } };
  });
  // What memory holds about an edit, a command or its failure stands behind the tool's own words.
  pi.on("tool_result", async (event, ctx) => {
    if (!ACTIONS.has(event.toolName)) return;
    const error = event.isError ? event.content.map((part) => part.text ?? "").join("\n") : null;
    const text = await ask({ event: "action", tool_input: event.input, error, ...session(ctx) });
    if (text) return { content: [...event.content, { type: "text", text }] };
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
