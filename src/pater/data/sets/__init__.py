"""The entries, a file for each kind of data set: its coding and the reason for it stand together.

Which label is positive is never stated in the paper; it follows from the table's ratio n+/n-.
"""
