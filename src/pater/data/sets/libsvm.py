"""Data sets of the LIBSVM collection."""

from __future__ import annotations

from pater.data.entry import Entry, Published, SourceFile
from pater.data.libsvm import LibSVM
from pater.data.sets.addresses import LIBSVM

ENTRIES = (
    Entry(
        number=29,
        key="cod-rna",
        name="Cod-rna",
        files=(
            SourceFile(
                "cod-rna/cod-rna",
                "65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c",
                (f"{LIBSVM}/cod-rna",),
            ),
        ),
        format=LibSVM(features=8),
        published=Published(59535, 8, 0.50),
        positives=19845,
        negatives=39690,
        why="59535 rows are the training file alone.",
    ),
    Entry(
        number=30,
        key="ijcnn1",
        name="Ijcnn1",
        files=(
            SourceFile(
                "ijcnn1/ijcnn1",
                "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f",
                (f"{LIBSVM}/ijcnn1.bz2",),
            ),
            SourceFile(
                "ijcnn1/ijcnn1.t",
                "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                (f"{LIBSVM}/ijcnn1.t.bz2",),
            ),
        ),
        format=LibSVM(features=22),
        published=Published(141691, 22, 0.11),
        positives=13565,
        negatives=128126,
        why="141691 rows are the 49990 of training and the 91701 of testing, taken together.",
    ),
)
