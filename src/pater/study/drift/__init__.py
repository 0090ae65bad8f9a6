"""Besides the paper's experiment: streams whose rare class moves, and how well learners follow it.

`streams` makes them, `learners` lists the learners, `unit` runs them all along one stream, with each row judged before
it is learned from; `tables`, `figures` and `page` turn the rows into what the report shows.
"""
