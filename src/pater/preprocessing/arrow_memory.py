"""The numbers of Arrow arrays as NumPy arrays, read from their buffers.

Arrow's own conversion imports pandas where it is installed, which takes longer than everything else before the first
row.

Does not import Arrow: it knows only the attributes of its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def floats_of(array: Any, arrow: Any) -> NDArray[np.float64]:
    """An array of numbers or truth values as floats, with NaN for nulls."""
    types, kind = arrow.types, array.type
    if types.is_boolean(kind):
        values = _bits(array.buffers()[1], array).astype(np.float64)
    elif types.is_integer(kind) or types.is_floating(kind):
        values = _stored(array, np.dtype(kind.to_pandas_dtype())).astype(np.float64)
    else:
        return np.array(array.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return or_else(values, array, np.nan)


def whole_numbers_of(array: Any, absent: int) -> NDArray[np.int64]:
    """An array of whole numbers, with `absent` for nulls."""
    return or_else(_stored(array, np.dtype(array.type.to_pandas_dtype())).astype(np.int64), array, absent)


def moments_of(array: Any, arrow: Any) -> NDArray[Any]:
    """An array of dates, moments or spans in NumPy's microseconds, with NaT for nulls."""
    types, kind = arrow.types, array.type
    what = "m8" if types.is_duration(kind) else "M8"
    unit = "D" if types.is_date32(kind) else getattr(kind, "unit", "ms")  # days are stored in four bytes
    stored = _stored(array, np.dtype(np.int32 if unit == "D" else np.int64)).astype(f"{what}[{unit}]")
    return or_else(stored.astype(f"{what}[us]"), array, np.array("NaT", f"{what}[us]"))


def _stored(array: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """The values in the buffer; nulls may hold anything."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), kind)
    return np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)


def _bits(buffer: Any, array: Any) -> NDArray[np.uint8]:
    if buffer is None or not len(array):
        return np.zeros(len(array), np.uint8)
    first, rest = divmod(array.offset, 8)
    bits = np.frombuffer(buffer, np.uint8, -(-(rest + len(array)) // 8), first)
    return np.unpackbits(bits, count=rest + len(array), bitorder="little")[rest:]


def or_else(values: NDArray[Any], array: Any, absent: Any) -> NDArray[Any]:
    """The values, which are a copy of the buffer already, with `absent` for nulls."""
    if array.null_count:
        values[_bits(array.buffers()[0], array) == 0] = absent
    return values
