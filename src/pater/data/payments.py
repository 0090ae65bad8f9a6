"""Made-up payments: a small table of rare events, for a first look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COUNTRIES = ("DE", "FR", "IN", "JP", "US")
DEVICES = ("laptop", "phone", "terminal")
BEGIN, DAYS = np.datetime64("2024-01-01T00:00:00", "s"), 60
SECONDS_OF_A_DAY = 86_400


class Payment(NamedTuple):
    """One line of the table, as text; missing values are empty."""

    when: str
    amount: str
    age: str
    country: str
    device: str
    tries: str
    fraud: str


def made_payments(n: int, seed: int = 0) -> Iterator[Payment]:
    """`n` payments in chronological order, about one in thirty of them a fraud.

    Fraud is likelier at night, for amounts between 80 and 250, in France, on a laptop and after several tries.
    """
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, DAYS * SECONDS_OF_A_DAY, n))
    amount = np.round(rng.lognormal(3.5, 1.2, n), 2)
    age = rng.integers(18, 90, n)
    country = rng.choice(len(COUNTRIES), n, p=[0.4, 0.2, 0.1, 0.1, 0.2])
    device = rng.choice(len(DEVICES), n, p=[0.3, 0.3, 0.4])
    tries = 1 + rng.poisson(0.2, n)
    odds = -7.8 + 2.5 * _at_night(seconds) + 2.0 * ((amount >= 80) & (amount <= 250)) + 1.5 * (country == 1)
    odds += 3.0 * (device == 0) + 1.0 * (tries - 1) - 0.02 * (age - 50)
    fraud = rng.random(n) < 1 / (1 + np.exp(-odds))
    no_age, no_country = rng.random(n) < 0.05, rng.random(n) < 0.02
    for k, when in enumerate(BEGIN + seconds):
        yield Payment(
            when=str(when).replace("T", " "),
            amount=f"{amount[k]:.2f}",
            age="" if no_age[k] else str(age[k]),
            country="" if no_country[k] else COUNTRIES[country[k]],
            device=DEVICES[device[k]],
            tries=str(tries[k]),
            fraud="yes" if fraud[k] else "no",
        )


def _at_night(seconds: NDArray[np.int64]) -> NDArray[np.bool_]:
    return seconds % SECONDS_OF_A_DAY < 6 * 3600
