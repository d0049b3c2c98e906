"""Search without an index: queries, words of five languages, spelling, passages and vectors."""
