"""The 31 data sets of the paper: where they come from, how they are coded, and why.

``load`` reads one, ``available`` lists those at hand, ``fetch`` downloads, and ``DATA_SETS`` is the registry. No data
is part of this package.
"""

from pater.data.download import fetch
from pater.data.entry import Entry
from pater.data.errors import DataError
from pater.data.loading import DataSet, available, load
from pater.data.registry import DATA_SETS

__all__ = ["DATA_SETS", "DataError", "DataSet", "Entry", "available", "fetch", "load"]
