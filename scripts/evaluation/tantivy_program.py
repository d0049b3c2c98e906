"""A program that ranks passages by tantivy with its English stemmer; it runs in the bench's environment.

It reads lines of JSON: [group, session, passage] up to an empty line, then [group or null, words], each of which it
answers with the sessions of the best passages.
"""

import json
import sys
from typing import Any

import tantivy

_MEMORY = 50_000_000
_FOUND = 200  # passages


def main() -> None:
    builder = tantivy.SchemaBuilder().add_text_field("body", tokenizer_name="en_stem")
    schema = builder.add_text_field("session", stored=True, tokenizer_name="raw").build()
    groups: dict[str | None, Any] = {}
    while line := sys.stdin.readline().strip():
        group, session, passage = json.loads(line)
        for name in (group, None):
            if name not in groups:
                index = tantivy.Index(schema)
                groups[name] = index, index.writer(_MEMORY, 1)
            groups[name][1].add_document(tantivy.Document(body=passage, session=session))
    for index, writer in groups.values():
        writer.commit()
        index.reload()
    while line := sys.stdin.readline().strip():
        group, words = json.loads(line)
        index = groups[group][0]
        searcher = index.searcher()
        hits = searcher.search(index.parse_query(" ".join(words), ["body"]), _FOUND).hits
        print(json.dumps([searcher.doc(address)["session"][0] for _, address in hits]), flush=True)


if __name__ == "__main__":
    main()
