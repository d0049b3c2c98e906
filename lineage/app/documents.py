"""The documents of a workspace, and the harnesses' own transcripts on this machine.

Apart from `locations`, which every command imports: most of them need neither at their start.
"""

import os
from pathlib import Path

from lineage.app.locations import open_private_store, open_store
from lineage.documents import Documents
from lineage.pipeline.ingest.locate_transcript import HarnessHistories


def open_documents(root: Path) -> Documents:
    """Return the documents alone, without index or settings; the workspace's store is not asked yet."""
    return Documents(open_store(root), open_private_store(root))


def detect_machine() -> HarnessHistories:
    """Return access to the transcripts that harnesses keep for this user."""
    return HarnessHistories(Path.home(), os.environ)
