"""What workers have done before they are born: this is imported by the process that they are forked from.

Imports and the compiler's own beginning take most of a second, once here instead of once in each of them.
"""

from __future__ import annotations

import importlib

import numpy as np

from .startup import without_blas

without_blas()
for _name in ("pater.stream.shards", "pater.cli.processes"):
    importlib.import_module(_name)
importlib.import_module("pater.formats.wide").how_many(np.zeros(1, np.uint8), 0)
