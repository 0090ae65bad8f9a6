"""Beside the paper's experiment: streams whose rare class moves, and how well learners follow it.

`streams` makes them, `learners` says who learns, `unit` runs everyone along one stream, each row judged before it is
learned from; `tables`, `figures` and `page` make of the rows what the report shows.
"""
