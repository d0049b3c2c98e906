"""Embedding models behind one port: texts as vectors with small angles between similar meanings. Optional."""
