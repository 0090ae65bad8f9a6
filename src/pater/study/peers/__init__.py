"""Besides the paper's experiment, by the same protocol: every learner of the package, other published learners of its
objective, and batch solutions as lines.

`learners` lists them, `gradient` has those that the package does not offer, `lines` the batch solutions; `unit` does
one run on one data set, `tables` turns the rows into what the report shows.
"""
