"""A fence around data in a prompt that the data cannot close. (reliability: poisoned memory)"""

import hashlib
import itertools

TAG_DIGITS = 12
_NAME = "record-"
TAG_LENGTH = len(_NAME) + TAG_DIGITS


def build_tag(data: str, digits: int = TAG_DIGITS) -> str:
    """A tag's name that stands nowhere in the data, however it is written; always the same for the same data.

    >>> build_tag("one"), build_tag("two")
    ('record-d7ccbcbb528b', 'record-c23da6571a31')
    """
    lowered = data.lower()
    for attempt in itertools.count():
        name = _NAME + hashlib.sha256(f"{attempt}\n{data}".encode("utf-8", "replace")).hexdigest()[:digits]
        if name not in lowered:
            break
    return name
