"""Books: hand-editable notes of memory entries. `entry` comes first, then `book`, `rollover`, `book_edits`, `merge`."""
