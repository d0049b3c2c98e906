"""The blocks that new sessions begin with: what `lineage context` says of the project. (harnesses.md 0.4)

Prepared after every run, so that a session start is answered by reading one file. They are no larger than what the
harness that takes the least takes whole: none of them cuts what was laid out here.
"""

from lineage.core.injection import TOKENS
from lineage.harness.projects import project_of
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.knowledge.said import Knowledge


def prepare(house: House) -> int:
    """Writes the block of every agent and folder that a session was seen in, and of its project; how many changed."""
    seen = {(seen.agent_id, seen.cwd) for seen in house.telemetry.seen() if seen.cwd}
    places = sorted(seen | {(agent, project_of(cwd) or cwd) for agent, cwd in seen})
    knowledge = Knowledge(house)
    return sum(_prepared(house, agent, folder, knowledge) for agent, folder in places)


def _prepared(house: House, agent: str, folder: str, knowledge: Knowledge) -> bool:
    asked = Asked(agent_id=agent, project=folder, budget=min(house.settings.context.budget, TOKENS))
    block = context(house, asked, knowledge)
    return house.canon.blocks.put(agent, folder, f"{block.body}\n" if block.body else "")
