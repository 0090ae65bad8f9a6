"""The three formats on handwritten input, well-formed and not."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pater.data import DataError
from pater.data.entry import RawFile, numbered
from pater.data.libsvm import LibSVM
from pater.data.newsgroups import WordCounts, unpack_pair
from pater.data.table import Table

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def raw(text: str, where: str = "some.file") -> RawFile:
    return RawFile(where, text.encode())


PLAIN = Table(columns=("class", "a", "b"), label="class", positive="yes", negative="no")


def test_a_table_keeps_rows_and_columns_in_order() -> None:
    X, y, names = PLAIN.parse([raw("yes,1,2\nno,3.5,-4e1\n")])
    assert names == ("a", "b")
    assert X.tolist() == [[1, 2], [3.5, -40]]
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.tolist() == [1, -1]
    assert y.dtype == np.int8


def test_files_are_read_one_below_the_other() -> None:
    X, y, _ = PLAIN.parse([raw("yes,1,2\n"), raw("no,3,4\n")])
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [1, -1]


@pytest.mark.parametrize("text", ["yes,1,2\r\nno,3,4", "yes , 1 ,2\n\nno,3, 4 \n"])
def test_line_ends_blanks_and_empty_lines_do_not_matter(text: str) -> None:
    X, y, _ = PLAIN.parse([raw(text)])
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [1, -1]


def test_headers_ids_codes_and_blanks_as_separators() -> None:
    table = Table(
        columns=("id", "colour", "class"),
        label="class",
        positive="1",
        negative="0",
        ignored=("id",),
        codes={"colour": "red green blue"},
        separator=None,
        header_lines=1,
    )
    X, y, names = table.parse([raw("id colour class\n a7  blue 0\n a8 red 1 \n")])
    assert names == ("colour",)
    assert X.tolist() == [[2], [0]]
    assert y.tolist() == [-1, 1]


def test_rows_with_missing_values_are_dropped_where_asked() -> None:
    table = Table(("a", "class"), label="class", positive="1", negative="0", missing="drop")
    X, y, _ = table.parse([raw("5,1\n?,1\n6,0\n")])
    assert X.tolist() == [[5], [6]]
    assert y.tolist() == [1, -1]


def test_a_missing_value_can_be_a_value() -> None:
    codes = {"a": "n y ?"}
    table = Table(("a", "class"), "class", "1", "0", codes=codes, missing="value")
    X, _, _ = table.parse([raw("?,1\nn,0\ny,0\n")])
    assert X.ravel().tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("yes,1,2\nno,3\n", r"some\.file, line 2: 2 columns where 3 are expected"),
        ("yes,1,2\nno,3,4,5\n", r"some\.file, line 2: 4 columns where 3"),
        ("yes,1\nno,3\n", r"some\.file, line 1: 2 columns where 3"),
        ("yes,1,2\n\nno,3,x\n", r"some\.file, line 3, column 3 \(b\): unexpected 'x'"),
        ("yes,1,2\nno,3,\n", r"line 2, column 3 \(b\): unexpected ''"),
        ("yes,1,?\n", r"line 1, column 3 \(b\): unexpected '\?'"),
        ("maybe,1,2\n", r"line 1, column 1 \(class\): unexpected 'maybe'"),
        ("yes,1,nan\n", r"line 1, column 3 \(b\): unexpected 'nan'"),
        ("yes,inf,1\n", r"line 1, column 2 \(a\): unexpected 'inf'"),
        ("", r"some\.file: there is no row"),
    ],
)
def test_a_malformed_table_is_refused_with_file_and_line(text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        PLAIN.parse([raw(text)])


def test_line_numbers_count_header_and_dropped_rows() -> None:
    table = Table(("a", "class"), "class", "1", "0", missing="drop", header_lines=1)
    with pytest.raises(DataError, match=r"line 4, column 1 \(a\): unexpected 'x'"):
        table.parse([raw("a,class\n5,1\n?,1\nx,0\n")])


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 9), st.just(2)), elements=NUMBERS))
def test_a_table_gives_back_the_numbers_written(X: np.ndarray) -> None:
    text = "".join(f"no,{a!r},{b!r}\n" for a, b in X.tolist())
    assert np.array_equal(PLAIN.parse([raw(text)]).X, X)


def test_libsvm_fills_in_zeros() -> None:
    X, y, names = LibSVM(features=3).parse([raw("+1 1:0.5 3:-2\n-1 2:1e3\n-1\n1 3:4")])
    assert X.tolist() == [[0.5, 0, -2], [0, 1000, 0], [0, 0, 0], [0, 0, 4]]
    assert y.tolist() == [1, -1, -1, 1]
    assert y.dtype == np.int8
    assert names == ("x1", "x2", "x3")
    assert X.flags.c_contiguous


@pytest.mark.parametrize(
    "line",
    [
        "0 1:1",
        "x 1:1",
        "1 0:1",
        "1 4:1",
        "1 1.5:1",
        "1 1:x",
        "1 1:nan",
        "1 1",
        "1 1:2:3 4",
        "1 1: 2",
        "1:1",
        "1 1:1 1:2",
        "1 9223372036854775809:1",
        "1 18446744073709551617:1",
    ],
)
def test_malformed_libsvm_is_refused_with_file_and_line(line: str) -> None:
    with pytest.raises(DataError, match=r"some\.file, line 2: expected -1 or \+1"):
        LibSVM(features=3).parse([raw(f"1 1:1\n{line}\n-1 2:1\n")])


def test_libsvm_with_unusual_spacing_is_read_as_streams_read_it() -> None:
    X, y, _ = LibSVM(features=3).parse([raw("1  1:1\t3:2 \r\n\n-1 2:1 # seldom\n")])
    assert X.tolist() == [[1, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]


@given(
    X=arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.just(0.0) | NUMBERS),
    data=st.data(),
)
def test_libsvm_gives_back_the_numbers_written(X: np.ndarray, data: st.DataObject) -> None:
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X), max_size=len(X)))
    text = "".join(
        " ".join([str(label), *(f"{i}:{v!r}" for i, v in enumerate(row, 1) if v)]) + "\n"
        for label, row in zip(y, X.tolist(), strict=True)
    )
    parsed = LibSVM(features=4).parse([raw(text)])
    assert np.array_equal(parsed.X, X)
    assert parsed.y.tolist() == y


COUNTS = WordCounts(positive=7, negative=8, documents_sha256="")
VOCABULARY = raw("apple\nbanana\ncherry\n", "vocabulary.txt")


def news(triplets: str, labels: str) -> list[RawFile]:
    return [raw(triplets, "pair.data"), raw(labels, "pair.label"), VOCABULARY]


def test_word_counts_are_sparse() -> None:
    X, y, words = COUNTS.parse(news("1 1 2\n3 3 1\n3 2 5\n", "7\n8\n8\n"))
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.toarray().tolist() == [[2, 0, 0], [0, 0, 0], [0, 5, 1]]
    assert y.tolist() == [1, -1, -1]
    assert words == ("apple", "banana", "cherry")


@pytest.mark.parametrize(
    ("triplets", "labels", "complaint"),
    [
        ("1 1 2\n1 2\n", "7\n8\n", r"pair\.data, line 2: expected 3 integers"),
        ("1 1\n3 1 2 1\n", "7\n8\n", r"pair\.data, line 1: expected 3 integers"),
        ("1 x 2\n", "7\n8\n", r"pair\.data, line 1: expected 3 integers"),
        ("1 1 1\n3 1 2\n", "7\n8\n", r"pair\.data, line 2: expected a document up to 2"),
        ("1 4 2\n", "7\n8\n", r"pair\.data, line 1: .* a word up to 3"),
        ("1 0 2\n", "7\n8\n", r"pair\.data, line 1"),
        ("1 1 1\n", "7\n9\n", r"pair\.label, line 2: unexpected group 9"),
        ("", "7\n8\n", r"pair\.data is empty"),
        ("1 1 1\n", "", r"pair\.label is empty"),
    ],
)
def test_malformed_word_counts_are_refused(triplets: str, labels: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        COUNTS.parse(news(triplets, labels))


def test_the_fingerprint_knows_documents_and_labels_but_no_order() -> None:
    first = COUNTS.fingerprint(news("1 1 2\n2 3 1\n", "7\n8\n"))
    assert COUNTS.fingerprint(news("1 3 1\n2 1 2\n", "8\n7\n")) == first
    assert COUNTS.fingerprint(news("1 3 1\n2 1 2\n", "7\n8\n")) != first
    assert COUNTS.fingerprint(news("1 1 2\n2 3 2\n", "7\n8\n")) != first


def archive(**members: str) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(f"20news-bydate/matlab/{name.replace('_', '.')}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return content.getvalue()


def test_two_groups_are_taken_out_of_the_archive_and_numbered_anew() -> None:
    made = unpack_pair(
        archive(
            train_data="1 1 9\n2 2 1\n2 3 4\n3 1 5\n",
            train_label="1\n7\n8\n",
            test_data="1 3 2\n2 1 9\n3 2 6\n",
            test_label="7\n9\n8\n",
        ),
        groups=(7, 8),
        folder="some",
    )
    assert made == {
        "some/pair.data": b"1 2 1\n1 3 4\n2 1 5\n3 3 2\n4 2 6\n",
        "some/pair.label": b"7\n8\n7\n8\n",
    }


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"not an archive", "cannot be read"),
        (archive(train_data="1 1 1\n", train_label="7\n")[:-40], "cannot be read"),
        (archive(train_data="1 1 1\n", train_label="7\n"), r"holds no test\.data"),
        (
            archive(train_data="2 1 1\n", train_label="7\n", test_data="1 1 1\n", test_label="8\n"),
            "names a document that has no label",
        ),
    ],
)
def test_an_unusable_archive_is_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        unpack_pair(content, groups=(7, 8), folder="some")


def test_numbered_columns_count_from_one() -> None:
    assert numbered("x", 3) == ("x1", "x2", "x3")
