"""Notes by python-frontmatter, in the common subset of JSON and YAML, keys in order (format: Frontmatter)."""

from collections.abc import Mapping
from typing import Any

from frontmatter import Post
from frontmatter.default_handlers import BaseHandler

from lineage.core.format.frontmatter import block, strict_yaml
from lineage.errors import FormatError

_MAX_CHARACTERS = 1_000_000


class FrontmatterHandler(BaseHandler):
    """A strict handler: FormatError for no block, duplicate keys, tags, anchors and values of other types."""

    FM_BOUNDARY = block.BOUNDARY
    START_DELIMITER = END_DELIMITER = "---"

    def split(self, text: str) -> tuple[str, str]:
        """Return the block and the body. The body is everything after the newline of the closing `---`."""
        return block.split_block(text)

    def load(self, fm: str) -> dict[str, Any]:
        """Return the metadata that a block holds."""
        if len(fm) > _MAX_CHARACTERS:
            raise FormatError("the frontmatter is larger than 1 MB")
        # Nearly every block is in our own form, and json reads that ten times as fast as yaml does.
        meta = block.parse_own_block(fm)
        return strict_yaml.parse(fm) if meta is None else meta

    def export(self, metadata: Mapping[str, object], **_: object) -> str:
        """Return the block as text. Raises TypeError for a value of another type."""
        return block.dump_block(metadata)

    def format(self, post: Post, **kwargs: object) -> str:
        """Return a whole note, with the newline that `frontmatter.loads` strips unless `final_newline=False`."""
        body = post.content
        # A claim or a tombstone may have no body at all: an empty one gets no newline.
        end = "\n" if kwargs.get("final_newline", True) and body and not body.endswith("\n") else ""
        return f"---\n{self.export(post.metadata)}---\n{body}{end}"


_HANDLER = FrontmatterHandler()


def build_post(meta: Mapping[str, object], body: str) -> Post:
    """Return the post of these properties, in their order, with `body` untouched."""
    post = Post(body, _HANDLER)
    # Not passed as keyword arguments: a property may be called `content` or `handler`.
    post.metadata = {**meta}
    return post


def load(text: str) -> Post:
    """Return a note's post, its body byte for byte. Raises FormatError where `FrontmatterHandler` does."""
    fm, body = _HANDLER.split(text)
    return build_post(_HANDLER.load(fm), body)


def dump(post: Post) -> str:
    """Return the note of a post, its body byte for byte. Raises TypeError for a value of another type."""
    return _HANDLER.format(post, final_newline=False)
