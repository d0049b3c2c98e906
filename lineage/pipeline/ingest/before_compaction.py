"""Before a compaction: keep the person's statements in the session, and prepare the block that follows it.

No capture is made. The agent forgets with the compaction what it was told in its first hour; the block behind it says
it again. (usefulness: What an agent is given)
"""

from lineage.core.base.context_blocks import ContextFile
from lineage.core.base.hook_output import MAX_TOKENS
from lineage.core.base.hook_protocol import session_block_name
from lineage.core.base.naming import is_test_session
from lineage.core.capture.request import Request
from lineage.extraction.admission_policy import CandidateContext
from lineage.pipeline.capture.session import follow_origin, load_session, session_lock
from lineage.pipeline.capture.session_end import select_new_turns
from lineage.pipeline.capture.source import read_source
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.statements import keep_statements
from lineage.workspace.workspace import Workspace


def prepare_compaction(ws: Workspace, request: Request) -> None:
    """Keep the statements of a session's uncaptured turns, and write the block for its next start.

    `request` is that of the session's end. A private, temporary or removed session leaves neither.
    """
    request, source = follow_origin(ws, request, read_source(ws, request))
    with session_lock(ws, request.token):
        session = load_session(ws, request.token, source.parent_token)
        is_hidden = session.is_private(request) or is_test_session(request.identity, source.project)
        if is_hidden or source.parent_token or ws.documents.tombstones.has(request.token):
            return
        if ws.settings.knowledge.extract:
            turns = select_new_turns(ws, session, request, source)
            context = CandidateContext(request.token, request.identity.agent_id, has_data=source.has_data)
            keep_statements(ws, context, turns, request.captured_at)
        agent, budget = request.identity.agent_id, min(ws.settings.context.budget, MAX_TOKENS)
        block = build_context(ws, ContextRequest(agent, source.project, session=request.token, budget=budget))
        name = session_block_name(request.identity.session_id)
        ws.documents.context_cache.put(agent, name, ContextFile(name, block.entry_ids, block.body))
