"""20 Newsgroups from an archive like the public one, with the documents in another order."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pater.data import DATA_SETS, DataError, fetch, load
from pater.data.files import find, read

if TYPE_CHECKING:
    from conftest import Server

NEWS_PATH = "/~jason/20Newsgroups/"


def newsgroups_archive(data_folder: Path) -> bytes:
    """An archive like the public one: all documents of a split by group, in another order."""
    rng = np.random.default_rng(0)
    parts: dict[str, list[tuple[int, np.ndarray]]] = {
        "train": [(1, np.array([[1, 1]]))],
        "test": [],
    }
    for key in ("20news-talk", "20news-comp", "20news-sci"):
        counts, groups, _ = read(data_folder, DATA_SETS[key])
        rows = np.loadtxt(io.BytesIO(counts.content), dtype=int)
        group = np.loadtxt(io.BytesIO(groups.content), dtype=int)
        ends = np.searchsorted(rows[:, 0], np.arange(1, len(group) + 2))
        first_test = int(np.flatnonzero(np.diff(group) < 0)[0]) + 1
        for i in rng.permutation(len(group)):
            split = "train" if i < first_test else "test"
            parts[split].append((int(group[i]), rows[ends[i] : ends[i + 1], 1:]))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for split, documents in parts.items():
            documents.sort(key=lambda document: document[0])
            labels = "".join(f"{group}\n" for group, _ in documents)
            triplets = "".join(
                f"{number} {word} {count}\n"
                for number, (_, counts_of_document) in enumerate(documents, start=1)
                for word, count in counts_of_document.tolist()
            )
            for name, text in (("label", labels), ("data", triplets)):
                member = tarfile.TarInfo(f"20news-bydate/matlab/{split}.{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.mark.slow
def test_20_newsgroups_are_made_from_the_archive(server: Server, tmp_path: Path, data_folder: Path) -> None:
    keys = ["20news-talk", "20news-comp", "20news-sci"]
    vocabulary = find(data_folder, DATA_SETS[keys[0]].files[2])
    assert vocabulary is not None
    server.serve(f"{NEWS_PATH}vocabulary.txt", vocabulary.read_bytes())
    server.serve(f"{NEWS_PATH}20news-bydate-matlab.tgz", newsgroups_archive(data_folder))
    for _ in range(2):
        fetch(keys, cache_dir=tmp_path, base_url=server.url)
    assert sorted(server.requests) == [
        f"{NEWS_PATH}20news-bydate-matlab.tgz",
        f"{NEWS_PATH}vocabulary.txt",
    ]
    (tmp_path / "20news-vocabulary" / "vocabulary.txt").unlink()
    fetch(keys[0], cache_dir=tmp_path, base_url=server.url)
    for key in keys:
        made, known = load(key, data_dir=tmp_path), load(key, data_dir=data_folder)
        assert np.array_equal(made.y, known.y)
        assert (made.X != known.X).nnz > 0, "the order within a group differs"
        assert sorted(made.X.sum(axis=1)) == sorted(known.X.sum(axis=1))


def test_an_archive_with_other_documents_is_refused(server: Server, tmp_path: Path, data_folder: Path) -> None:
    vocabulary = find(data_folder, DATA_SETS["20news-sci"].files[2])
    assert vocabulary is not None
    server.serve(f"{NEWS_PATH}vocabulary.txt", vocabulary.read_bytes())
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in {"data": b"1 1 1\n2 2 2\n", "label": b"13\n14\n"}.items():
            for split in ("train", "test"):
                member = tarfile.TarInfo(f"{split}.{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
    server.serve(f"{NEWS_PATH}20news-bydate-matlab.tgz", packed.getvalue())
    with pytest.raises(DataError, match=r"20news-sci/pair\.data made from the archive is not"):
        fetch("20news-sci", cache_dir=tmp_path, base_url=server.url)
    assert list(tmp_path.iterdir()) == []
