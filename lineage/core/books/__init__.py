"""Books: hand-editable notes of memory entries. `entry` comes first, then `book`, `book_edits`, `merge`."""
