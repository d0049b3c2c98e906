"""The files of a workspace: how each is parsed and rendered, byte for byte."""
