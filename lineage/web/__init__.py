"""The surface for browsers and programs: `lineage serve`.

One process serves one workspace, opened anew for each request in a thread of its own. `api` is the table of the JSON
API, `pages` the table of the page for people; both name use cases of `lineage.pipeline`, and no file names. `guard`
decides on access. Texts of sessions and books go through a template that escapes them. (architecture: layers)
"""
