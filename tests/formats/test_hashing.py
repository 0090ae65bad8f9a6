"""A name lands where scikit-learn's FeatureHasher puts it, with the same sign."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from pater.formats.batches import Batch
from pater.formats.blocks import Block, Place
from pater.formats.hashing import place_of
from pater.formats.libsvm import LibsvmParser
from pater.formats.murmur import murmur
from pater.formats.vw import VWParser


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=40))
def test_hash(text: bytes) -> None:
    assert murmur(np.frombuffer(text, np.uint8), 0, len(text)) == murmurhash3_32(text, 0)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()), st.integers(1, 24))
def test_place(name: str, bits: int) -> None:
    row = FeatureHasher(2**bits, input_type="string").transform([[name]])
    assert place_of(name, bits) == (row.indices[0], row.data[0])


def same(batch: Batch, hashed: object) -> None:
    assert abs(batch.X - hashed).max() == 0  # type: ignore[operator]


def test_libsvm_indices() -> None:
    text = b"1 1:0.5 007:2 300:1.5\n-1 7:1 1000000:3\n"
    names = [{"1": 0.5, "7": 2, "300": 1.5}, {"7": 1, "1000000": 3}]
    same(LibsvmParser(bits=6)(Block(text, 1, Place()), "x"), FeatureHasher(64).transform(names))


def test_collisions_add_up() -> None:
    text = " ".join(["1", *(f"{j}:{j / 7!r}" for j in range(1, 200))]).encode() + b"\n"
    names = [{str(j): j / 7 for j in range(1, 200)}]
    batch, hashed = LibsvmParser(bits=3)(Block(text, 1, Place()), "x"), FeatureHasher(8).transform(names)
    np.testing.assert_allclose(batch.X.toarray(), hashed.toarray(), rtol=1e-12)


def test_namespaces() -> None:
    text = "1 |user age:3 café |item:2 7:0.5 | plain plain:2\n".encode()
    names = [{"user^age": 3, "user^café": 1, "item^7": 1.0, "plain": 3}]
    same(VWParser(bits=10)(Block(text, 1, Place()), "x"), FeatureHasher(1024).transform(names))
