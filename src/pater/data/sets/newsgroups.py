"""20 Newsgroups, two groups per data set.

The row counts of the paper are those of the public word-count files, but its three features are not described and none
of the obvious guesses gives its accuracies. So the sets here are the full word counts, and no cell of the paper's
tables can be compared with their results. The first group is the positive one; the paper's ratios would suggest the
second.

The checksums of ``pair.data`` are those of a copy that lists the documents of a group by their file number. The archive
lists them by date, and no checksum of the archive itself is known here. So files made from the archive are verified by
a fingerprint of the documents and labels that does not depend on their order.
"""

from __future__ import annotations

from functools import partial

from pater.data.entry import Archive, Entry, Published, SourceFile
from pater.data.newsgroups import WordCounts, unpack_pair
from pater.data.sets.addresses import NEWSGROUPS

_VOCABULARY = SourceFile(
    "20news-vocabulary/vocabulary.txt",
    "3c0f0d64a814ba8836334a0f23925cef751fb3636baea55772f1f8ede4b791bc",
    (f"{NEWSGROUPS}/vocabulary.txt",),
)
_ARCHIVE = f"{NEWSGROUPS}/20news-bydate-matlab.tgz"

_TALK = WordCounts(
    positive=17,
    negative=18,
    documents_sha256="d9fed10a6235736ed795a9b47404add7b8bdf81951db09a0c7e93f69d19ec285",
)
_COMP = WordCounts(
    positive=4,
    negative=5,
    documents_sha256="80a8d80c8ebb3512c9747f4deafc2901334fffb8f054bac2866c711b6fd1dbcb",
)
_SCI = WordCounts(
    positive=13,
    negative=14,
    documents_sha256="ff65dcca2afc69d82bc60f79fe1812c2ffd2cf63fc3867ab08e83d65c7e41b1d",
)

ENTRIES = (
    Entry(
        number=24,
        key="20news-talk",
        name="20News-talk",
        files=(
            SourceFile(
                "20news-talk/pair.data",
                "1d8214286753493cf458aeae8f2699cc44012a8f462cb9f22e6b6d61107ccadb",
                any_order=True,
            ),
            SourceFile(
                "20news-talk/pair.label",
                "3b8207da8065fe4d20d8796f351266b6131caf37c17cf7f564ed311bd8d33cad",
            ),
            _VOCABULARY,
        ),
        format=_TALK,
        published=Published(1848, 3, 1.04),
        positives=909,
        negatives=940,
        why="talk.politics.guns against talk.politics.mideast: 1849 documents, one more than the "
        "paper has, for a reason not known.",
        archive=Archive(_ARCHIVE, partial(unpack_pair, groups=(17, 18), folder="20news-talk")),
        same_data=_TALK.same_documents,
    ),
    Entry(
        number=25,
        key="20news-comp",
        name="20News-comp",
        files=(
            SourceFile(
                "20news-comp/pair.data",
                "d68a0c65df14b2f92fc008edf147e6508c589b6c494bdfb7bbcc1b4998aef115",
                any_order=True,
            ),
            SourceFile(
                "20news-comp/pair.label",
                "7bc56bc7349fb5ede7fe18ac049c64ff377ab35357fa29da142e9bbfcdcb3af5",
            ),
            _VOCABULARY,
        ),
        format=_COMP,
        published=Published(1937, 3, 0.98),
        positives=979,
        negatives=958,
        why="comp.sys.ibm.pc.hardware against comp.sys.mac.hardware: the paper's 1937 documents.",
        archive=Archive(_ARCHIVE, partial(unpack_pair, groups=(4, 5), folder="20news-comp")),
        same_data=_COMP.same_documents,
    ),
    Entry(
        number=26,
        key="20news-sci",
        name="20News-sci",
        files=(
            SourceFile(
                "20news-sci/pair.data",
                "4c376ea14552c4eebd2f0d40bd749975f38492873c07e992be31c66372ce0069",
                any_order=True,
            ),
            SourceFile(
                "20news-sci/pair.label",
                "d48809c0d8df1c23df459ce7671a35c85d5faefb92f6e6ddc40bfb4da9822fb6",
            ),
            _VOCABULARY,
        ),
        format=_SCI,
        published=Published(1971, 3, 1.01),
        positives=984,
        negatives=987,
        why="sci.electronics against sci.med: the paper's 1971 documents.",
        archive=Archive(_ARCHIVE, partial(unpack_pair, groups=(13, 14), folder="20news-sci")),
        same_data=_SCI.same_documents,
    ),
)
