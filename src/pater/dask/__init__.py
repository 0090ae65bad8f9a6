"""Learning from Dask collections, block by block, on the workers of a cluster.

The data stays where it is: only models are sent, as bytes of model files. The result is an ordinary estimator.

Examples
--------
>>> import dask.array as da
>>> import pater.dask
>>> X = da.random.default_rng(0).normal(size=(4000, 3), chunks=(1000, 3))
>>> y = X[:, 0] > 1
>>> model = pater.dask.fit(pater.PATERClassifier(), X, y)
>>> model.classes_, pater.dask.predict(model, X).chunks
(array([False,  True]), ((1000, 1000, 1000, 1000),))
"""

from __future__ import annotations

from typing import Any

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f'pater.dask needs Dask ({error}): pip install "pater[dask]".') from None

from ..estimators.blocks import OtherVersionError, Plan
from .blocks import batches_of
from .engine import Engine
from .fitting import fitted
from .prediction import said_of_blocks

__all__ = ["OtherVersionError", "decision_function", "fit", "predict", "predict_proba"]


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
    client: Any = None,
    exact: str | None = None,
) -> Any:
    """Learn from all blocks of rows, each where it is.

    Each block is learned separately by `partial_fit`, and the models are merged in the order of the blocks. So the
    result is the same, to the bit, with any number of workers, whichever block finishes first and whichever worker
    fails. It equals:

        merge_all(clone(estimator).partial_fit(X_of_block, y_of_block) for each block that has rows)

    Blocks of a table, behind a `TableEncoder`, start from a common model: the first rows of eight blocks, spread over
    all of them (of more if these are short), 10,000 in total, decide how columns are encoded, and the model learns from
    them. What it had counted is subtracted from each block again, so that each row counts once. If all blocks together
    have fewer rows, they are learned in one stream. Data is read once, and none of it is sent to the client.

    Parameters
    ----------
    estimator : estimator
        A learner of pater, or an `OnlinePipeline` of a `TableEncoder` and one. It is not changed.
    X : dask array, dask DataFrame, or list of delayed batches
        The rows. An array has one chunk of columns; its blocks are dense or sparse, and their sizes may be unknown. A
        batch is (X, y) or (X, y, sample_weight).
    y : dask array or Series
        The labels, split like X; None if batches include them.
    sample_weight : dask array or Series, optional
        Importance of each sample, split like X.
    classes : array-like of labels, optional
        All classes; any other label is an error. Without it, the classes are those that occur in some block.
    client : distributed.Client, optional
        The client whose workers learn. None means the current client if there is one, else Dask's local scheduler.
    exact : {None, "sequential"}
        With "sequential" one model is passed from block to block: exactly one pass over all rows in order, but no
        faster than one worker.

    Returns
    -------
    estimator
        A new one, fitted.
    """
    if exact not in (None, "sequential"):
        raise ValueError(f"exact must be None or 'sequential', got {exact!r}.")
    plan = Plan(estimator, classes)
    batches = batches_of(X, y, sample_weight, is_table=plan.warm_up > 0)
    return fitted(Engine(client), plan, batches, sequential=exact is not None)


def predict(model: Any, X: Any) -> Any:
    """The label of each row, computed lazily.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array or Series
        The labels; for a DataFrame, a Series with its index.
    """
    return said_of_blocks(model, "predict", X)


def decision_function(model: Any, X: Any) -> Any:
    """The margins of each row, computed lazily.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array, Series or DataFrame
        One number per row for two classes, else one for each class; for a DataFrame, with its index.
    """
    return said_of_blocks(model, "decision_function", X)


def predict_proba(model: Any, X: Any) -> Any:
    """Probabilities of the classes, computed lazily.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted with `probability=True`.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array or DataFrame
        A column for each class; for a DataFrame, with its index.
    """
    return said_of_blocks(model, "predict_proba", X)
