"""The entries, a file for each kind of data set, each coding together with its reason.

Which label is positive is never stated in the paper; it follows from the table's ratio n+/n-.
"""
