"""Beside the paper's experiment, by the same protocol: every learner of the package, other published learners of its
objective, and batch solutions as lines.

`learners` says who, `gradient` how those learn that the package does not offer, `lines` which batch solutions; `unit`
runs one run on one data set, `tables` makes of the rows what the report shows.
"""
