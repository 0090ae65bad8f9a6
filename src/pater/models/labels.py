"""From labels to the small numbers that the passes compare.

Knows NumPy, Numba, `masks` and `truth`. Integer, boolean and float labels are looked up in a short table, in one
compiled scan that costs a nanosecond or two a row; sorting, as `np.unique` does, would cost more than learning from a
narrow row.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import kernel
from .masks import check_unmasked
from .truth import are_no_truths, of_the_kind, spelled_alike

TABLE_SIZE = 64
STRETCH = 512
_CONTINUOUS = (
    "Unknown label type: continuous. {name} holds {label} in row {row}; a classifier needs class labels: whole "
    "numbers, booleans or strings."
)
NO_ROWS = np.zeros(0, np.int64)


class Encoded(NamedTuple):
    """Labels as codes: first the known classes in their order, then new ones in order of appearance."""

    codes: NDArray[np.int64]
    new: NDArray[Any]
    first_rows: NDArray[np.int64]  # where each new label appears first


def as_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """`y` as one column of labels, or an error that names the row without one."""
    if isinstance(y, np.ma.MaskedArray):
        check_unmasked(y, name)
    labels = np.asarray(y)
    if labels.dtype.kind == "T":
        labels = labels.astype(object)  # whose missing values are seen below
    if labels.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {labels.shape} instead.")
    if not labels.dtype.isnative:
        labels = labels.astype(labels.dtype.newbyteorder("="))
    kind = labels.dtype.kind
    if kind == "f":
        finite = np.isfinite(labels)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"{name} contains {'NaN' if np.isnan(labels[row]) else 'infinity'} in row {row}.")
        whole = labels == np.trunc(labels)
        if not whole.all():
            row = int(np.argmin(whole))
            raise ValueError(_CONTINUOUS.format(name=name, label=labels[row], row=row))
    elif kind == "O":
        for row, label in enumerate(labels):
            if label is None or type(label).__name__ == "NAType" or label != label:
                raise ValueError(f"{name} contains NaN in row {row}: every row needs a label.")
            if not isinstance(label, str | int | float | np.integer | np.floating | np.bool):
                raise TypeError(f"{name} holds {label!r} in row {row}; a label is a number, a boolean or a string.")
            if isinstance(label, float | np.floating) and not np.isfinite(label):
                raise ValueError(f"{name} contains infinity in row {row}.")
            if isinstance(label, float | np.floating) and label != int(label):
                raise ValueError(_CONTINUOUS.format(name=name, label=label, row=row))
        if len({isinstance(label, str) for label in labels}) > 1:
            raise TypeError(f"{name} mixes strings and numbers. Use labels of one type.")
    elif kind not in "iubUS":
        raise ValueError(f"Unknown label type: {name} has dtype {labels.dtype}; use numbers, booleans or strings.")
    return labels


def _writable(labels: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The labels as a plain array, copied if read-only, as no kernel is compiled for that."""
    if labels.dtype == dtype and labels.flags.carray:
        return labels
    return np.require(labels, dtype, ("C", "W"))


@kernel
def _scan(y, table, n_known, codes, first_rows):
    """Fill `codes` and append unseen labels to `table`; return how many it holds, or −1 when it is full.

    Where only the first two labels occur, as is usual, a stretch is done in vector registers.
    """
    found = n_known
    for start in range(0, y.size, STRETCH):
        stop = min(start + STRETCH, y.size)
        others = 1
        if found >= 2:
            others = 0
            for i in range(start, stop):
                codes[i] = y[i] == table[1]
                others += (y[i] != table[0]) & (y[i] != table[1])
        if others > 0:
            for i in range(start, stop):
                place = 0
                while place < found and table[place] != y[i]:
                    place += 1
                if place == found:
                    if found == table.size:
                        return -1
                    table[found] = y[i]
                    first_rows[found - n_known] = i
                    found += 1
                codes[i] = place
    return found


def _are_codes(labels: NDArray[Any]) -> bool:
    """Whether these are 0 and 1, both present, in the form that a kernel takes."""
    return bool(labels.dtype == np.int64 and labels.flags.carray and labels.min() == 0 and labels.max() == 1)


def ranks(labels: NDArray[Any]) -> NDArray[np.intp]:
    """The rank of each label."""
    return np.argsort(np.argsort(labels, kind="stable"), kind="stable")


def in_order(classes: NDArray[Any], codes: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes sorted, and the codes of labels among them."""
    rank = ranks(classes)
    return (classes, codes) if (rank == np.arange(rank.size)).all() else (np.sort(classes), rank[codes])


def classes_and_codes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes, sorted, and the place of each label among them, which may be the labels as they are."""
    if _are_codes(labels):
        return np.array([0, 1]), labels
    encoded = encode(labels, labels[:0])
    return in_order(encoded.new, encoded.codes)


def is_text(labels: NDArray[Any]) -> bool:
    """Whether these labels, of which there is at least one, are text."""
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def kind_of(labels: NDArray[Any]) -> str:
    """What these labels, of which there is at least one, are: bytes and text are never equal, even if spelled alike."""
    return "bytes" if labels.dtype.kind == "S" else "text" if is_text(labels) else "numbers"


def kind_of_label(label: Any) -> str:
    """What a label is, as `kind_of` says of many."""
    return "bytes" if isinstance(label, bytes) else "text" if isinstance(label, str) else "numbers"


def rounded(known: NDArray[Any], new: NDArray[Any]) -> list[Any]:
    """Those of the known classes and new ones that NumPy's common type of both cannot hold exactly."""
    if new.dtype == known.dtype or not known.size or not new.size or is_text(new):
        return []
    both = [*known.tolist(), *new.tolist()]
    held = np.concatenate([known, np.asarray(new.tolist()) if new.dtype.kind == "O" else new]).tolist()
    return [label for label, as_held in zip(both, held, strict=True) if label != as_held]


def _encode_objects(labels: NDArray[Any], known: NDArray[Any]) -> Encoded:
    places = {label: place for place, label in enumerate(known.tolist())}
    codes = np.fromiter((places.setdefault(label, len(places)) for label in labels.tolist()), np.int64, labels.size)
    first_rows = np.empty(len(places), np.int64)
    first_rows[codes[::-1]] = np.arange(labels.size)[::-1]  # of several rows the first is written last
    new = np.empty(len(places) - known.size, object)
    new[:] = list(places)[known.size :]
    return Encoded(codes, new, first_rows[known.size :])


def _exact(labels: NDArray[Any], others: NDArray[Any]) -> bool:
    """Whether these labels stay exact in a table that also holds the others, as those of most types always do."""
    if labels.dtype.kind == "f" or labels.dtype.itemsize < 8 or labels.size == 0:
        return labels.dtype.itemsize <= 8
    if others.dtype.kind == "f":
        return bool(labels.min() >= -(1 << 53) and labels.max() <= 1 << 53)
    return bool(labels.dtype.kind == "i" or labels.max() < 1 << 63)


def encode(labels: NDArray[Any], known: NDArray[Any]) -> Encoded:
    """The code of each label: its place in `known`, or a number after these for new labels.

    True and False are found among the classes however they are written.
    """
    of_one_kind = labels.dtype == known.dtype and labels.dtype.kind != "O"
    if not of_one_kind and known.size and labels.size and kind_of(known) != kind_of(labels):
        truths = of_the_kind(labels, known, text=is_text(known))
        if truths is None:
            raise TypeError(
                f"y holds {kind_of(labels)} such as {labels[:1].tolist()[0]!r}, but the classes so far are "
                f"{known.tolist()}. The labels of a stream must be of one kind."
            )
        labels = truths
    elif labels.dtype.kind == "b" and known.size and not is_text(known) and are_no_truths(known):
        raise TypeError(
            f"y holds truth values, but the classes so far are {known.tolist()}: which of them is True? Use the labels "
            "that the stream began with."
        )
    encoded = _encode(labels, known)
    if encoded.new.size and is_text(encoded.new):
        alike = spelled_alike(labels, known, encoded.new)
        return encoded if alike is labels else _encode(alike, known)
    check_exact(encoded.new, known)
    return encoded


def check_exact(new: NDArray[Any], known: NDArray[Any], name: str = "y") -> None:
    """Raise an error for numbers that would be rounded beside those of another type: two classes may become one."""
    lost = rounded(known, new)
    if lost:
        raise ValueError(
            f"{name} holds {new.tolist()[0]!r} as {new.dtype}, but the classes so far are {known.tolist()} as "
            f"{known.dtype}: beside each other they are rounded, and {lost[0]!r} would be another class. Use the same "
            "type of integers for all labels, or text."
        )


def _encode(labels: NDArray[Any], known: NDArray[Any]) -> Encoded:
    if known.size == 2 and labels.size >= STRETCH and _are_codes(labels) and known.tolist() == [0, 1]:
        return Encoded(labels, labels[:0], labels[:0])
    if labels.size == 1 and known.size < TABLE_SIZE:  # a stream that comes a row at a time
        places, label = known.tolist(), labels.item()
        if label in places:
            return Encoded(np.array([places.index(label)], np.int64), labels[:0], NO_ROWS)
    numbers = labels.dtype.kind in "iufb" and (known.size == 0 or known.dtype.kind in "iufb")
    if numbers and known.size < TABLE_SIZE and _exact(labels, known) and _exact(known, labels):
        wide = np.dtype(np.float64 if "f" in (labels.dtype.kind, known.dtype.kind) else np.int64)
        codes = np.empty(labels.size, np.int64)
        table, first_rows = np.empty(TABLE_SIZE, wide), np.empty(TABLE_SIZE, np.int64)
        table[: known.size] = known
        found = int(_scan(_writable(labels, wide), table, known.size, codes, first_rows))
        if found == known.size:
            return Encoded(codes, labels[:0], first_rows[:0])
        if found >= 0:
            n_new = found - known.size
            return Encoded(codes, table[known.size : found].astype(labels.dtype), first_rows[:n_new])
    if labels.dtype.kind == "O":
        return _encode_objects(labels, known)
    distinct, first_rows, inverse = np.unique(labels, return_index=True, return_inverse=True)
    places = {label: place for place, label in enumerate(known.tolist())}
    names = distinct.tolist()
    new = [int(k) for k in np.argsort(first_rows) if names[k] not in places]
    places.update((names[k], known.size + rank) for rank, k in enumerate(new))
    code_of = np.array([places[name] for name in names], np.int64)
    return Encoded(code_of[inverse], distinct[new], first_rows[new])
