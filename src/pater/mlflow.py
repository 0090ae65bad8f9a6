"""Model files as MLflow models: the function that `mlflow.pyfunc` calls to load one.

Knows `load`; MLflow itself is not imported. docs/mlflow.md says how to store a model.
"""

from __future__ import annotations

from typing import Any


def _load_pyfunc(path: str) -> Any:
    """The estimator in a model file; MLflow calls its `predict`. The function's name is MLflow's."""
    from .estimators.load import load

    return load(path)
