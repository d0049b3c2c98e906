"""Search without an index: queries, words of five languages, spelling, passages and vectors.

`segmentation` and `language` come before `query`; the other modules stand alone.
"""
