"""Try the cells of docs/compared.md, in an environment that has every library compared.

    pip install ".[river]" vowpalwabbit capymoa      # CapyMOA needs Java
    python benchmarks/compared.py
    python benchmarks/compared.py scikit-learn River

A cell that begins with "no" says that a library lacks something, any other that it has it. Each check does what the
cell is about, or looks through all public names of the library.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from compared_with import (
    THREE,
    Check,
    X,
    Y,
    estimator,
    fails,
    has,
    has_console,
    later_class,
    merged_vw,
    moa,
    moa_scales,
    module,
    named,
    names,
    of_vw,
    online,
    parameter,
    pater_kinds,
    pater_option,
    river,
    schema,
    sgd,
    sk,
    sparse,
    taught,
    vw,
    vw_file,
    yes,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compared.md"
LIBRARIES = ("pater", "scikit-learn", "River", "Vowpal Wabbit", "CapyMOA")
DISTRIBUTIONS = dict(zip(LIBRARIES, ("pater", "scikit-learn", "river", "vowpalwabbit", "capymoa"), strict=True))

# In the order of LIBRARIES; None where the cell is not tried.
CHECKS: dict[str, tuple[Check | None, ...]] = {
    "Passive-aggressive rules": (
        lambda: [estimator("PassiveAggressiveClassifier", v).fit(X, Y) for v in ("PA", "PA-I", "PA-II")],
        lambda: [sgd(loss="hinge", penalty=None, learning_rate=r, eta0=1.0).fit(X, Y) for r in ("pa1", "pa2")],
        lambda: [taught(river("linear_model.PAClassifier", mode=m)) for m in range(3)],
        has("passive"),
        lambda: moa("PassiveAggressiveClassifier", loss="squared_hinge"),
    ),
    "Rules for the total error rate": (
        lambda: [estimator(n).fit(X, Y) for n in ("PATERClassifier", "AutoPATERClassifier", "TERClassifier")],
        lambda: np.allclose(
            sk("linear_model.RidgeClassifier", 1.0, class_weight="balanced").fit(X, Y).coef_,
            estimator("TERClassifier", ridge=2 / len(X)).fit(X, Y).coef_,
        ),
        named("river", "pater", "totalerror"),
        has("total error"),
        named("capymoa", "pater", "totalerror"),
    ),
    "Second order: a covariance of the weights": (
        lambda: [
            estimator(n, covariance=c).fit(X, Y)
            for n in ("AROWClassifier", "ConfidenceWeightedClassifier", "SecondOrderPATERClassifier")
            for c in ("full", "diagonal")
        ],
        named("sklearn", "arow", "confidenceweighted", "secondorder"),
        lambda: taught(river("linear_model.AdPredictor")),
        lambda: vw("--OjaNewton", ["1 |a x", "-1 |a y"]),
        named("capymoa", "arow", "confidenceweighted", "secondorder"),
    ),
    "Logistic and other losses by gradient": (
        lambda: any("loss" in inspect.signature(kind).parameters for kind in pater_kinds()),
        lambda: sgd(loss="log_loss").fit(X, Y),
        lambda: taught(river("linear_model.LogisticRegression")),
        lambda: vw("--loss_function logistic", ["1 |a x", "-1 |a y"]),
        lambda: moa("SGDClassifier", loss="log_loss"),
    ),
    "Sparse weights by an L1 penalty": (
        lambda: any("penalty" in inspect.signature(kind).parameters for kind in pater_kinds()),
        lambda: sgd(penalty="l1").fit(X, Y),
        lambda: taught(river("linear_model.LogisticRegression", l1=0.1)),
        lambda: vw("--l1 0.001", ["1 |a x", "-1 |a y"]),
        lambda: moa("SGDClassifier", penalty="l1"),
    ),
    "Regression": (
        lambda: any(name.endswith("Regressor") for name in importlib.import_module("pater").__all__),
        named("sklearn.linear_model", "sgdregressor"),
        lambda: taught(river("linear_model.LinearRegression")),
        lambda: vw("--loss_function squared", ["0.5 |a x"]),
        named("capymoa.regressor", "regressor"),
    ),
    "Trees and ensembles that learn online": (
        named("pater", "tree", "forest", "bagging"),
        online(".tree", ".ensemble"),
        lambda: taught(river("tree.HoeffdingTreeClassifier")),
        lambda: vw("--boosting 5", ["1 |a x", "-1 |a y"]) and vw("--bootstrap 5", ["1 |a x", "-1 |a y"]),
        lambda: [moa("HoeffdingTree"), moa("AdaptiveRandomForestClassifier")],
    ),
    "Clusters and anomalies, online": (
        named("pater", "kmeans", "anomaly"),
        lambda: online("cluster")() and hasattr(importlib.import_module("sklearn.linear_model"), "SGDOneClassSVM"),
        lambda: [river("cluster.KMeans"), river("anomaly.HalfSpaceTrees")],
        has("clustering"),
        lambda: named("capymoa", "clustream")() and named("capymoa", "halfspacetrees")(),
    ),
    "Bandits": (
        named("pater", "bandit"),
        named("sklearn", "bandit"),
        named("river.bandit", "epsilongreedy"),
        lambda: vw("--cb_explore 2", ["1:0.5:0.5 |a x"]),
        lambda: any(
            "bandit" in name and "bandit_classifier" not in name and name != "banditclassifier"
            for name in names("capymoa")
        ),
    ),
    "Active learning": (
        named("pater", "activelearning", "uncertaintysampl"),
        named("sklearn", "activelearning", "uncertaintysampl"),
        named("river", "entropysampler"),
        lambda: vw("--active --simulation", ["1 |a x", "-1 |a y"]),
        named("capymoa", "activelearning", "active_learning", "uncertaintysampl"),
    ),
    "Streams with few labels": (
        named("pater", "semisupervised", "semi_supervised", "selftraining"),
        online("semi_supervised"),
        named("river", "semisupervised", "semi_supervised", "selftraining"),
        has("semi-supervised"),
        named("capymoa", "prequential_ssl_evaluation"),
    ),
    "More than two classes": (
        lambda: estimator("PATERClassifier").fit(X, THREE).classes_.size == 3,
        lambda: sgd().fit(X, THREE).classes_.size == 3,
        lambda: (
            not river("linear_model.PAClassifier")._multiclass
            and taught(
                river("multiclass.OneVsRestClassifier", river("linear_model.PAClassifier")),
                [({"a": float(k)}, k) for k in range(3)],
            )._multiclass
        ),
        lambda: vw("--oaa 3", ["1 |a x", "2 |a y", "3 |a z"]) == [1, 2, 3],
        lambda: moa("PassiveAggressiveClassifier", y=2, classes=("0", "1", "2")),
    ),
    "A class that turns up later": (
        lambda: later_class(estimator("PATERClassifier")),
        lambda: not fails(lambda: later_class(sgd())),
        lambda: (
            taught(
                river("multiclass.OneVsRestClassifier", river("linear_model.PAClassifier")),
                [({"a": float(k)}, k) for k in range(4)],
            ).predict_one({"a": 1.0})
            is not None
        ),
        lambda: vw("--oaa 3", ["1 |a x", "2 |a y", "4 |a z"])[2] == 4,
        lambda: not fails(lambda: moa("PassiveAggressiveClassifier", y=2)),
    ),
    "A feature that turns up later": (
        lambda: (
            fails(lambda: estimator("PATERClassifier").partial_fit(X[:, :2], Y).partial_fit(X, Y))
            and taught(
                importlib.import_module("pater.river").PATERClassifier(), [({"a": 1.0}, True), ({"b": 1.0}, False)]
            )
        ),
        lambda: not fails(lambda: sgd().partial_fit(X[:, :2], Y, classes=[0, 1]).partial_fit(X, Y)),
        lambda: taught(river("linear_model.PAClassifier"), [({"a": 1.0}, True), ({"b": 1.0}, False)]),
        lambda: vw("", ["1 |a x", "-1 |a y z"]),
        lambda: not fails(lambda: moa("PassiveAggressiveClassifier", width=4)),
    ),
    "Classes weigh alike along a stream": (
        lambda: estimator("PassiveAggressiveClassifier", class_weight="balanced").partial_fit(X, Y),
        lambda: not fails(lambda: sgd(class_weight="balanced").partial_fit(X, Y, classes=[0, 1])),
        lambda: taught(
            river("imblearn.RandomUnderSampler", river("linear_model.PAClassifier"), {True: 0.5, False: 0.5}, seed=1)
        ),
        lambda: not fails(lambda: vw("--classweight balanced", ["1 |a x"])),
        lambda: moa("CSMOTE"),
    ),
    "Weights of rows": (
        lambda: estimator("PATERClassifier").partial_fit(X, Y, sample_weight=np.ones(200)),
        lambda: sgd().partial_fit(X, Y, [0, 1], np.ones(200)),
        lambda: (
            river("linear_model.LogisticRegression").learn_one({"a": 1.0}, True, w=2.0) is None
            and fails(lambda: river("linear_model.PAClassifier").learn_one({"a": 1.0}, True, w=2.0))
        ),
        lambda: vw("", ["1 2.5 |a x"]),
        lambda: "weight" in inspect.signature(sys.modules["capymoa.core"].LabeledInstance.from_array).parameters,
    ),
    "A threshold for a rate or for costs, along the stream": (
        lambda: np.isfinite(
            estimator("PATERClassifier", operating_point={"max_fpr": 0.1}).partial_fit(X, Y).threshold_
        ),
        lambda: hasattr(sk("model_selection.TunedThresholdClassifierCV", sgd()), "partial_fit"),
        named("river", "operatingpoint", "tunedthreshold", "thresholdclassifier"),
        has("false alarm"),
        named("capymoa", "operatingpoint", "tunedthreshold", "thresholdclassifier"),
    ),
    "Calibrated probabilities, along the stream": (
        lambda: estimator("PATERClassifier", probability=True).partial_fit(X, Y).predict_proba(X),
        lambda: hasattr(sk("calibration.CalibratedClassifierCV", sgd()), "partial_fit"),
        named("river", "calibrat", "platt"),
        has("calibrat"),
        named("capymoa", "calibrat", "platt"),
    ),
    "Settings found in the pass": (
        lambda: estimator("AutoPATERClassifier").partial_fit(X, Y).best_params_,
        online("model_selection"),
        named("river.model_selection", "successivehalvingclassifier"),
        lambda: not fails(lambda: vw("--automl 4", ["1 |a x", "-1 |a y"])),
        lambda: named("capymoa.automl", "autoclass")() and named("capymoa.automl", "banditclassifier")(),
    ),
    "Follows a stream that changes": (
        lambda: estimator("SecondOrderPATERClassifier", forgetting=0.99).partial_fit(X, Y),
        lambda: sgd(learning_rate="constant", eta0=0.1).partial_fit(X, Y, classes=[0, 1]),
        lambda: [
            taught(river("tree.HoeffdingAdaptiveTreeClassifier", seed=1)),
            river("drift.DriftRetrainingClassifier", river("linear_model.PAClassifier"), river("drift.binary.DDM")),
        ],
        lambda: vw("--sgd --power_t 0 -l 0.1", ["1 |a x"]),
        lambda: moa("HoeffdingAdaptiveTree"),
    ),
    "Drift detectors": (
        pater_option("evaluate", "drift"),
        named("sklearn", "adwin", "pagehinkley", "drift"),
        lambda: [river(f"drift.{n}") for n in ("ADWIN", "KSWIN", "PageHinkley", "binary.DDM")],
        has("drift detect"),
        lambda: (
            sum(
                inspect.isclass(each) and not name.startswith(("Base", "DataDrift"))
                for name, each in vars(importlib.import_module("capymoa.drift.detectors")).items()
            )
            >= 24
        ),
    ),
    "Rows judged before they are learned from": (
        pater_option("evaluate", "before it learns"),
        named("sklearn", "prequential", "progressive"),
        named("river.evaluate", "progressive_val_score"),
        has("--progress"),
        named("capymoa.evaluation", "prequential_evaluation"),
    ),
    "… and labels that come late": (
        pater_option("evaluate", "--delay"),
        named("sklearn", "labeldelay", "label_delay"),
        parameter("river.evaluate.progressive_val_score", "delay"),
        has("label delay"),
        parameter("capymoa.evaluation.prequential_ssl_evaluation", "delay_length"),
    ),
    "Streams with drift, made to order": (
        named("pater", "conceptdrift"),
        named("sklearn.datasets", "drift"),
        named("river.datasets", "conceptdriftstream"),
        has("generate drift"),
        named("capymoa.stream", "driftstream", "generatordrift"),
    ),
    "Sparse rows": (
        lambda: estimator("PATERClassifier").fit(sparse(), Y),
        lambda: sgd().fit(sparse(), Y),
        lambda: taught(river("linear_model.PAClassifier")),
        lambda: vw("", ["1 |a x"]),
        lambda: not fails(lambda: importlib.import_module("capymoa.stream").NumpyStream(sparse(), Y).next_instance().x),
    ),
    "Numbers scaled along the stream": (
        lambda: importlib.import_module("pater.preprocessing").TableEncoder().partial_fit(X),
        online("preprocessing"),
        lambda: river("preprocessing.StandardScaler").learn_one({"a": 1.0}) is None,
        lambda: vw("--normalized", ["1 |a x:1000"]),
        moa_scales,
    ),
    "Numbers in bins, along the stream": (
        lambda: parameter("pater.preprocessing.TableEncoder", "resolution")(),
        lambda: hasattr(sk("preprocessing.KBinsDiscretizer"), "partial_fit"),
        named("river.preprocessing", "bins", "discreti"),
        has("bins"),
        named("capymoa", "discreti"),
    ),
    "Categories along the stream": (
        lambda: importlib.import_module("pater.preprocessing").TableEncoder().partial_fit([{"a": "x"}, {"a": "y"}]),
        named("sklearn.feature_extraction", "featurehasher"),
        lambda: river("preprocessing.OneHotEncoder").learn_one({"a": "x"}) is None,
        lambda: vw("", ["1 |a colour=red"]),
        lambda: schema().get_moa_header() is not None,
    ),
    "Dates, as hour, weekday, month and age": (
        None,
        named("sklearn", "dateencoder", "datetimeencoder", "weekday"),
        named("river", "datetimeencoder", "dateextractor", "weekday"),
        has("weekday"),
        named("capymoa", "dateencoder", "datetimeencoder", "weekday"),
    ),
    "Words of texts": (
        None,
        named("sklearn", "hashingvectorizer"),
        lambda: river("feature_extraction.BagOfWords").transform_one("two words"),
        lambda: vw("--ngram 2", ["1 |a two words"]),
        named("capymoa", "bagofwords", "hashingvectorizer", "tokeni"),
    ),
    "Crossed columns": (
        lambda: parameter("pater.preprocessing.TableEncoder", "interactions")(),
        named("sklearn.preprocessing", "polynomialfeatures"),
        lambda: river("feature_extraction.PolynomialExtender").transform_one({"a": 1.0, "b": 2.0}),
        lambda: vw("-q ab", ["1 |a x |b y"]) and vw("--interactions abc", ["1 |a x |b y |c z"]),
        named("capymoa", "polynomial", "interaction"),
    ),
    "Files larger than memory": (
        pater_option("train", "libsvm, vw, csv, tsv, jsonl, parquet"),
        parameter("sklearn.datasets.load_svmlight_file", "offset"),
        lambda: all(named("river.stream", f"iter_{form}")() for form in ("csv", "libsvm", "arff")),
        has("--json", "--csv"),
        lambda: named("capymoa.stream", "csvstream")() and named("capymoa.stream", "arffstream")(),
    ),
    "scikit-learn's interface": (
        lambda: hasattr(estimator("PATERClassifier"), "get_params"),
        yes,
        named("river.compat", "convert_river_to_sklearn"),
        lambda: importlib.import_module("vowpalwabbit.sklearn").VWClassifier,
        lambda: hasattr(importlib.import_module("capymoa.classifier").HoeffdingTree, "partial_fit"),
    ),
    "A command line": (
        has_console("pater"),
        has_console("scikit-learn"),
        has_console("river"),
        lambda: len(of_vw()) > 1000,
        has_console("capymoa"),
    ),
    "A service": (
        module("pater.serve"),
        named("sklearn", "httpserver", "daemon"),
        named("river", "httpserver", "daemon"),
        has("--daemon"),
        named("capymoa", "httpserver", "daemon"),
    ),
    "A killed run goes on, to the same bytes": (
        pater_option("train", "--checkpoint-every"),
        named("sklearn", "checkpoint"),
        named("river", "checkpoint"),
        has("checkpoint"),
        named("capymoa", "checkpoint"),
    ),
    "Models of shards merge": (
        lambda: importlib.import_module("pater").merge_all([estimator("PATERClassifier").fit(X, Y) for _ in "12"]),
        lambda: hasattr(sgd(), "merge"),
        lambda: hasattr(river("linear_model.PAClassifier"), "merge"),
        merged_vw,
        lambda: hasattr(moa("PassiveAggressiveClassifier"), "merge"),
    ),
    "Many machines": (
        lambda: module("pater.dask")() and module("pater.spark")(),
        None,
        named("river", "cluster_client", "dask", "spark"),
        has("--span_server"),
        named("capymoa", "dask", "spark", "flink"),
    ),
    "A model file that executes nothing": (
        lambda: hasattr(estimator("PATERClassifier"), "save"),
        lambda: hasattr(sgd(), "save"),
        lambda: hasattr(river("linear_model.PAClassifier"), "save"),
        vw_file,
        lambda: "Pickler" not in inspect.getsource(importlib.import_module("capymoa.core.io")),
    ),
    "A model for other programs": (
        lambda: module("pater.export")() and module("pater.onnx")(),
        None,
        named("river", "onnx", "pmml"),
        has("--readable_model"),
        named("capymoa", "onnx", "pmml"),
    ),
    "What makes up a decision": (
        lambda: estimator("PATERClassifier").fit(X, Y).explain(X[:2]),
        lambda: hasattr(sgd(), "explain"),
        lambda: hasattr(river("compose.Pipeline"), "debug_one"),
        has("--audit"),
        named("capymoa", "explain", "shap"),
    ),
    "What it needs": (yes, yes, yes, yes, module("jpype")),
}


def cells() -> dict[str, list[str]]:
    rows = [
        re.split(r"\s*\|\s*", line.strip("| \n")) for line in PAGE.read_text().splitlines() if line.startswith("| ")
    ]
    return {row[0]: row[1:] for row in rows if len(row) == 6 and not row[0].startswith("---")}


def wrong(library: str) -> Iterator[str]:
    """What the page gets wrong about a library."""
    column, table = LIBRARIES.index(library), cells()
    for row, checks in CHECKS.items():
        check, cell = checks[column], table[row][column]
        if check is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = check()
            except Exception as error:
                yield f"{row} ({library}): the check fails: {error!r}"
                continue
        there = bool(found) if isinstance(found, bool | np.bool_) else found is not None
        if there == bool(re.match(r"no\b", cell)):
            yield f"{row} ({library}): the page says {cell!r}, the check {there}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"some of {', '.join(LIBRARIES)}")
    chosen = parser.parse_args().libraries or LIBRARIES
    page = " ".join(PAGE.read_text().split())
    if set(cells()) != set(CHECKS):
        sys.exit(f"The page and the checks differ: {set(cells()) ^ set(CHECKS)}")
    found: list[str] = []
    for library in chosen:
        version = importlib.metadata.version(DISTRIBUTIONS[library])
        known = library == "pater" or f"{library} {version}" in page
        print(library, version, "" if known else "(the page names another version)", flush=True)
        found += wrong(library)
    tried = sum(checks[LIBRARIES.index(library)] is not None for checks in CHECKS.values() for library in chosen)
    print(*found, f"{tried} of {len(CHECKS) * len(chosen)} cells tried, {len(found)} wrong", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
