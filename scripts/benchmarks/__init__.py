"""Benchmarks: what lineage costs beside a floor, the least work that has the same result.

Floor and subject run in turn in the same process environment, and only the ratio of their medians means anything:
the same code differs two- to threefold within minutes on a shared machine. Nothing here asserts a time.

    words · transcripts · corpus   what is measured on: seeded, of realistic sizes, in a temporary folder
    floors · plain_capture         the floors: small programs of their own
    recording · launched · alone   counted work, whole commands, peaks of memory
    cases                          the pairs of floor and subject, by name
    pairing · table                running them in turn, printing them
"""
