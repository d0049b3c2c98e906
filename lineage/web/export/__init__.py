"""Exports to be read without lineage: a folder of static pages with search, or one session in one file.

The pages are those of the server, from the same templates; `links` says where each lies among the files.
"""
