"""The primitives that the passes call. `plain` has the same names, and shows in plain loops what each does."""

from functools import partial

from numba.core import types
from numba.extending import intrinsic

from .byte_marks import marks  # noqa: F401
from .class_pairs import first, fma, larger, pair, second  # noqa: F401
from .dense_rows import dense_add_and_products, dense_products
from .plain import lowest, ones  # noqa: F401
from .sparse_rows import add_lines, line_products, sparse_add_and_products, sparse_products
from .vectors import absorb_four_columns, project_four_columns  # noqa: F401

_FOUR = types.UniTuple(types.float64, 4)


def _is_dense(rows):
    return len(rows.types) == 1


@intrinsic
def products(typing_context, rows, i, table):
    return _FOUR(rows, types.int64, table), dense_products if _is_dense(rows) else sparse_products


@intrinsic
def add_and_products(typing_context, rows, i, following, table, positive, s, a, b):
    numbers = [types.float64] * 3
    signature = _FOUR(rows, types.int64, types.int64, table, types.boolean, *numbers)
    return signature, dense_add_and_products if _is_dense(rows) else sparse_add_and_products


@intrinsic
def four_products(typing_context, rows, i, table):
    return _FOUR(rows, types.int64, table), partial(sparse_products, square="no")


def _products_of_lines(count):
    @intrinsic
    def products_of_lines(typing_context, rows, i, table, out):
        return types.float64(rows, types.int64, table, out), partial(line_products, count=count)

    return products_of_lines


products_of_three_lines, products_of_two_lines = _products_of_lines(3), _products_of_lines(2)


@intrinsic
def add_to_lines(typing_context, rows, i, table, coefficients, line):
    return types.void(rows, types.int64, table, coefficients, types.int64), add_lines
