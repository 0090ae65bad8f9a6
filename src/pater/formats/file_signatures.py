"""Files that are not what their name says, known by their first bytes.

Knows `errors` only.
"""

from __future__ import annotations

from .errors import InputError

_AS_FORMAT = "say --format {0}, or give it a name that ends in .{0}."
_PAGE = "open it to see what was downloaded in the place of the data."
_BOOK = "save the sheet as CSV first."
_KINDS = (
    (b"PAR1", "a Parquet file", _AS_FORMAT.format("parquet")),
    (b"ARROW1", "an Arrow file", _AS_FORMAT.format("arrow")),
    (b"FEA1", "a Feather file of version 1", "write it again with a newer version, or as Parquet."),
    (b"PK\x03\x04", "an Excel workbook or a zip archive", f"unpack the archive, or {_BOOK}"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _BOOK),
    (b"\x93NUMPY", "an array of NumPy", "write it as CSV, or give it to an estimator in Python."),
    (b"\x80\x04\x95", "a pickle of Python", "write what it holds as CSV or Parquet."),
    (b"\x80\x05\x95", "a pickle of Python", "write what it holds as CSV or Parquet."),
    (b"\x89PNG", "a picture", "name the data."),
    (b"%PDF-", "a PDF document", "name the data."),
    (b"<!doct", "a web page", _PAGE),
    (b"<!DOCT", "a web page", _PAGE),
    (b"<html", "a web page", _PAGE),
    (b"<?xml", "an XML document", "write the table that it holds as CSV."),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."),
)


def refuse_other_kinds(start: bytes, shown: str, format: str) -> None:
    """Raise an error if the first bytes of a file to be read as text show that it is something else."""
    for magic, what, todo in _KINDS:
        if start.startswith(magic):
            raise InputError(f"{shown} is {what}, but is read as {format}: {todo}")
    if start[6:10] == b'\0\0{"' and b"__metadata__" in start:
        raise InputError(f"{shown} is a model, but is read as {format}: name the data here, and the model as --model.")
