"""The surface for browsers and programs: `lineage serve`. (architecture: floors)

One process, one workspace, opened anew for each request in a thread of its own. `api` is the table of the JSON API and
`pages` that of the page for people; both name use cases of `lineage.pipeline`, and nothing here knows a file's name.
`guard` decides who may ask at all. Content of sessions and books is text on its way to a template that escapes it.
"""
