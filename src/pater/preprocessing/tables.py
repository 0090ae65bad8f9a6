"""Tables of any library as columns: pandas, polars, Arrow, rows of dicts, matrices.

Knows `columns`, `spans`, and the interfaces of those libraries' frames; imports none of the libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow_memory import floats_of, moments_of, or_else, whole_numbers_of
from .columns import Column, Numbers, Texts, Times, rows_in
from .spans import texts_in
from .text_kernels import used_texts

LIBRARIES = ("pandas", "polars", "pyarrow")
NOT_COLLECTED = "X is a LazyFrame, which holds no rows yet: call its .collect() first."
TRUTHS = ["False", "True"]  # truth values as texts, as in CSV
_NO_CELLS = (list, dict, set, tuple, bytes, np.ndarray)


def table_of(X: Any, names: Sequence[str] | None = None) -> dict[str, Column]:
    """The columns of a table.

    `names` are those of an earlier table: rows of dicts get these columns, with nothing where a key is absent, and a
    matrix, which has no names, gets these.
    """
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse input is not supported: a table is encoded from its raw columns.")
    if type(X).__name__ == "LazyFrame":
        raise TypeError(NOT_COLLECTED)
    library = type(X).__module__.partition(".")[0]
    if library in LIBRARIES and hasattr(X, "columns"):
        return _checked(_of_frame(X, library))
    if isinstance(X, Mapping):
        _check_columns(X)
        return _checked((name, _column(name, values)) for name, values in X.items())
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return _of_dicts(X, names)
    return _of_matrix(X, names)


def _check_columns(X: Mapping[Any, Any]) -> None:
    """Raise a TypeError if the mapping has single values, as a row has, in place of columns."""
    for name, values in X.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TypeError(
                f"column {str(name)!r} is one value, {values!r:.60}. Give rows as a list of dicts, [{{...}}], and "
                "columns as a dict of lists."
            )


def _checked(columns: Iterable[tuple[Any, Column]]) -> dict[str, Column]:
    table: dict[str, Column] = {}
    for name, column in columns:
        if str(name) in table:
            raise ValueError(f"the table has two columns named {str(name)!r}.")
        table[str(name)] = column
    rows_in(table)
    return table


def _of_frame(frame: Any, library: str) -> Iterable[tuple[Any, Column]]:
    readers: dict[str, Callable[[Any], Column]] = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": of_arrow}
    for k, name in enumerate(frame.column_names if library == "pyarrow" else frame.columns):
        series = frame.iloc[:, k] if library == "pandas" else frame.column(k) if library == "pyarrow" else frame[name]
        try:
            yield name, readers[library](series)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise TypeError(f"column {str(name)!r} cannot be read: {error}") from None


def _of_pandas(series: Any) -> Column:
    kind = getattr(series.dtype, "kind", "O")
    if hasattr(series, "cat"):
        names = [str(name) for name in series.cat.categories]
        return Texts(np.asarray(series.cat.codes, np.int64), names, declared=True)
    if hasattr(series.dtype, "pyarrow_dtype"):
        return of_arrow(sys.modules["pyarrow"].array(series.array))
    if kind == "M":
        clock = series.dt.tz_localize(None) if getattr(series.dt, "tz", None) is not None else series
        return Times(_seconds(clock.to_numpy(dtype="M8[us]")))
    if kind == "m":
        return Numbers(_seconds(series.to_numpy(dtype="m8[us]")))
    if kind in "biuf":
        values = np.ascontiguousarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return _truths(values) if kind == "b" else Numbers(values)
    if kind == "c":
        raise TypeError("it holds complex numbers")
    codes, values = series.factorize()
    for place, value in enumerate(values if kind == "O" else ()):
        if isinstance(value, _NO_CELLS):
            raise TypeError(f"row {int(np.argmax(codes == place))} holds {value!r:.60}.")
    if kind == "O" and _may_hide_truths(values) and bool in {type(value) for value in series}:
        return _of_objects(list(series), series.name)  # pandas takes 1 and True for one value: the first that comes
    return _texts(np.asarray(codes, np.int64), list(values))


def _may_hide_truths(values: Iterable[Any]) -> bool:
    return any(not isinstance(value, str) and value in (0, 1) for value in values)


def _of_polars(series: Any) -> Column:
    polars, kind = sys.modules["polars"], series.dtype
    if kind.is_numeric() or kind == polars.Boolean:
        values = _plain(series.cast(polars.Float64))
        return _truths(values) if kind == polars.Boolean else Numbers(values)
    if kind == polars.Datetime or kind == polars.Date:
        clock = series.cast(polars.Datetime("us")) if kind == polars.Date else series.dt.replace_time_zone(None)
        return Times(_plain(clock.cast(polars.Datetime("us")).cast(polars.Int64).cast(polars.Float64)) / 1e6)
    if kind == polars.Duration:
        return Numbers(_plain(series.cast(polars.Duration("us")).cast(polars.Int64).cast(polars.Float64)) / 1e6)
    if kind == polars.Null:
        return Texts(np.full(len(series), -1, np.int64), [])
    if kind.is_nested() or kind == polars.Binary or kind == polars.Object:
        raise TypeError(f"it is of type {kind}")
    texts = series.cast(polars.String)
    codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return Texts(codes, texts.unique().drop_nulls().sort().to_list(), kind in (polars.Categorical, polars.Enum))


def _plain(series: Any) -> NDArray[np.float64]:
    return np.array(series.fill_null(np.nan).to_numpy(), np.float64)


def of_arrow(array: Any, *, declared: bool | None = None) -> Column:
    """An Arrow array, chunked or not, as a column; by default, a dictionary declares a category."""
    arrow = sys.modules["pyarrow"]
    types, kind = arrow.types, array.type
    if isinstance(array, arrow.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks() if types.is_dictionary(kind) else array.combine_chunks()
        if isinstance(array, arrow.ChunkedArray):  # as old versions of pyarrow give it
            array = array.chunk(0) if array.num_chunks else arrow.array([], kind)
    if types.is_boolean(kind):
        return _truths(floats_of(array, arrow))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return Numbers(floats_of(array, arrow))
    if types.is_timestamp(kind):
        if kind.tz is not None:
            import pyarrow.compute as compute

            array = compute.local_timestamp(array)
        return Times(_seconds(moments_of(array, arrow)))
    if types.is_date(kind):
        return Times(_seconds(moments_of(array, arrow)))
    if types.is_duration(kind):
        return Numbers(_seconds(moments_of(array, arrow)))
    if types.is_null(kind):
        return Texts(np.full(len(array), -1, np.int64), [])
    if types.is_time(kind):
        return _of_objects(array.to_pylist(), "")
    is_coded = types.is_dictionary(kind)
    declared = is_coded if declared is None else declared
    value = kind.value_type if is_coded else kind
    if not (types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)) and not is_coded:
        raise TypeError(f"it is of type {kind}")
    if not declared and types.is_string(value):
        return _spans(whole_numbers_of(array.indices, -1), array.dictionary) if is_coded else _spans(None, array)
    coded = array if is_coded else array.dictionary_encode()
    return _texts(whole_numbers_of(coded.indices, -1), coded.dictionary.to_pylist(), declared=declared)


def _spans(codes: NDArray[np.int64] | None, texts: Any) -> Texts:
    """The distinct texts of an Arrow array, in the order of the rows with these codes, or with one text each.

    Arrow finds them, too, but only after importing a large part of itself that nothing else here needs.
    """
    places = or_else(np.arange(len(texts)), texts, -1)
    if codes is None:
        codes = places
    elif texts.null_count:
        codes = np.append(places, -1)[codes]
    _, offsets, data = texts.buffers()
    bounds = np.zeros(1, np.int32)
    if len(texts):
        bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
    whole = b"" if data is None else data.slice(bounds[0], bounds[-1] - bounds[0]).to_pybytes()
    whole.decode("utf-8")  # or a ValueError
    bounds = (bounds - bounds[0]).astype(np.int64)
    used = used_texts(np.frombuffer(whole, np.uint8), bounds, codes)
    return texts_in(whole, bounds[used], bounds[used + 1], np.array([0, used.size]), codes[None])[0]


def _truths(values: NDArray[np.float64]) -> Texts:
    """Truth values, given as 0, 1 and NaN, as texts."""
    return Texts(np.where(np.isnan(values), -1, values).astype(np.int64), TRUTHS)


def _seconds(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Moments or spans in microseconds as seconds; NaN for NaT."""
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)


def _texts(codes: NDArray[np.int64], values: list[Any], *, declared: bool = False) -> Texts:
    """Coded values as texts. Two values that are written alike become one; None becomes nothing."""
    names: dict[str, int] = {}
    places = [-1 if value is None else names.setdefault(str(value), len(names)) for value in values]
    if len(names) == len(values):
        return Texts(codes, list(names), declared)
    return Texts(np.array([*places, -1], np.int64)[codes], list(names), declared)


def _column(name: Any, values: Any) -> Column:
    """A column from an array, a list, or a column."""
    if isinstance(values, (Numbers, Texts, Times)):
        return values
    array = _with_gaps(values) if isinstance(values, np.ndarray) else None
    if array is None or array.dtype == object:
        return _of_objects(list(values if array is None else array), name)
    if array.ndim != 1:
        raise ValueError(f"column {str(name)!r} must have one dimension, not the shape {array.shape}.")
    kind = array.dtype.kind
    if kind == "b":
        return Texts(array.astype(np.int64), TRUTHS)
    if kind in "iuf":
        return Numbers(np.ascontiguousarray(array, np.float64))
    if kind in "Mm":
        seconds = _seconds(array.astype(f"{kind}8[us]"))
        return Times(seconds) if kind == "M" else Numbers(seconds)
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {str(name)!r} holds complex numbers.")
    if kind in "UT":
        names, codes = np.unique(array, return_inverse=True)
        return Texts(codes.astype(np.int64), names.tolist())
    raise TypeError(f"column {str(name)!r} cannot be read: it is of type {array.dtype}.")


def _with_gaps(array: NDArray[Any]) -> NDArray[Any]:
    """An array in which masked values are missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    gap = {"f": np.nan, "M": "NaT", "m": "NaT"}.get(array.dtype.kind)
    found = np.array(array, object if gap is None else array.dtype)
    found[np.ma.getmaskarray(array)] = gap
    return found


def _of_objects(values: list[Any], name: Any) -> Column:
    """A column of Python objects: numbers if all are numbers or nothing, else texts, which may be read as dates.

    Truth values are texts, whatever else the column holds.
    """
    if all(
        isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
        for value in values
        if not _is_nothing(value)
    ):
        try:
            return Numbers(np.array([np.nan if _is_nothing(value) else float(value) for value in values], np.float64))
        except OverflowError:
            pass
    names: dict[str, int] = {}
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        if isinstance(value, _NO_CELLS):
            raise TypeError(f"column {str(name)!r} cannot be read: row {row} holds {value!r:.60}.")
        codes[row] = -1 if _is_nothing(value) else names.setdefault(str(value), len(names))
    return Texts(codes, list(names))


def _is_nothing(value: Any) -> bool:
    """Whether an object stands for a missing value; pandas' NA cannot be compared with anything."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _of_dicts(rows: Sequence[Mapping[Any, Any]], names: Sequence[str] | None) -> dict[str, Column]:
    keys = {key: str(key) for key in dict.fromkeys(key for row in rows for key in row)}
    found = list(dict.fromkeys(keys.values()))
    if len(found) < len(keys):
        twice = next(name for name in found if list(keys.values()).count(name) > 1)
        raise ValueError(f"two keys of the rows are both written {twice!r}.")
    for name in names or ():
        if name not in found:  # a slip would leave the whole column missing
            alike = next((key for key in found if key.strip().casefold() == name.strip().casefold()), None)
            if alike is not None and alike not in (names or ()):
                raise ValueError(f"the rows have a key {alike!r}, which is not known, but no key {name!r}.")
    if any(not isinstance(key, str) for key in keys):
        rows = [{keys[key]: value for key, value in row.items()} for row in rows]
    return {name: _of_objects([row.get(name) for row in rows], name) for name in names or found}


def _of_matrix(X: Any, names: Sequence[str] | None) -> dict[str, Column]:
    masked = isinstance(X, np.ma.MaskedArray)
    array = X if masked else np.asarray(X, dtype=_element(X) if isinstance(X, (list, tuple)) else None)
    if array.ndim != 2:
        raise ValueError(f"a table has rows and columns; got an array of shape {array.shape}. Reshape your data.")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{j}" for j in range(array.shape[1])]
    return {name: _column(name, array[:, j]) for j, name in enumerate(names)}


def _element(rows: Sequence[Any]) -> Any:
    """The type to convert rows to: object if any holds texts or truth values, since NumPy would make all one type."""
    some = (value for row in rows if isinstance(row, (list, tuple)) for value in row)
    return object if any(isinstance(value, (str, bool)) for value in some) else None
