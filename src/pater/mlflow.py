"""Model files as models of MLflow: what `mlflow.pyfunc` calls to load one.

Knows `load`; MLflow itself is not imported. docs/mlflow.md says how a model is stored.
"""

from __future__ import annotations

from typing import Any


def _load_pyfunc(path: str) -> Any:
    """The estimator that a model file holds, whose `predict` MLflow calls. The name is MLflow's."""
    from .estimators.load import load

    return load(path)
