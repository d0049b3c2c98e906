"""Plugins and extensions that a harness loads as code: they run here, in node, as installed."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lineage.harness.hook_payload import parse_hook_payload
from lineage.harness.registry import classify_event, list_payload_fields
from lineage.installing.commands import HookCommand
from lineage.installing.config_files import FileMarks
from lineage.installing.plugin_files import PluginScript

INTEGRATIONS = Path(__file__).parents[3] / "workspace_template" / "integrations"

DRIVERS = {
    "opencode": (
        "opencode/lineage.js",
        """
        const hooks = await plugin.default.server({ directory: "/home/ada/demo", worktree: "/home/ada" });
        const tell = (type, properties) => hooks.event({ event: { type, properties } });
        await tell("session.created", { info: { id: "ses_1" } });
        await tell("session.created", { info: { id: "ses_2", parentID: "ses_1" } });
        await tell("message.updated", { sessionID: "ses_1" });
        const ask = (sessionID) => hooks["experimental.chat.system.transform"]({ sessionID }, { system: [] });
        for (const sessionID of ["ses_1", "ses_1", "ses_2", undefined]) await ask(sessionID);
        const parts = [{ id: "prt_1", type: "text", text: "Mend it." }, { id: "prt_2", type: "file" }];
        for (const sessionID of ["ses_1", "ses_2"]) await hooks["chat.message"]({ sessionID }, { message: {}, parts });
        await tell("session.idle", { sessionID: "ses_2" });
        await tell("session.idle", { sessionID: "ses_1" });
        await hooks["experimental.session.compacting"]({ sessionID: "ses_2" }, { context: [] });
        await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, { context: [] });
        await tell("session.compacted", { sessionID: "ses_1" });
        for (const sessionID of ["ses_1", "ses_1"]) await ask(sessionID);
        await tell("constructor", { sessionID: "ses_1" });
        await hooks.dispose();
        """,
        [
            ("session-start", "ses_1"),
            ("other", "ses_1"),  # the prompt
            ("turn-end", "ses_1"),
            ("before-compaction", "ses_1"),
            ("compaction", "ses_1"),
            ("other", "ses_1"),  # the block again, behind the compaction
            ("session-end", "ses_1"),
        ],
    ),
    "opencode, version 2": (
        "opencode/lineage.js",
        """
        async function* told() {
          yield { type: "session.created", data: { sessionID: "ses_2", parentID: "ses_1" } };
          yield { type: "session.execution.succeeded", data: { sessionID: "ses_2" } };
          yield { type: "session.execution.started", data: { sessionID: "ses_1" } };
          const location = { directory: "/home/ada/demo" };
          yield { id: "evt_1", type: "session.execution.failed", data: { sessionID: "ses_1" }, location };
        }
        const context = { event: { subscribe: told } };
        const close = await plugin.default.setup(context);
        const closeOther = await plugin.default.setup(context);
        await new Promise((done) => setTimeout(done, 20));
        close();
        closeOther();
        """,
        [("turn-end", "ses_1"), ("session-end", "ses_1")],
    ),
    "pi": (
        "pi/lineage.ts",
        """
        const heard = {};
        const on = (name, handler) => {
          const earlier = heard[name] ?? (() => undefined);
          heard[name] = async (...said) => (await earlier(...said), handler(...said));
        };
        plugin.default({ on });
        const session = { getSessionId: () => "pi-1", getSessionFile: () => "/home/ada/pi-1.jsonl" };
        const context = { cwd: "/home/ada/demo", sessionManager: session };
        await heard.session_start({ reason: "startup" }, context);
        await heard.before_agent_start({ prompt: "Mend it." }, context);
        await heard.before_agent_start({ prompt: "Go on." }, context);
        await heard.agent_end({}, context);
        await heard.session_before_compact({ preparation: {} }, context);
        await heard.session_compact({ compactionEntry: { summary: "1. Goal." } }, context);
        await heard.before_agent_start({ prompt: "Go on." }, context);
        await heard.session_shutdown({ reason: "reload" }, context);
        await heard.session_shutdown(undefined, context);
        """,
        [
            ("session-start", "pi-1"),
            *[("other", "pi-1")] * 3,  # the prompts
            ("turn-end", "pi-1"),
            ("before-compaction", "pi-1"),
            ("other", "pi-1"),
            ("turn-end", "pi-1"),
            ("compaction", "pi-1"),
            ("session-end", "pi-1"),
        ],
    ),
    "openclaw": (
        "openclaw/index.mjs",
        """
        const heard = {};
        const on = (name, handler) => {
          const earlier = heard[name] ?? (() => undefined);
          heard[name] = async (...said) => (await earlier(...said), handler(...said));
        };
        plugin.default.register({ on });
        const context = { agentId: "main", sessionId: "oc-1", sessionKey: "chat:7" };
        await heard.session_start({ sessionId: "oc-1" }, context);
        await heard.before_compaction({ messageCount: 9 }, context);
        await heard.after_compaction({ messageCount: 3, sessionFile: "/home/ada/oc-1.jsonl" }, context);
        for (const prompt of ["Mend it.", "Go on.", "Go on."]) await heard.before_prompt_build({ prompt }, context);
        await heard.session_end({ sessionId: "oc-1", reason: "daily", sessionFile: "/home/ada/oc-1.jsonl" }, context);
        """,
        [
            ("session-start", "oc-1"),
            *[("other", "oc-1")] * 2,  # the prompts
            ("before-compaction", "oc-1"),
            ("compaction", "oc-1"),
            ("other", "oc-1"),
            ("session-end", "oc-1"),
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("case", DRIVERS)
def test_a_plugin_rings_with_what_the_hook_understands(tmp_path: Path, case: str) -> None:
    """The plugin as installed runs in node; what its command gets on stdin is read as the hook reads it."""
    harness = case.partition(",")[0]
    path, driver, expected = DRIVERS[case]
    heard = run_in_node(tmp_path, harness, (INTEGRATIONS / path).read_text(encoding="utf-8"), driver, len(expected))
    assert "other" not in {classify_event(payload["event"]) for payload in heard}
    assert {key for payload in heard for key in payload} <= list_payload_fields() | {"prompt"}
    assert {payload["prompt"] for payload in heard if payload["event"] == "prompt"} <= {"Mend it.", "Go on."}
    signals = [parse_hook_payload(harness, payload) for payload in heard]
    assert sorted((one.event, one.session_id) for one in signals if one) == sorted(expected)
    if harness == "pi":
        assert {one.transcript_path for one in signals if one} == {"/home/ada/pi-1.jsonl"}
        assert [one.summary for one in signals if one and one.summary] == ["1. Goal."]
    if harness == "openclaw":
        assert {one.lane for one in signals if one} == {"chat:7"}
    if harness == "opencode":
        assert {one.cwd for one in signals if one} == {"/home/ada/demo"}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_command_that_is_missing_breaks_no_harness(tmp_path: Path) -> None:
    text, _ = PluginScript("pi", (INTEGRATIONS / "pi" / "lineage.ts").read_text(), ["/no/such/lineage"]).install(
        "", FileMarks(), ""
    )
    (tmp_path / "plugin.mjs").write_text(text)
    driver = (
        'import * as plugin from "./plugin.mjs";\n'
        "plugin.default({ on: (name, handler) => handler({}, {}) });\n"
        'setTimeout(() => console.log("alive"), 100);\n'
    )
    (tmp_path / "driver.mjs").write_text(driver)
    done = subprocess.run(["node", "driver.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("alive\n", "")


def run_in_node(folder: Path, harness: str, template: str, driver: str, count: int) -> list[Any]:
    """What the plugin's command was given on stdin, once it was started `count` times."""
    bell = folder / "lineage"
    bell.write_text('#!/bin/sh\ncat > "$0-$$.part" && mv "$0-$$.part" "$0-$$.json"\n')
    bell.chmod(0o755)
    text, _ = PluginScript(harness, template, [str(bell), "hook", harness]).install("", FileMarks(), "plugin")
    (folder / "plugin.mjs").write_text(text)
    waiting = (
        'import { readdirSync } from "node:fs";\n'
        f'const rung = () => readdirSync(".").filter((name) => name.endsWith(".json")).length >= {count};\n'
        "for (let turn = 0; turn < 400 && !rung(); turn++) await new Promise((done) => setTimeout(done, 25));\n"
        "await new Promise((done) => setTimeout(done, 200));\n"
    )
    (folder / "driver.mjs").write_text(f'import * as plugin from "./plugin.mjs";\n{driver}\n{waiting}')
    subprocess.run(["node", "driver.mjs"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(path.read_text()) for path in sorted(folder.glob("lineage-*.json"))]


@pytest.mark.parametrize("case", ["opencode", "pi", "openclaw"])
def test_installing_changes_the_line_of_the_command_alone(case: str) -> None:
    path = DRIVERS[case][0]
    words = HookCommand(("/opt/lineage",), case, "/home/ada/memory", "default").argv
    template = (INTEGRATIONS / path).read_text(encoding="utf-8")
    text, _ = PluginScript(case, template, words).install("", FileMarks(), path)
    old, new = set(template.split("\n")), set(text.split("\n"))
    assert old - new == {f'const COMMAND = ["lineage", "hook", "{case}"];'}
    assert len(new - old) == 1
    assert [entry.argv for entry in PluginScript(case, template, []).find_entries(text, path)] == [words]
