"""Inputs of every format with numbers, quotes and lengths at the edge of what fits: each is read, or refused by name.

A kind of case for `fuzz.py`. Valid files are changed at random, always in the same way for the same seed, and read with
options that are drawn as well. The result must be what a pass relies on: columns within their number, in order, each
once; finite values; importances that the rules accept; as many labels, lines and tags as rows. Text is read twice, in
blocks of the usual size and in tiny ones, with the same result. Under NUMBA_BOUNDSCHECK=1 the compiled parsers check
every read and write.
"""

from __future__ import annotations

import csv
import io
import random
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pater.formats.batches import Batch
from pater.formats.blocks import blocks
from pater.formats.csv import table_blocks
from pater.formats.labels import LONGEST_LABEL
from pater.formats.reading import make_input
from pater.models.row_weights import are_weights
from pater.stream import InputError

EDGES = [2**k + d for k in (7, 8, 15, 16, 31, 32, 53, 63, 64) for d in (-1, 0, 1)]
EDGES += [10**k + d for k in (19, 20, 30) for d in (-1, 0, 1)]
FORMS = """
    0 -0 .5 5. . - + 1e 1e+ --1 0x10 1_000 1e5.5 1e308 1.8e308 -1.7976931348623157e308 1e-320 4.9e-324 1e-400
    1e999999999999 1e-99999999999 1e160 1e20 1.1e20 1e-20 1e-21
    inf -inf nan +NaN Infinity infinit info nano N/A none ?
"""
NUMBERS = [*FORMS.split(), *(f"{sign}{edge}" for edge in EDGES for sign in ("", "-", "00000"))]
NUMBERS += ["1" * 50, "0." + "3" * 400, "9" * 5000, "0" * 5000 + "7", "1" + "0" * 400 + "e-400"]
MARKS = rb'''" "" """ , : | ' # ^ = qid: |a: ,, ","'''
PIECES = MARKS.split()
PIECES += [b" ", b"\t", b"\r", b"\n", b"\r\n", b"\n\r", b"\r\r\n", b'"\n"', b'"\r7', b" |"]
PIECES += [b"\0", b"\x1a", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"]
LONG = [b"z" * 1001, b"1" * 70_000, b'"' + b"y" * 5000 + b'"', b" " * 5000, b"\xc3\xa9" * 900, b"," * 3000]
LONG += [b"a:1 " * 3000]
WORD = re.compile(rb"[-+.\w]+")
ROWS = 24


def _libsvm(r: random.Random) -> bytes:
    def line() -> str:
        pairs = " ".join(f"{j}:{r.gauss(0, 1):.{r.randrange(1, 20)}g}" for j in sorted(r.sample(range(1, 60), 5)))
        return (
            f"{r.choice(['+1', '-1', '3', '1.0'])} {r.choice(['', '', 'qid:7 '])}{pairs}{r.choice(['', '', ' # 1:2'])}"
        )

    return _lines(r, [line() for _ in range(ROWS)])


def _vw(r: random.Random) -> bytes:
    def line() -> str:
        importance, tag = r.choice(["", "2 ", "0.5 0.1 "]), r.choice(["", f"'t{r.randrange(9)}", "tag"])
        features = f"a:{r.random():.3f} b |item:2 c{r.randrange(9)} d:1e-3"
        return f"{r.choice([1, -1])} {importance}{tag}|{r.choice(['user', '', 'u:3'])} {features}"

    return _lines(r, [line() for _ in range(ROWS)])


def _csv(r: random.Random, delimiter: str = ",") -> bytes:
    rows = [["age", "city", "note", "weight", "label"]]
    for _ in range(ROWS):
        note = r.choice(['"a ""b""\nc"', "normal", "", '5" pipe', '"two\r\nlines"'])
        rows.append([f"{r.gauss(40, 9):.2f}", r.choice("ABC"), note, r.choice("123"), r.choice(["yes", "no"])])
    numeric = r.random() < 0.3
    kept = [0, 3, 4] if numeric else [0, 1, 2, 3, 4]
    return _lines(r, [delimiter.join(row[j] for j in kept) for row in rows])


def _lines(r: random.Random, lines: list[str]) -> bytes:
    end = r.choice(["\n", "\n", "\r\n"])
    return (end.join(lines) + r.choice(["", end])).encode()


def _table(r: random.Random) -> pa.Table:
    n = ROWS
    numbers = pa.array([r.choice([None, float(r.choice((0.5, 1e308, 1e-320, -3))), r.gauss(0, 1)]) for _ in range(n)])
    words = pa.array([r.choice([None, "", "x", "yy", "z" * r.choice((1, 50, 2000))]) for _ in range(n)])
    kind = r.choice(["plain", "coded", "small", "large", "view"])
    if kind in ("coded", "small"):
        words = words.dictionary_encode()
    if kind == "small":
        words = words.cast(pa.dictionary(pa.int8(), pa.string()))
    if kind in ("large", "view"):
        words = words.cast(pa.large_string() if kind == "large" else pa.string_view())
    whole = [pa.int8(), pa.uint64(), pa.int64(), pa.float64(), pa.bool_(), pa.decimal128(30, 3), pa.string()]
    labels = pa.array([r.randrange(2) for _ in range(n)]).cast(r.choice(whole))
    weights = pa.array([r.choice([1.0, 0.0, 2.5, 1e160 if r.random() < 0.05 else 3.0]) for _ in range(n)])
    return pa.table({"age": numbers, "city": words, "weight": weights, "label": labels})


def _parquet(r: random.Random) -> bytes:
    out, table = io.BytesIO(), _table(r)
    if pa.types.is_string_view(table.schema.field("city").type):
        table = table.set_column(1, "city", table["city"].cast(pa.string()))
    pq.write_table(table, out, row_group_size=10, compression=r.choice(["none", "snappy"]))
    return out.getvalue()


def _arrow(r: random.Random) -> bytes:
    out, table = io.BytesIO(), _table(r)
    new = pa.ipc.new_file if r.random() < 0.5 else pa.ipc.new_stream
    with new(out, table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=10)
    return out.getvalue()


FORMATS: dict[str, Callable[[random.Random], bytes]] = {
    "libsvm": _libsvm,
    "vw": _vw,
    "csv": _csv,
    "tsv": lambda r: _csv(r, "\t"),
    "arrow": _arrow,
    "parquet": _parquet,
}
COLUMNAR = ("arrow", "parquet")


def mutated(content: bytes, r: random.Random, *, columnar: bool) -> bytes:
    """Up to four changes: numbers at the edge, quotes and line ends, lengths, and damage that any file may suffer."""
    text = bytearray(content)
    for _ in range(r.choice((0, 1, 1, 2, 4))):
        at, size = r.randrange(len(text) + 1), r.choice((1, 1, 2, 8, 40))
        if columnar:
            _change_bytes(text, at, size, r)
            continue
        kind = r.randrange(10)
        if kind < 4 and (words := list(WORD.finditer(text))):
            word = r.choice(words)
            number = r.choice(NUMBERS) if r.random() < 0.7 else str(r.randrange(2 ** r.randrange(1, 70)))
            text[word.start() : word.end()] = number.encode()
        elif kind < 7:
            text[at : at + r.choice((0, 0, 1))] = r.choice(PIECES)
        elif kind == 7:
            text[at:at] = r.choice(LONG)
        else:
            _change_bytes(text, at, size, r)
    return bytes(text)


def _change_bytes(text: bytearray, at: int, size: int, r: random.Random) -> None:
    kind = r.randrange(7)
    if kind < 3 and len(text) >= 8:  # a forged length or offset
        width = r.choice((4, 8))
        at = at % (len(text) - 7) & ~3
        forged = r.choice([*EDGES, *(-edge for edge in EDGES), r.randrange(200)])
        text[at : at + width] = struct.pack("<Q", forged % 2**64)[:width]
    elif kind == 3 and text:
        text[at % len(text)] ^= 1 << r.randrange(8)
    elif kind == 4:
        text[at : at + size] = r.randbytes(size)
    elif kind == 5:
        del text[at : at + size]
    elif r.random() < 0.3:
        del text[at:]
    else:
        text[at:at] = text[at : at + size] * r.choice((1, 3))


def options(r: random.Random, kind: str) -> dict[str, Any]:
    """Options for reading a case."""
    drawn: dict[str, Any] = {"on_error": r.choice(["stop", "skip", "skip"]), "labelled": r.random() < 0.8}
    drawn |= {"bits": r.choice([None, None, 1, 12]), "features": r.choice([100, 1 << 22, 1 << 30])}
    if kind not in ("libsvm", "vw"):
        drawn |= {"label": "label", "weight": r.choice([None, "weight"])}
        drawn |= {"categorical": r.choice([(), ("age",)]), "drop": r.choice([(), ("city",)])}
    return drawn


def check(batch: Batch, limit: int, n_lines: int) -> None:
    """Check that a batch is what the passes rely on."""
    n = len(batch)
    if len(batch.rows) == 3:
        indptr, indices, data = (array.astype(np.int64) if array.dtype.kind == "u" else array for array in batch.rows)
        assert indptr[0] == 0, "the rows do not begin at 0"
        assert (np.diff(indptr) >= 0).all(), "a row of negative length"
        assert indptr[-1] == indices.size == data.size, "the rows do not end where the entries do"
        assert batch.n_features <= limit, "more features than allowed"
        assert not indices.size or indices.max() < batch.n_features, "a column beyond the number of features"
        inside = np.ones(indices.size, bool)
        inside[indptr[:-1][indptr[:-1] < indices.size]] = False
        assert (np.diff(indices, prepend=-1)[inside] > 0).all(), "columns out of order"
    else:
        data = batch.rows[0]
        assert data.shape == (n, batch.n_features), "a table of another shape"
    assert np.isfinite(data).all(), "a value that is not finite"
    assert batch.weights.size in (0, n), "another number of importances"
    assert are_weights(batch.weights).all(), "an importance that no rule takes"
    assert batch.tags is None or len(batch.tags) == n, "another number of tags"
    assert batch.lines.size == n, "another number of lines"
    places = [*batch.lines.tolist(), *(fault.line for fault in batch.faults)]
    assert len(set(places)) == len(places), "a line twice"
    assert all(1 <= line <= n_lines for line in places), "a line that is not there"
    if batch.labels is not None:
        assert batch.labels.size == n, "another number of labels"
        assert all(len(label) <= LONGEST_LABEL for label in batch.labels if isinstance(label, str)), "a long label"


def told(batches: list[Batch]) -> list[Any]:
    """What was read, row by row, wherever the batches end."""
    result: list[Any] = [str(fault) for batch in batches for fault in batch.faults]
    for batch in batches:
        values, labels = np.split(batch.rows[-1].ravel(), _ends(batch)), batch.labels
        for k, line in enumerate(batch.lines.tolist()):
            label = None if labels is None else labels.tolist()[k]
            weight = batch.weights[k] if batch.weights.size else 1.0
            result.append((line, label, float(weight), values[k].tolist()))
    return result


def _ends(batch: Batch) -> Any:
    if len(batch.rows) == 3:
        return batch.rows[0][1:-1].astype(np.int64)
    return np.arange(1, len(batch)) * batch.n_features


def hold_libsvm(lines: list[bytes], batch: Batch) -> None:
    """Compare rows of libsvm text with what Python's own int and float make of their lines."""
    ends = [0, *_ends(batch).tolist(), batch.rows[1].size]
    for k, line in enumerate(batch.lines.tolist()):
        words = [word for word in lines[line - 1].partition(b"#")[0].split() if not word.startswith(b"qid:")]
        if batch.labels is not None:
            assert int(float(words.pop(0))) == batch.labels[k], "another label than Python reads"
        elif words and b":" not in words[0]:
            words.pop(0)
        pairs = sorted((int(index.lstrip(b"0") or 0), float(x)) for index, x in (word.split(b":") for word in words))
        here = slice(ends[k], ends[k + 1])
        found = list(zip(batch.rows[1][here].tolist(), batch.rows[2][here].tolist(), strict=True))
        assert found == pairs, "other features than Python reads"


def hold_csv(lines: list[bytes], batch: Batch, delimiter: str) -> None:
    """Compare the labels of a table, in its last column, with what Python's own csv module reads."""
    for k, line in enumerate(batch.lines.tolist()):
        texts = (text.decode("latin-1") + "\n" for text in lines[line - 1 :])
        row = next(csv.reader(texts, delimiter=delimiter, strict=True))
        label = row[-1].encode("latin-1").strip().decode()
        same = batch.labels[k] == (label if isinstance(batch.labels[k], str) else int(float(label)))
        assert same, "another label than Python reads"


def read_one(path: Path, kind: str, drawn: dict[str, Any], size: int) -> str:
    """Read a case: "rows", or "error" if it was refused."""
    n_lines = path.stat().st_size * 64 + 2 if kind in COLUMNAR else path.read_bytes().count(b"\n") + 1
    refused = ""
    try:
        source = make_input(path, format=kind, threads=1, **drawn)
        whole = list(source.batches())
    except InputError as error:
        refused = str(error)
    if refused:
        assert path.name in refused, f"the error does not name the file: {refused}"
        assert len(refused) < 5000, "an endless message"
        return "error"
    for batch in whole:
        check(batch, max(drawn["features"], 1 << (source.describe().bits or 0)), n_lines)
    if kind not in COLUMNAR:
        for batch in whole:
            if kind == "libsvm" and not source.describe().bits:
                hold_libsvm(path.read_bytes().split(b"\n"), batch)
            elif kind in ("csv", "tsv") and batch.labels is not None and source.sources[0].size < 50_000:
                hold_csv(path.read_bytes().split(b"\n"), batch, "," if kind == "csv" else "\t")
        parser = source._parser(source.sources[0])
        in_blocks = blocks(source.sources[0], size=size)
        if kind in ("csv", "tsv"):
            in_blocks = table_blocks(source.sources[0], "," if kind == "csv" else "\t", hashed=False, size=size)
        parts = [parser(block, source.sources[0].shown) for block in in_blocks]
        assert drawn["labelled"] is False or told(parts) == told(whole), "other rows in blocks of another size"
    return "rows"


def cases(folder: Path, count: int, seed: int) -> Iterator[tuple[str, int, Callable[[], str]]]:
    """`count` cases of each format: its name, the number of the case, and what runs it."""
    for kind, make in FORMATS.items():
        for k in range(count):
            r = random.Random(f"{kind} {seed} {k}")
            path = folder / f"case.{kind}"
            path.write_bytes(mutated(make(r), r, columnar=kind in COLUMNAR))
            drawn, size = options(r, kind), r.choice((1, 16, 100, 1000))

            def run(path: Path = path, kind: str = kind, drawn: dict[str, Any] = drawn, size: int = size) -> str:
                return read_one(path, kind, drawn, size)

            yield kind, k, run
