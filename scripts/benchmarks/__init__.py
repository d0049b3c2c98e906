"""Benchmarks: what lineage costs beside a floor, the least work that has the same result.

Floor and subject run in turn in the same process environment, and only the ratio of their medians means anything:
the same code differs two- to threefold within minutes on a shared machine. Nothing here asserts a time.

    words · transcripts · written · rows   what is measured on: seeded, of realistic sizes
    corpus                                 kept for a day in a cache, measured on as copies; `scripts/bench --clean`
    floors · plain_capture · plain_signal · rivals   what is compared to: small programs of their own
    recording · launched · alone · family  counted work, whole commands, peaks of memory
    starting · capturing · rendering · searching · reindexing · importing · watching · writing
                                           the pairs of floor and subject, which `cases` names
    goals (goals.toml) · pairing · table   what is to be reached, running them in turn, printing them
    peers · plot                           other tools on the same files; costs against the size of the corpus
"""
