"""Data sets that need neither a folder nor a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from pater.data.entry import Parsed
from pater.data.sets.categorical import TIC_TAC_TOE
from pater.data.sets.medical import WDBC

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
X_MARK, O_MARK, BLANK = range(3)

Board = tuple[int, ...]


def wdbc() -> Parsed:
    """Wdbc from the copy in scikit-learn, in which class 1 is also benign."""
    from sklearn.datasets import load_breast_cancer

    X, benign = load_breast_cancer(return_X_y=True)
    y = np.where(benign == 1, 1, -1).astype(np.int8)
    return Parsed(np.ascontiguousarray(X, dtype=np.float64), y, WDBC.feature_names)


def tic_tac_toe() -> Parsed:
    """All boards on which a game of tic-tac-toe, begun by x, can end.

    The order is that of the UCI file: x has won, o has won, drawn; within each, sorted by the squares from the top
    left, x < o < blank.
    """
    boards = [board for board in product((X_MARK, O_MARK, BLANK), repeat=9) if _is_over(board)]
    boards.sort(key=lambda board: (not _has_line(board, X_MARK), not _has_line(board, O_MARK)))
    y = [-1 if _has_line(board, X_MARK) else 1 for board in boards]
    return Parsed(np.array(boards, float), np.array(y, np.int8), TIC_TAC_TOE.feature_names)


def _is_over(board: Board) -> bool:
    """Whether play can have ended here: x begins, and whoever completes a line has moved last."""
    lead = board.count(X_MARK) - board.count(O_MARK)
    x_won, o_won = _has_line(board, X_MARK), _has_line(board, O_MARK)
    if x_won:
        return lead == 1 and not o_won
    if o_won:
        return lead == 0
    return lead == 1 and BLANK not in board


def _has_line(board: Board, mark: int) -> bool:
    return any(all(board[square] == mark for square in line) for line in LINES)


EMBEDDED: Mapping[str, Callable[[], Parsed]] = {"wdbc": wdbc, "tic-tac-toe": tic_tac_toe}
