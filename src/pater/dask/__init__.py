"""Learning from collections of Dask, block by block, on the workers of a cluster.

The data stays where it is: models travel, as bytes of model files. What comes back is an ordinary estimator.

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

    Each block is learned by itself, by `partial_fit`, and the models are merged in the order of the blocks. So the
    result is the same, to the bit, on any number of workers, whichever block is done first and whichever worker fails:
    it is that of:

        merge_all(clone(estimator).partial_fit(X_of_block, y_of_block) for each block that has rows)

    Blocks of a table, behind a `TableEncoder`, go on from one beginning: the first rows of eight blocks, spread over
    all (of more, if these are short), 10,000 in all, decide how columns are encoded and begin to be learned from. What
    the beginning has counted is taken out of each block again, so that each row counts once. Fewer rows than that in
    all blocks are learned in one stream. Data is read once, and none of it comes to the client.

    Parameters
    ----------
    estimator : estimator
        A learner of pater, or an `OnlinePipeline` of a `TableEncoder` and one. It stays as it is.
    X : dask array, dask DataFrame, or list of delayed batches
        The rows. An array has one chunk of columns; its blocks are dense or sparse, and need not know how many rows
        they have. A batch is (X, y) or (X, y, sample_weight).
    y : dask array or Series
        The labels, cut like X; None where batches bring them.
    sample_weight : dask array or Series, optional
        Importance of each sample, cut like X.
    classes : array-like of labels, optional
        All classes there may be; a label outside is an error. Without it, they are those that turn up in some block.
    client : distributed.Client, optional
        Whose workers learn. None is for the current client if there is one, and else for Dask's local scheduler.
    exact : {None, "sequential"}
        With "sequential" one model is passed from block to block, which is one pass over all rows in order, to the bit,
        in the time of one worker.

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
    """The label of each row, when it is asked for.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array or Series
        The labels; of a DataFrame, a Series with its index.
    """
    return said_of_blocks(model, "predict", X)


def decision_function(model: Any, X: Any) -> Any:
    """The margins of each row, when they are asked for.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array, Series or DataFrame
        One number a row for two classes, else one for each class; of a DataFrame, with its index.
    """
    return said_of_blocks(model, "decision_function", X)


def predict_proba(model: Any, X: Any) -> Any:
    """Probabilities of the classes, when they are asked for.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted with `probability=True`.
    X : dask array or dask DataFrame
        The rows.

    Returns
    -------
    dask array or DataFrame
        A column for each class; of a DataFrame, with its index.
    """
    return said_of_blocks(model, "predict_proba", X)
