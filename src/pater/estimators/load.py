"""From a model file to the estimator that it is: the one that saved it, or the one that `pater train` was.

Knows every estimator, and `stream`, whose files these are, too. The class comes from the table below, never from a name
looked up elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..files import model_file as modelfile
from ..files.container import OF_ANOTHER_KIND
from ..files.model_file import ModelFileError, Saved
from ..kernels.rules import RULES
from ..models.model import Spec, Specs
from ..stream.learner import Learner
from . import parameters
from .auto import AutoPATERClassifier
from .base import LinearClassifier
from .baselines import ALMAClassifier, PassiveAggressiveClassifier, Perceptron
from .baselines_second_order import AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPerceptron
from .online import OnlineClassifier
from .pater import PATERClassifier, SecondOrderPATERClassifier
from .ter import TERClassifier

_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ALMAClassifier,
        AROWClassifier,
        AutoPATERClassifier,
        ConfidenceWeightedClassifier,
        PATERClassifier,
        PassiveAggressiveClassifier,
        Perceptron,
        SecondOrderPATERClassifier,
        SecondOrderPerceptron,
        TERClassifier,
    )
}
_WITH_C = ("pa-i", "pa-ii", "scw-i", "scw-ii")
_WITH_ETA = ("cw", "scw-i", "scw-ii")


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that a model file holds, as it was when it was saved, to the bit.

    Nothing in the file is executed. A file that is damaged, cut off or forged is refused with a `ModelFileError`, which
    is a ValueError. A model that `pater train` has learned becomes the estimator of its rule, if it took the features
    as they were: what `--scale` and hashing do to a row is done by `pater predict`, not by an estimator.

    Parameters
    ----------
    path : path-like
        A file written by `save` of an estimator, or by `pater train`.

    Returns
    -------
    estimator
        Fitted, and ready to go on with `partial_fit`.

    Examples
    --------
    >>> import os, tempfile
    >>> import pater
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pater")
    >>> pater.Perceptron().fit([[0.0], [3.0]], ["no", "yes"]).save(path)
    >>> pater.load(path).predict([[4.0]])
    array(['yes'], dtype='<U3')
    """
    saved = modelfile.load(path)
    try:
        learner = Learner.from_saved(saved)
        if learner.scaler is None and (learner.columns is None or not learner.columns.bits):
            return estimator_of(saved)
    except OF_ANOTHER_KIND as error:
        raise ModelFileError(path, f"it is not a sound model file: {str(error)[:200]}.") from None
    what = "scaled" if learner.scaler is not None else "hashed"
    raise ModelFileError(
        path, f"its features are {what} along the stream, which no estimator does; use pater predict, or stream.load."
    )


def estimator_of(saved: Saved) -> LinearClassifier:
    """The estimator that a model file describes; a ValueError or the like if it describes none."""
    described, model = saved.estimator, saved.model
    if described is None:
        estimator = _of_specs(saved)
        if isinstance(estimator, OnlineClassifier):
            specs = estimator._checked_specs()
            if list(map(_told, specs)) != list(map(_told, model.specs)):
                raise ValueError("its settings are those of no estimator")
            model = model.with_specs(specs)
    else:
        if (not saved.newer and set(described) != {"name", "params"}) or described["name"] not in _ESTIMATORS:
            raise ValueError(f"there is no estimator {described.get('name')!r}")
        kind = _ESTIMATORS[described["name"]]
        estimator = kind(**parameters.from_json(kind, described["params"], newer=saved.newer))
    estimator._take_over(model)
    estimator.n_features_in_ = model.state.n_features
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    return estimator


def _of_specs(saved: Saved) -> LinearClassifier:
    """The estimator whose parameters come to these settings."""
    specs = saved.model.specs
    rule, weight = specs[0].rule, specs[0].class_weight
    shared: dict[str, Any] = {
        "class_weight": dict(weight) if isinstance(weight, tuple) else weight,
        "fit_intercept": specs[0].intercept,
    }
    if rule == modelfile.BATCH_RULE:
        return TERClassifier(**shared)
    shared |= {"average": specs[0].average, "probability": specs[0].calibrate}
    if rule == "perceptron":
        return Perceptron(**shared)
    if rule.startswith("pa-") or rule == "pa":
        return PassiveAggressiveClassifier(rule.upper(), specs[0].C, **shared)
    if rule == "alma":
        return ALMAClassifier(specs[0].approximation, **shared)
    if RULES[rule].second_order:
        return _of_second_order(specs[0], {**shared, "covariance": specs[0].covariance})
    shared |= {"forgetting": specs[0].forgetting}
    if len(specs) == 1:
        return PATERClassifier(_variant(rule), **shared)
    variants, weights = _tried(specs)
    return AutoPATERClassifier(
        variants,
        weights,
        saved.scoring,
        scoring_settings=saved.scoring_settings,
        fading=specs[0].fading,
        discount=specs[0].discount,
        **shared,
    )


def _of_second_order(spec: Spec, shared: dict[str, Any]) -> LinearClassifier:
    if spec.rule in _WITH_ETA:
        return ConfidenceWeightedClassifier(spec.rule.upper(), spec.eta, spec.C, **shared)
    if spec.rule == "arow":
        return AROWClassifier(spec.r, **shared)
    if spec.rule == "so-perceptron":
        return SecondOrderPerceptron(spec.r, **shared)
    return SecondOrderPATERClassifier(_variant(spec.rule), spec.r, form=spec.form, **shared)


def _variant(rule: str) -> str:
    return rule.removeprefix("so-").removeprefix("pater-").upper()


def _tried(specs: Specs) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The variants, and the weights: each stands first as α⁻, later as α⁺."""
    variants = tuple(dict.fromkeys(_variant(spec.rule) for spec in specs))
    pairs = [spec.alphas for spec in specs[:: len(variants)]]
    return variants, tuple(alpha_neg for alpha_neg, _ in pairs[1 : 1 + len(pairs) // 2])


def _told(spec: Spec) -> Spec:
    """What matters to the rule: whether it was watched does not, nor a parameter that it does not have."""
    if spec.rule not in _WITH_C:
        spec = spec._replace(C=1.0)
    if spec.rule not in _WITH_ETA:
        spec = spec._replace(eta=0.9)
    if spec.rule != "alma":
        spec = spec._replace(approximation=0.9)
    if not RULES[spec.rule].second_order or spec.rule in _WITH_ETA:
        spec = spec._replace(r=1.0)
    if not RULES[spec.rule].second_order:
        spec = spec._replace(covariance="full")
    return spec._replace(watch=True)
