"""What memory gives at a prompt or an action: quotes, and how they are written."""

_TITLE_CHARS = 40


class RecalledItem:
    """A passage or an entry that is given. `origin` is the token of its session, or the scope of its book.

    `passage` is all that its text was cut from. One that `is_superseded` says so in its title, and the item given with
    it because it took its place `is_successor`.
    """

    __slots__ = ("at", "id", "is_successor", "is_superseded", "kind", "origin", "passage", "text", "title")

    def __init__(self, id: str, text: str, origin: str, title: str, at: str, kind: str, passage: str = "") -> None:
        self.id, self.text, self.origin, self.passage = id, text, origin, passage
        self.title, self.at, self.kind = title, at, kind
        self.is_successor = self.is_superseded = False

    @property
    def tokens(self) -> int:
        """Its cost; a token is four characters."""
        return -(-len(format_item(self)) // 4)


def format_item(item: RecalledItem) -> str:
    """Return an item as it is given: its day and kind, then its text."""
    title = f" · {item.title[:_TITLE_CHARS]}" if item.title else ""
    return f"[{item.at[:10]} · {item.kind}{title}]\n{item.text}"
