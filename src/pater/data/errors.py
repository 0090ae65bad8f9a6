"""The one exception of the data package."""


class DataError(Exception):
    """A data set could not be found, read, verified or downloaded.

    The message names the file (and the line or the address where there is one) and says what to do.
    """
