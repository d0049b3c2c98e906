// Hands over what happens to OpenCode's sessions to lineage, and tells them what it remembers.
// Serves version 1 (`server`) and 2 (`setup`).
// The next line is the command; `lineage hooks install opencode` writes the full one, with workspace and agent.
const COMMAND = ["lineage", "hook", "opencode"];

import { spawn } from "node:child_process";

// What OpenCode says, and what lineage calls it.
const V1 = {
  "session.idle": "turn-end",
  "session.error": "turn-end",
  "session.compacted": "compaction",
};
const V2 = {
  "session.execution.succeeded": "turn-end",
  "session.execution.failed": "turn-end",
  "session.execution.interrupted": "turn-end",
};

// The tools that edit and run: what memory holds about their files and commands is told once.
const ACTIONS = new Set(["bash", "edit", "write", "multiedit", "patch", "apply_patch"]);

// Rings and forgets: nothing here waits, and nothing that goes wrong reaches OpenCode.
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

// Version 2 sets the plugin up once per project, and tells every one of them everything: the first to hear takes it.
const HEARD = (globalThis[Symbol.for("lineage.opencode.heard")] ??= new Set());
function isNew(id) {
  if (!id) return true;
  if (HEARD.has(id)) return false;
  if (HEARD.size > 1000) HEARD.clear();
  HEARD.add(id);
  return true;
}

// The sessions that a plugin heard of. A sub-agent's is its parent's affair: it is not rung for.
function sessions() {
  const places = new Map();
  const children = new Set();
  return {
    heard(event, data, names, place) {
      const info = data.info ?? data;
      const id = data.sessionID ?? info.id;
      if (event.type === "session.created" && info.parentID) children.add(id);
      if (!Object.hasOwn(names, event.type) || !id || children.has(id) || !isNew(event.id)) return;
      places.set(id, place);
      ring({ event: names[event.type], session_id: id, ...place });
    },
    isChild: (id) => children.has(id),
    ended() {
      for (const [id, place] of places) ring({ event: "session-end", reason: "dispose", session_id: id, ...place });
      places.clear();
    },
  };
}

async function server({ directory, worktree }) {
  const here = sessions();
  const blocks = new Map();
  const compacted = new Set();
  // The block is part of every request, the same in each, until a compaction: then it is asked for again.
  function block(id) {
    const reason = compacted.has(id) ? "compact" : null;
    if (!blocks.has(id)) blocks.set(id, ask({ event: "session-start", reason, session_id: id, directory, worktree }));
    return blocks.get(id);
  }
  return {
    "experimental.session.compacting": async ({ sessionID }) => {
      if (!sessionID || here.isChild(sessionID)) return;
      ring({ event: "before-compaction", session_id: sessionID, directory, worktree });
    },
    event: async ({ event }) => {
      if (event.type === "session.compacted") {
        blocks.delete(event.properties?.sessionID);
        compacted.add(event.properties?.sessionID);
      }
      here.heard(event, event.properties ?? {}, V1, { directory, worktree });
    },
    // What memory holds about a prompt becomes a part of it, behind the others: ids are in their order.
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (!sessionID || here.isChild(sessionID)) return;
      const typed = parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = typed.map((part) => part.text).join("\n");
      const text = prompt && (await ask({ event: "prompt", session_id: sessionID, directory, worktree, prompt }));
      const id = `${parts.at(-1)?.id}0`;
      if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },
    // What memory holds about an edit, a command or its failure stands behind the tool's own words.
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      if (!ACTIONS.has(tool) || !sessionID || here.isChild(sessionID)) return;
      const error = output.metadata?.exit ? String(output.output) : null;
      const action = { event: "action", session_id: sessionID, directory, worktree, tool_input: args, error };
      const text = await ask(action);
      if (text && typeof output.output === "string") output.output += `\n\n${text}`;
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const text = sessionID && !here.isChild(sessionID) && (await block(sessionID));
      if (text) output.system.push(text);
    },
    dispose: async () => here.ended(),
  };
}

export default {
  id: "lineage",
  server,
  async setup(ctx) {
    const here = sessions();
    const ended = new AbortController();
    (async () => {
      try {
        for await (const event of ctx.event.subscribe({ signal: ended.signal })) {
          here.heard(event, event.data ?? {}, V2, { directory: event.location?.directory ?? null });
        }
      } catch {}
    })();
    return () => {
      ended.abort();
      here.ended();
    };
  },
};
