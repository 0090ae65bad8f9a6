"""Load a model file as an estimator: the one that was saved, or the equivalent of what `pater train` learned.

Knows every estimator, and `stream`, which writes the same files. The class comes from the table below, never from a
name looked up elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..files import model_file as modelfile
from ..files.container import OF_ANOTHER_KIND
from ..files.model_file import ModelFileError, Saved
from ..models.candidates import PRIORS
from ..models.model import Model
from ..models.pool import Pool
from ..models.setting_kinds import OperatingPoint
from ..models.settings import SETTINGS
from ..models.spec import Spec, is_pool
from ..preprocessing.stream_encoder import StreamEncoder
from ..stream.learner import Learner
from . import parameters
from .auto import PLAIN, AutoPATERClassifier
from .base import LinearClassifier
from .baselines import ALMAClassifier, PassiveAggressiveClassifier, Perceptron
from .baselines_second_order import AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPerceptron
from .online import OnlineClassifier
from .pater import PATERClassifier, SecondOrderPATERClassifier
from .pipeline import OnlinePipeline
from .table_encoder import TableEncoder
from .ter import TERClassifier

ESTIMATORS: dict[str, Any] = {
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
OF_RULE: dict[str, tuple[Any, str]] = {
    rule: (kind, variant)
    for kind in ESTIMATORS.values()
    if issubclass(kind, OnlineClassifier) and kind is not AutoPATERClassifier
    for variant, rule in kind._rules.items()
}


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a model file, as it was when it was saved, to the bit.

    Nothing in the file is executed. A damaged, truncated or forged file is refused with a `ModelFileError`, which is a
    ValueError. A model from `pater train` becomes the estimator of its rule if it used the features as they were, or
    an `OnlinePipeline` with a `TableEncoder` if it encoded a table. Models with `--scale` or hashing cannot be loaded
    as estimators; use `pater predict`.

    Parameters
    ----------
    path : str or path
        A file written by `save` of an estimator or an `OnlinePipeline`, or by `pater train`.

    Returns
    -------
    estimator
        Fitted, and ready to continue with `partial_fit`.

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
        beyond = _beyond_estimators(learner)
        if beyond is None:
            return estimator_of(saved) if learner.encoder is None else pipeline_of(saved)
    except OF_ANOTHER_KIND as error:
        raise ModelFileError(path, f"it is not a sound model file: {str(error)[:200]}.") from None
    raise ModelFileError(path, f"{beyond}; use pater predict, or stream.load.")


def _beyond_estimators(learner: Learner) -> str | None:
    """The features of a learner that no estimator has."""
    if learner.scaler is not None:
        return "its features are scaled along the stream, which no estimator does"
    if learner.columns is not None and learner.columns.bits:
        return "its features are hashed along the stream, which no estimator does"
    priors = {(covariance, r) for covariance, of_it in PRIORS.items() for r in of_it}
    if is_pool(learner.specs) and {(spec.covariance, spec.r) for spec in learner.specs} != priors:
        return "its candidates were narrowed down by --r or --covariance, which no estimator does"
    rule = learner.specs[0].rule
    return None if rule in (*OF_RULE, modelfile.BATCH_RULE) else f"no estimator learns by {rule!r}"


def pipeline_of(saved: Saved) -> OnlinePipeline:
    """The pipeline of an encoder and an estimator that a model file describes."""
    encoder, estimator = Learner.from_saved(saved).encoder, estimator_of(saved)
    assert encoder is not None
    encoding = encoder.encoding
    table = TableEncoder(resolution=encoder.resolution, **encoding.settings.to_json())
    table._stream = StreamEncoder(encoding.settings, encoding)
    table.n_features_in_, table.feature_names_in_ = len(encoding.names), np.array(encoding.names, object)
    return OnlinePipeline([("table", table), ("model", estimator)])


def estimator_of(saved: Saved) -> LinearClassifier:
    """The estimator that a model file describes; a ValueError or similar if it describes none."""
    described, model = saved.estimator, saved.model
    if described is None:
        estimator = _of_specs(saved)
        if isinstance(estimator, OnlineClassifier):
            specs = estimator._checked_specs()
            if list(map(_in_use, specs)) != list(map(_in_use, model.specs)):
                raise ValueError("its settings are those of no estimator")
            model = model.with_specs(specs)
    else:
        if (not saved.newer and set(described) != {"name", "params"}) or described["name"] not in ESTIMATORS:
            raise ValueError(f"there is no estimator {described.get('name')!r}")
        kind = ESTIMATORS[described["name"]]
        estimator = kind(**parameters.from_json(kind, described["params"], newer=saved.newer))
    estimator._take_over(model)
    estimator.n_features_in_ = model.n_features
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    return estimator


def _of_specs(saved: Saved) -> LinearClassifier:
    """The estimator whose parameters give these settings."""
    specs = saved.model.specs
    rule, more = specs[0].rule, {}
    if rule == modelfile.BATCH_RULE:
        kind: Any = TERClassifier
        more = {"ridge": getattr(saved.model, "ridge", 0.0)}
    elif len(specs) > 1:
        kind = AutoPATERClassifier
        more = {"scoring": saved.scoring, "scoring_settings": saved.scoring_settings, **_tried(saved.model)}
    else:
        kind, variant = OF_RULE[rule]
        more = {"variant": variant} if variant else {}
    names = kind._get_param_names()
    shared = {each.parameter: getattr(specs[0], name) for name, each in SETTINGS.items() if each.parameter in names}
    shared |= more
    if isinstance(shared["class_weight"], tuple):
        shared["class_weight"] = dict(shared["class_weight"])
    if "operating_point" in shared:
        shared["operating_point"] = OperatingPoint.told(shared["operating_point"])
    estimator: LinearClassifier = kind(**shared)
    return estimator


def _tried(model: Model | Pool) -> dict[str, Any]:
    """The parameters in which several learners differ. For wPATER: the variants and the weights."""
    specs = model.specs
    if isinstance(model, Pool):
        memories = {spec.forgetting for spec in specs}
        averages = {spec.average for spec in specs}
        return {
            "class_weight": None if len({spec.class_weight for spec in specs}) > 1 else specs[0].class_weight,
            "forgetting": None if len(memories) > 1 else specs[0].forgetting,
            "average": None if len(averages) > 1 else specs[0].average,
            "fading": None if model.fading == model.usual_fading else model.fading,
            "discount": True,
        }
    own = {name: None for name, default in PLAIN.items() if getattr(specs[0], name) == default}
    rules = dict.fromkeys(spec.rule for spec in specs)
    variants = tuple(variant for rule in rules for variant, of in AutoPATERClassifier._rules.items() if of == rule)
    pairs = [spec.alphas for spec in specs[:: len(rules)]]
    weights = tuple(alpha_neg for alpha_neg, _ in pairs[1 : 1 + len(pairs) // 2])
    return {**own, "variants": variants, "weights": weights}


def _in_use(spec: Spec) -> Spec:
    """The settings that matter to the rule: not whether it was watched, nor settings that it does not have."""
    return spec.without_unused()._replace(watch=True)  # type: ignore[no-any-return]
