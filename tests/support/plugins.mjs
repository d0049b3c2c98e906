// Plays the harnesses that load a plugin: tells it what happens in one session, and exits as they do, waiting for
// nothing that the plugin started. The session comes as JSON in the first argument.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const visit = JSON.parse(process.argv[2]);

// OpenClaw finds a plugin by its package. The others compile a file themselves, whatever its suffix; node takes the
// text as a module.
async function load(file) {
  if (file.endsWith("package.json")) {
    const [entry] = JSON.parse(readFileSync(file, "utf8")).openclaw.extensions;
    return import(pathToFileURL(join(dirname(file), entry)));
  }
  return import("data:text/javascript," + encodeURIComponent(readFileSync(file, "utf8")));
}

// Version 1: the default export has a `server`; a plug-in without one is refused.
async function opencode1(module) {
  const context = { directory: visit.cwd, worktree: visit.cwd, client: {}, $: null };
  if (typeof module.default?.server !== "function") throw new Error("must default export an object with server()");
  const hooks = [await module.default.server(context)];
  const tell = (type, properties) => Promise.all(hooks.map((hook) => hook.event({ event: { type, properties } })));
  await tell("session.created", { info: { id: visit.session, directory: visit.cwd } });
  await tell("message.updated", { info: { id: "msg_1", sessionID: visit.session } });
  for (const hook of hooks)
    await hook["experimental.chat.system.transform"]({ sessionID: visit.session, model: {} }, { system: [] });
  await tell("session.idle", { sessionID: visit.session });
  await Promise.all(hooks.map((hook) => hook.dispose?.()));
}

// Version 2: the default export, set up with a context; events come as a stream until the signal ends it.
async function opencode2(module) {
  const location = { directory: visit.cwd };
  const event = (id, type) => ({ id, type, data: { sessionID: visit.session }, location });
  let heard;
  const done = new Promise((resolve) => (heard = resolve));
  async function* subscribe() {
    yield event("evt_1", "session.execution.started");
    yield event("evt_2", "session.execution.succeeded");
    heard();
    await new Promise(() => {});
  }
  const cleanup = await module.default.setup({ event: { subscribe }, session: { hook() {} } });
  await done;
  await cleanup();
}

async function pi(module) {
  const handlers = [];
  module.default({ on: (name, handler) => handlers.push([name, handler]), registerCommand() {} });
  const sessionManager = { getSessionFile: () => visit.path, getSessionId: () => visit.session };
  for (const event of [
    { type: "session_start", reason: "startup" },
    { type: "before_agent_start", prompt: "Mend it." },
    { type: "turn_end", turnIndex: 0 },
    { type: "agent_end", messages: [] },
    { type: "session_shutdown", reason: "quit" },
  ])
    for (const [name, handler] of handlers)
      if (name === event.type) await handler(event, { cwd: visit.cwd, hasUI: false, sessionManager });
}

// What is abandoned after its time is abandoned here too: the gateway exits two seconds after it was told to.
async function openclaw(module) {
  const handlers = [];
  module.default.register({ on: (name, handler) => handlers.push([name, handler]), logger: console });
  const context = { agentId: "main", sessionId: visit.session, sessionKey: visit.lane, workspaceDir: visit.cwd };
  const tell = (type, event) =>
    Promise.race([
      Promise.all(handlers.filter(([name]) => name === type).map(([, handler]) => handler(event, context))),
      new Promise((resolve) => setTimeout(resolve, 2000)),
    ]);
  const ids = { sessionId: visit.session, sessionKey: visit.lane };
  await tell("session_start", ids);
  await tell("session_end", { ...ids, reason: "shutdown", messageCount: 4 });
}

const plays = { opencode1, opencode2, pi, openclaw };
for (const file of visit.files) await plays[visit.play](await load(file));
process.exit(0);
