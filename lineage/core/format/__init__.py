"""The files of a workspace: how each is parsed and rendered, byte for byte.

`body`, `resanitization` and `frontmatter` come first, then `documents` and `manifest`. `turns` comes before
`transcript` and `checkpoint`, `digest` before `sentence` and `summary`. `job` stands alone.
"""
