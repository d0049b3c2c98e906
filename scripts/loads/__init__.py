"""Load: many processes capture into one workspace at once, and nothing may be lost, torn or doubled.

Real files, real databases, real locks; each process opens the workspace itself. Every session is ended once by as many
processes as there are retries, at about the same time, each with another clock.

    sessions   what is captured, and which process ends which session when
    working    one process: ends its share and notes how each end came out
    judging    what lies there afterwards, compared with what should
"""
