"""A fleet: machines that share one bucket and one index, and nothing may be lost, doubled or brought back.

A machine is a process group with a home, a spool and a clock of its own. Some are killed at any point and start again,
one is cut off from both servers for a while, and sessions are removed while others still signal their end.

    plan        which agent of which machine ends or removes which session, and in which order
    agent       one agent's process: does its share, and notes what is done
    servers     the bucket, the database, and a wire to both that can be cut
    conducting  starts the machines, kills, cuts and waits
    judging     what lies there afterwards, compared with what should
"""
