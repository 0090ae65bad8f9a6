"""UCI data sets from outside medicine: numbers only, or categories that come as numbers."""

from __future__ import annotations

from pater.data.entry import Entry, Published, listed, numbered
from pater.data.sets.addresses import uci
from pater.data.table import Table

_HOURS = tuple(range(24))
_WEATHER = (
    *(f"WSR{hour}" for hour in _HOURS),
    *("WSR_PK", "WSR_AV"),
    *(f"T{hour}" for hour in _HOURS),
    *("T_PK", "T_AV"),
    *(f"{name}{level}" for level in (85, 70, 50) for name in ("T", "RH", "U", "V", "HT")),
    *("KI", "TT", "SLP", "SLP_", "Precp"),
)
_SPAM_WORDS = listed(
    "make, address, all, 3d, our, over, remove, internet, order, mail, receive, will, people, "
    "report, addresses, free, business, email, you, credit, your, font, 000, money, hp, hpl, "
    "george, 650, lab, labs, telnet, 857, data, 415, 85, technology, 1999, parts, pm, direct, cs, "
    "meeting, original, project, re, edu, table, conference"
)
_SPAM = (
    *(f"word_freq_{word}" for word in _SPAM_WORDS),
    *(f"char_freq_{sign}" for sign in ";([!$#"),
    *(f"capital_run_length_{measure}" for measure in ("average", "longest", "total")),
)

_MONKS = Table(
    columns=("class", *numbered("a", 6), "id"),
    label="class",
    positive="1",
    negative="0",
    ignored=("id",),
    separator=None,
)
_OZONE = Table(
    columns=("date", *_WEATHER, "ozone day"),
    label="ozone day",
    positive="1.",
    negative="0.",
    ignored=("date",),
    missing="drop",
)

ENTRIES = (
    Entry(
        number=1,
        key="monks-3",
        name="Monks-3",
        files=(
            uci(
                "monks-3",
                "monks-problems/monks-3.train",
                "726f258f80be06af4bb2d8831789514a663f5813e47429211fe19dcd367966f8",
            ),
        ),
        format=_MONKS,
        published=Published(122, 6, 0.98),
        positives=60,
        negatives=62,
        why="The row count is that of the training file; the attributes are numbers already.",
    ),
    Entry(
        number=2,
        key="monks-1",
        name="Monks-1",
        files=(
            uci(
                "monks-1",
                "monks-problems/monks-1.train",
                "d9c328b6f0e095ab10f7bc8468f1d2141f3d08be73e665c3bf0a62994c922606",
            ),
        ),
        format=_MONKS,
        published=Published(124, 6, 1.01),
        positives=62,
        negatives=62,
        why="The classes are equal, so the ratio says nothing: coded as the other two Monks.",
    ),
    Entry(
        number=3,
        key="monks-2",
        name="Monks-2",
        files=(
            uci(
                "monks-2",
                "monks-problems/monks-2.train",
                "7ebcc278005737caad0cd52e6aa31256a2c3174da8047faf4ac3a9d35edbdaa8",
            ),
        ),
        format=_MONKS,
        published=Published(169, 6, 0.62),
        positives=64,
        negatives=105,
        why="The ratio makes class 1 positive, and the row count is that of the training file.",
    ),
    Entry(
        number=6,
        key="sonar",
        name="Sonar",
        files=(
            uci(
                "sonar",
                "undocumented/connectionist-bench/sonar/sonar.all-data",
                "e90434cdbf00fcf93ffa911fe447ae25606979658e60f1d32e155c3b5240234d",
            ),
        ),
        format=Table(columns=(*numbered("x", 60), "object"), label="object", positive="M", negative="R"),
        published=Published(208, 60, 1.16),
        positives=111,
        negatives=97,
        why="The ratio makes mines positive.",
    ),
    Entry(
        number=10,
        key="ionosphere",
        name="Ionosphere",
        files=(
            uci(
                "ionosphere",
                "ionosphere/ionosphere.data",
                "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
            ),
        ),
        format=Table(columns=(*numbered("x", 34), "return"), label="return", positive="b", negative="g"),
        published=Published(351, 34, 0.56),
        positives=126,
        negatives=225,
        why="The ratio makes bad returns positive; 34 features count x2, which is always 0.",
    ),
    Entry(
        number=12,
        key="musk1",
        name="Musk-clean-1",
        files=(
            uci(
                "musk1",
                "musk/clean1.data.Z",
                "59e3be669d645a72b2de7e7baa21e7d4e537be918e4320e8dea6aadc9227f379",
            ),
        ),
        format=Table(
            columns=("molecule", "conformation", *numbered("f", 166), "class"),
            label="class",
            positive="1.",
            negative="0.",
            ignored=("molecule", "conformation"),
        ),
        published=Published(476, 166, 0.77),
        positives=207,
        negatives=269,
        why="The ratio makes musks positive; a row is a conformation, not a molecule.",
    ),
    Entry(
        number=16,
        key="australian",
        name="Statlog-australian",
        files=(
            uci(
                "australian",
                "statlog/australian/australian.dat",
                "3abe5af151afa50b999a9ba21cbc884e80d80a4050b716cf88b34a2e6ecb731c",
            ),
        ),
        format=Table(
            columns=(*numbered("A", 14), "class"),
            label="class",
            positive="1",
            negative="0",
            separator=None,
        ),
        published=Published(690, 14, 0.81, "Yes"),
        positives=307,
        negatives=383,
        why="The ratio makes class 1 positive; the source has filled in what was missing.",
    ),
    Entry(
        number=21,
        key="german",
        name="Statlog-german",
        files=(
            uci(
                "german",
                "statlog/german/german.data-numeric",
                "2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8",
            ),
        ),
        format=Table(
            columns=(*numbered("x", 24), "class"),
            label="class",
            positive="1",
            negative="2",
            separator=None,
        ),
        published=Published(1000, 24, 2.34),
        positives=700,
        negatives=300,
        why="24 features are those of the numeric file; the ratio makes good credit positive.",
    ),
    Entry(
        number=22,
        key="ozone-eight",
        name="Ozone-eight",
        files=(
            uci(
                "ozone-eight",
                "ozone/eighthr.data",
                "9a24c3e5c43570148869fec02edcd44dd1cb06e97c2bbc0b6ab24ebdd21de37e",
            ),
        ),
        format=_OZONE,
        published=Published(1847, 72, 0.07, "687"),
        positives=128,
        negatives=1719,
        why="The ratio makes ozone days positive; the date is not among the 72 features.",
    ),
    Entry(
        number=23,
        key="ozone-one",
        name="Ozone-one",
        files=(
            uci(
                "ozone-one",
                "ozone/onehr.data",
                "342aceeafccd3994b2f5ee70c80f825e5d2d11e3224a83b3cc05fd11acaa7121",
            ),
        ),
        format=_OZONE,
        published=Published(1848, 72, 0.03, "688"),
        positives=57,
        negatives=1791,
        why="As Ozone-eight, with the one-hour peak as the label.",
    ),
    Entry(
        number=27,
        key="spambase",
        name="Spambase",
        files=(
            uci(
                "spambase",
                "spambase/spambase.data",
                "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
            ),
        ),
        format=Table(columns=(*_SPAM, "spam"), label="spam", positive="1", negative="0"),
        published=Published(4601, 57, 0.65),
        positives=1813,
        negatives=2788,
        why="The ratio makes spam positive.",
    ),
    Entry(
        number=31,
        key="skin",
        name="Skin-nonskin",
        files=(
            uci(
                "skin",
                "00229/Skin_NonSkin.txt",
                "e30c0a845385dcc95a45c45ed263465674a49638e98ef740afd520769c7714a4",
            ),
        ),
        format=Table(
            columns=("B", "G", "R", "class"),
            label="class",
            positive="1",
            negative="2",
            separator="\t",
        ),
        published=Published(245057, 3, 0.26),
        positives=50859,
        negatives=194198,
        why="The ratio makes skin positive.",
    ),
)
