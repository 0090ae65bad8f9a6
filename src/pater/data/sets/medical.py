"""UCI data sets from medicine: numbers only."""

from __future__ import annotations

from pater.data.entry import Entry, Published, listed
from pater.data.sets.addresses import uci
from pater.data.table import Table

_CELL = listed(
    "radius, texture, perimeter, area, smoothness, compactness, concavity, concave points, symmetry, fractal dimension"
)
_NUCLEI = (
    *(f"mean {name}" for name in _CELL),
    *(f"{name} error" for name in _CELL),
    *(f"worst {name}" for name in _CELL),
)
_VOICE = listed(
    "MDVP:Fo(Hz), MDVP:Fhi(Hz), MDVP:Flo(Hz), MDVP:Jitter(%), MDVP:Jitter(Abs), MDVP:RAP, "
    "MDVP:PPQ, Jitter:DDP, MDVP:Shimmer, MDVP:Shimmer(dB), Shimmer:APQ3, Shimmer:APQ5, MDVP:APQ, "
    "Shimmer:DDA, NHR, HNR"
)
_HEART = listed(
    "age, sex, chest pain type, resting blood pressure, serum cholesterol, fasting blood sugar, "
    "resting electrocardiogram, maximum heart rate, exercise induced angina, oldpeak, slope, "
    "major vessels, thal"
)
_CYTOLOGY = listed(
    "clump thickness, uniformity of cell size, uniformity of cell shape, marginal adhesion, "
    "single epithelial cell size, bare nuclei, bland chromatin, normal nucleoli, mitoses"
)
_PIMA = listed(
    "pregnancies, plasma glucose, diastolic blood pressure, triceps skin fold, serum insulin, "
    "body mass index, diabetes pedigree, age"
)
_BLOOD = listed("recency (months), frequency (times), monetary (c.c. blood), time (months)")

WDBC = Table(
    columns=("id", "diagnosis", *_NUCLEI),
    label="diagnosis",
    positive="B",
    negative="M",
    ignored=("id",),
)

ENTRIES = (
    Entry(
        number=4,
        key="wpbc",
        name="Wpbc",
        files=(
            uci(
                "wpbc",
                "breast-cancer-wisconsin/wpbc.data",
                "f2bd5ccdb6086fa832370dc043319907430cf6bfcfd3b96a3961a357be345c8e",
            ),
        ),
        format=Table(
            columns=("id", "outcome", "time", *_NUCLEI, "tumor size", "lymph node status"),
            label="outcome",
            positive="R",
            negative="N",
            ignored=("id",),
            missing="drop",
        ),
        published=Published(194, 33, 0.31, "4"),
        positives=46,
        negatives=148,
        why="The ratio makes recurrence positive, and 33 features need the time to count as one.",
    ),
    Entry(
        number=5,
        key="parkinsons",
        name="Parkinsons",
        files=(
            uci(
                "parkinsons",
                "parkinsons/parkinsons.data",
                "a36116c2deac07895b79ce97a2f99a1b3720ac4892995ff5c3b9ccb397ed2bc5",
            ),
        ),
        format=Table(
            columns=("name", *_VOICE, "status", *listed("RPDE, DFA, spread1, spread2, D2, PPE")),
            label="status",
            positive="1",
            negative="0",
            ignored=("name",),
            header_lines=1,
        ),
        published=Published(195, 22, 3.15),
        positives=147,
        negatives=48,
        why="The ratio makes the patients positive; the label stands in the middle of the columns.",
    ),
    Entry(
        number=7,
        key="spectf",
        name="SPECTF-heart",
        files=(
            uci(
                "spectf",
                "spect/SPECTF.train",
                "9c837e4fd4b7931d9be5304989e39f284f35f767518ffd4dfd42a6a519a9f30c",
            ),
            uci(
                "spectf",
                "spect/SPECTF.test",
                "467a65c81e14a71c029fa58bf9350ecdf28ff072303b99a832e8606e193a3882",
            ),
        ),
        format=Table(
            columns=("diagnosis", *(f"F{i}{side}" for i in range(1, 23) for side in "RS")),
            label="diagnosis",
            positive="1",
            negative="0",
        ),
        published=Published(267, 44, 3.89),
        positives=212,
        negatives=55,
        why="267 rows are the 80 of training and the 187 of testing, taken together.",
    ),
    Entry(
        number=8,
        key="heart",
        name="Statlog-heart",
        files=(
            uci(
                "heart",
                "statlog/heart/heart.dat",
                "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9",
            ),
        ),
        format=Table(
            columns=(*_HEART, "heart disease"),
            label="heart disease",
            positive="2",
            negative="1",
            separator=None,
        ),
        published=Published(270, 13, 0.80),
        positives=120,
        negatives=150,
        why="The ratio makes the presence of disease positive; categories come as numbers.",
    ),
    Entry(
        number=9,
        key="bupa",
        name="BUPA-liver",
        files=(
            uci(
                "bupa",
                "liver-disorders/bupa.data",
                "a166a3e7a6f4dc41aaaedc59a107e57d8adcaeb8821f0873d756982f1ea74c92",
            ),
        ),
        format=Table(
            columns=("mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks", "selector"),
            label="selector",
            positive="2",
            negative="1",
        ),
        published=Published(345, 6, 1.39),
        positives=200,
        negatives=145,
        why="The ratio makes selector 2 positive: the field is used as the class, as is usual.",
    ),
    Entry(
        number=13,
        key="wdbc",
        name="Wdbc",
        files=(
            uci(
                "wdbc",
                "breast-cancer-wisconsin/wdbc.data",
                "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
            ),
        ),
        format=WDBC,
        published=Published(569, 30, 1.69),
        positives=357,
        negatives=212,
        why="The ratio makes benign positive, the opposite of Breast-cancer-W.",
    ),
    Entry(
        number=15,
        key="breast-w",
        name="Breast-cancer-W",
        files=(
            uci(
                "breast-w",
                "breast-cancer-wisconsin/breast-cancer-wisconsin.data",
                "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
            ),
        ),
        format=Table(
            columns=("id", *_CYTOLOGY, "class"),
            label="class",
            positive="4",
            negative="2",
            ignored=("id",),
            missing="drop",
        ),
        published=Published(683, 9, 0.54, "16"),
        positives=239,
        negatives=444,
        why="The ratio makes malignant positive.",
    ),
    Entry(
        number=17,
        key="blood",
        name="Blood-transfusion",
        files=(
            uci(
                "blood",
                "blood-transfusion/transfusion.data",
                "96c8e1091b9c037bcaf25a19b24b49d07771cd88689ffd273e056e9e8845ffe7",
            ),
        ),
        format=Table(
            columns=(*_BLOOD, "donated"),
            label="donated",
            positive="1",
            negative="0",
            header_lines=1,
        ),
        published=Published(748, 4, 0.31),
        positives=178,
        negatives=570,
        why="The ratio makes donors positive.",
    ),
    Entry(
        number=18,
        key="pima",
        name="Pima-diabetes",
        files=(
            # UCI has withdrawn the set, hence a mirror of the same bytes.
            uci(
                "pima",
                "pima-indians-diabetes/pima-indians-diabetes.data",
                "06f5b7c2cd7bca686fda4f92eab5f61e7ff6426a9acefa2e3dda04fc54293cf5",
                "https://raw.githubusercontent.com/nebiljabari/Pima-Indian-Diabetes-Study/"
                "644641bcb55ac6bf7750c4ab54a26b5e8e922925/pima-indians-diabetes.data",
            ),
        ),
        format=Table(columns=(*_PIMA, "class"), label="class", positive="1", negative="0"),
        published=Published(768, 8, 0.54),
        positives=268,
        negatives=500,
        why="The ratio makes diabetes positive; zeros that stand for missing values are left, for "
        "the paper counts none as missing.",
    ),
    Entry(
        number=19,
        key="mammographic",
        name="Mammographic",
        files=(
            uci(
                "mammographic",
                "mammographic-masses/mammographic_masses.data",
                "072051c896fb14f8f25c64eed30ba1333290af41e6c9ffad4e1ca573daa865a8",
            ),
        ),
        format=Table(
            columns=("BI-RADS assessment", "age", "shape", "margin", "density", "severity"),
            label="severity",
            positive="1",
            negative="0",
            missing="drop",
        ),
        published=Published(830, 5, 0.95, "131"),
        positives=403,
        negatives=427,
        why="The ratio makes malignant positive; the one assessment of 55 is left as it is.",
    ),
)
