"""The public sources of the files."""

from __future__ import annotations

from pater.data.entry import SourceFile

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
NEWSGROUPS = "http://qwone.com/~jason/20Newsgroups"


def uci(key: str, path: str, sha256: str, *mirrors: str) -> SourceFile:
    """A file of the UCI repository; mirrors are tried if the repository does not serve it."""
    name = path.rsplit("/", 1)[-1].removesuffix(".Z")
    return SourceFile(f"{key}/{name}", sha256, (f"{UCI}/{path}", *mirrors))
