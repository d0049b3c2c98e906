"""The surface for agents: `lineage mcp`, a server of the Model Context Protocol on stdin and stdout.

One process serves one agent, named at its start; no request reaches beyond that agent's memory. Every answer is bounded
and framed as data. `tools` and `resources` name use cases of `lineage.pipeline`; only `server` knows the SDK. Removing,
confirming and forgetting stay with the user and are not offered. (architecture: layers)
"""
