"""Beside the paper's experiment, by the same protocol: every learner of the package, and batch solutions as lines.

`learners` says who, `lines` which batch solutions, `unit` runs one run on one data set, `tables` makes of the rows what
the report shows.
"""
