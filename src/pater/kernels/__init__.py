"""Compiled loops over rows, and the state that they change. `rules` is the paper on one page."""
