"""UCI data sets with categories.

A category is coded by its position in the listing of the data set's own documentation, counted from 0. The paper does
not say so, but this coding gives its accuracies and the alphabetical one does not: for PATER-II on Mushroom, the paper
has 87.51, this coding gives 87.43, and the alphabetical one 85.8.
"""

from __future__ import annotations

from pater.data.entry import Entry, Published, listed, numbered
from pater.data.sets.addresses import uci
from pater.data.table import Table

_VOTES = listed(
    "handicapped-infants, water-project-cost-sharing, adoption-of-the-budget-resolution, "
    "physician-fee-freeze, el-salvador-aid, religious-groups-in-schools, anti-satellite-test-ban, "
    "aid-to-nicaraguan-contras, mx-missile, immigration, synfuels-corporation-cutback, "
    "education-spending, superfund-right-to-sue, crime, duty-free-exports, "
    "export-administration-act-south-africa"
)
_SQUARES = tuple(
    f"{row}-{column}-square" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")
)
_CREDIT = {
    "A1": "b a",
    "A4": "u y l t",
    "A5": "g p gg",
    "A6": "c d cc i j k m r q w x e aa ff",
    "A7": "v h bb j n z dd ff o",
    "A9": "t f",
    "A10": "t f",
    "A12": "t f",
    "A13": "g p s",
}
_MUSHROOM = {
    "cap-shape": "b c x f k s",
    "cap-surface": "f g y s",
    "cap-color": "n b c g r p u e w y",
    "bruises": "t f",
    "odor": "a l c y f m n p s",
    "gill-attachment": "a d f n",
    "gill-spacing": "c w d",
    "gill-size": "b n",
    "gill-color": "k n b h g r o p u e w y",
    "stalk-shape": "e t",
    "stalk-root": "b c u e z r",
    "stalk-surface-above-ring": "f y k s",
    "stalk-surface-below-ring": "f y k s",
    "stalk-color-above-ring": "n b c g o p e w y",
    "stalk-color-below-ring": "n b c g o p e w y",
    "veil-type": "p u",
    "veil-color": "n o w y",
    "ring-number": "n o t",
    "ring-type": "c e f l n p s z",
    "spore-print-color": "k n b h r o u w y",
    "population": "a c n s v y",
    "habitat": "g l m p u w d",
}

TIC_TAC_TOE = Table(
    columns=(*_SQUARES, "outcome"),
    label="outcome",
    positive="negative",
    negative="positive",
    codes=dict.fromkeys(_SQUARES, "x o b"),
)

ENTRIES = (
    Entry(
        number=11,
        key="votes",
        name="Votes",
        files=(
            uci(
                "votes",
                "voting-records/house-votes-84.data",
                "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e",
            ),
        ),
        format=Table(
            columns=("party", *_VOTES),
            label="party",
            positive="democrat",
            negative="republican",
            codes=dict.fromkeys(_VOTES, "n y ?"),
            missing="value",
        ),
        published=Published(435, 16, 1.60, "Yes"),
        positives=267,
        negatives=168,
        why="All 435 rows are used in the paper though 203 have a '?', so it is a third vote.",
    ),
    Entry(
        number=14,
        key="crx",
        name="Credit-app",
        files=(
            uci(
                "crx",
                "credit-screening/crx.data",
                "fff49bc186cbddb3ace7371d40d9fbbb3af4f126019c13ff3f562249b1454f4d",
            ),
        ),
        format=Table(
            columns=(*numbered("A", 15), "class"),
            label="class",
            positive="-",
            negative="+",
            codes=_CREDIT,
            missing="drop",
        ),
        published=Published(653, 15, 1.21, "37"),
        positives=357,
        negatives=296,
        why="The ratio makes the refused ('-') positive.",
    ),
    Entry(
        number=20,
        key="tic-tac-toe",
        name="Tic-tac-toe",
        files=(
            uci(
                "tic-tac-toe",
                "tic-tac-toe/tic-tac-toe.data",
                "a996a756484d0cf8cbad1680d823aadbfcff8ae2d78c450e6999362d580301c5",
            ),
        ),
        format=TIC_TAC_TOE,
        published=Published(958, 9, 0.53),
        positives=332,
        negatives=626,
        why="The ratio makes the label 'negative' (x did not win) the positive class.",
    ),
    Entry(
        number=28,
        key="mushroom",
        name="Mushroom",
        files=(
            uci(
                "mushroom",
                "mushroom/agaricus-lepiota.data",
                "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
            ),
        ),
        format=Table(
            columns=("class", *_MUSHROOM),
            label="class",
            positive="e",
            negative="p",
            codes=_MUSHROOM,
            missing="drop",
        ),
        published=Published(5644, 22, 1.62, "Attr#11"),
        positives=3488,
        negatives=2156,
        why="The ratio makes edible positive; 2480 rows lack attribute 11 (stalk-root).",
    ),
)
