"""Known names are found among the texts of a batch, in a buffer or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pater.preprocessing.categories import hash_of
from pater.preprocessing.name_index import NameIndex
from pater.preprocessing.spans import Spans

TEXT = st.text(st.sampled_from("abcé?\ud800"), max_size=9)


def found(names: list[str], texts: list[str], *, buffered: bool) -> list[int]:
    hashes = np.array([hash_of(text) for text in texts], np.uint32)
    if not buffered:
        return NameIndex({name: k for k, name in enumerate(names)}).places(texts, hashes).tolist()
    content = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, content)])
    spans = Spans(b"".join(content), ends[:-1], ends[1:])
    return NameIndex({name: k for k, name in enumerate(names)}).places(spans, hashes).tolist()


@given(st.lists(TEXT, unique=True, max_size=40), st.lists(TEXT, max_size=20))
def test_places_are_those_of_the_names(names: list[str], texts: list[str]) -> None:
    wanted = {name: k for k, name in enumerate(names)}
    assert found(names, texts, buffered=False) == [*(wanted.get(text, -1) for text in texts), -1]
    sound = [text for text in texts if "\ud800" not in text]
    assert found(names, sound, buffered=True) == [*(wanted.get(text, -1) for text in sound), -1]


def test_texts_of_one_hash_are_told_apart() -> None:
    assert hash_of("plumless") == hash_of("buckeroo")
    for buffered in (False, True):
        assert found(["plumless"], ["buckeroo", "plumless"], buffered=buffered) == [-1, 0, -1]
        assert found(["x", "buckeroo", "plumless"], ["plumless", "buckeroo"], buffered=buffered) == [2, 1, -1]
