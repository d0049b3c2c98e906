"""The surface for agents: `lineage mcp`, a server of the Model Context Protocol on stdin and stdout.

One process serves one agent, named when it is started; nothing that is asked for leaves its reach. What it answers is
bounded and framed as data, whoever said it. `tools` and `resources` name use cases of `lineage.pipeline`; only `server`
knows the SDK. Removing, confirming and forgetting are the user's, and not offered. (architecture: floors)
"""
