"""The settings of a learner, each once: its names, allowed values, default, help text, and which rules have it.

Imports only `rules` and `setting_kinds`, so that help texts appear without a wait. `Spec` and the record of the kernels
(`spec.py`), the checks of parameters, the JSON of model files (`files/codec.py`), and the options of the command line
with their help (`cli/learner_options.py`) are made from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernels.rules import RULES, Rule
from .setting_kinds import (
    POSITIVE,
    SHARE,
    Choice,
    ClassWeights,
    Kind,
    Number,
    OperatingPoint,
    SettingError,
    Switch,
    Weights,
)

# No product with a row of any accepted size overflows.
LARGEST_R = 1e100
LEAST_FORGETTING = 1e-12  # a sample may then enter with up to 2^40 times its importance over this

AUTO, WPATER = "auto", "wpater"
SIDE_BY_SIDE = {AUTO: ("so-pater-i", "arow"), WPATER: ("pater-i", "pater-ii")}
"""Names that stand for several learners in one pass: the pool, and the paper's PATER with all weights to try."""


class Field(NamedTuple):
    """A field of the record that the kernels read: its type, and how to compute its value from the setting."""

    name: str
    type: str  # as NumPy names it
    of: Callable[[Any], Any] = lambda value: value


def _every(_: Rule) -> bool:
    return True


class Setting(NamedTuple):
    """One setting. Where an interface does not have it, its name there is empty."""

    name: str  # in `Spec` and in model files
    kind: Kind
    default: Any
    says: str  # what it is, in a sentence
    record: tuple[Field, ...] = ()
    parameter: str = ""  # of estimators
    keyword: str = ""  # of `stream.train` and the command line
    options: tuple[str, ...] = ()  # of the command line; the option of a switch inverts its default
    off: str = ""  # the option that turns off a switch whose default the learner decides
    metavar: str | None = None
    of_rule: Callable[[Rule], bool] | None = None  # which rules have it; None means those that name it
    other_defaults: tuple[tuple[str, Any], ...] = ()  # of rules with a default of their own
    auto_tries: bool = False  # whether `auto` tries several values, unless one is given

    def has(self, rule: str) -> bool:
        """Whether this rule has it; for several rules side by side, whether all do; the batch solution has no rule."""
        if rule in SIDE_BY_SIDE:
            return all(map(self.has, SIDE_BY_SIDE[rule]))
        if rule not in RULES:
            return False
        return self.name in RULES[rule].settings if self.of_rule is None else self.of_rule(RULES[rule])

    @property
    def is_of_some(self) -> bool:
        """Whether only the rules that name it have it."""
        return self.of_rule is None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that have it."""
        return tuple(filter(self.has, RULES))

    def default_of(self, rule: str) -> Any:
        """The default for this rule."""
        return dict(self.other_defaults).get(rule, self.default)

    def checked(self, value: Any, name: str) -> Any:
        """The value as `Spec` holds it; a SettingError with the name that the user knows if it is not allowed."""
        try:
            return self.kind.taken(value)
        except SettingError as error:
            raise SettingError(f"{name} must be {error}.") from None


def _deviations(eta: float) -> float:
    from statistics import NormalDist  # which takes its time to import

    return NormalDist().inv_cdf(eta)


_TABLE = (
    Setting(
        "C",
        POSITIVE,
        1.0,
        "Aggressiveness: the larger, the further a single sample may move the weights.",
        (Field("C", "f8"),),
        parameter="C",
        keyword="C",
        options=("--aggressiveness", "-C"),
        metavar="C",
    ),
    Setting(
        "class_weight",
        ClassWeights(POSITIVE),
        None,
        "How much each class counts, for example spam:3,ham:1; or balanced, which changes nothing for PATER.",
        (Field("balanced", "i8", lambda weight: weight == "balanced"),),  # other weights go into α⁻ and α⁺
        parameter="class_weight",
        keyword="class_weight",
        options=("--class-weight", "-w"),
        metavar="LABEL:WEIGHT,...",
        of_rule=_every,
    ),
    Setting(
        "alphas",
        Weights(POSITIVE),
        (1.0, 1.0),
        "α⁻ and α⁺, on top of the class weights, in every one-vs-rest problem.",
        (Field("alpha_neg", "f8", lambda alphas: alphas[0]), Field("alpha_pos", "f8", lambda alphas: alphas[1])),
        of_rule=_every,
    ),
    Setting(
        "intercept",
        Switch(),
        True,
        "Learn no constant term.",
        (Field("intercept", "i8"),),
        parameter="fit_intercept",
        keyword="intercept",
        options=("--no-intercept",),
        of_rule=_every,
    ),
    Setting(
        "average",
        Switch(),
        False,
        "Predict with the weights averaged over the stream, or not; by default only second-order PATER does, with a "
        "diagonal covariance and without forgetting.",
        (Field("average", "i8"),),
        parameter="average",
        keyword="average",
        options=("--average",),
        off="--no-average",
        of_rule=_every,
    ),
    Setting(
        "forgetting",
        Number(
            f"above 0 and at most 1, and at least {LEAST_FORGETTING:g}", lambda value: LEAST_FORGETTING <= value <= 1
        ),
        1.0,
        "For streams that drift: the factor by which the past fades with each new sample (in first order, with each "
        "new sample of the class).",
        (Field("forgetting", "f8"),),
        parameter="forgetting",
        keyword="forgetting",
        options=("--forgetting",),
        metavar="SHARE",
        of_rule=lambda rule: rule.moves_along_means or rule.second_order,
        auto_tries=True,
    ),
    Setting(
        "watch",
        Switch(),
        False,
        "Count right and wrong predictions, each made before the sample is learned from.",
        (Field("watch", "i8"),),
        of_rule=_every,
    ),
    Setting(
        "fading",
        SHARE,
        1.0,
        "The factor by which older samples fade in the progressive scores with each new one.",
        (Field("fading", "f8"),),
        parameter="fading",
        keyword="fading",
        options=("--fading",),
        metavar="SHARE",
        of_rule=_every,
    ),
    Setting(
        "discount",
        Switch(),
        False,
        "Let a prediction count in proportion to its place in the stream.",
        (Field("discount", "i8"),),
        parameter="discount",
        of_rule=_every,
    ),
    Setting(
        "calibrate",
        Switch(),
        False,
        "Fit probabilities along the stream.",
        (Field("calibrate", "i8"),),
        parameter="probability",
        keyword="probability",
        options=("--probabilities",),
        of_rule=_every,
    ),
    Setting(
        "covariance",
        Choice(("full", "diagonal")),
        "full",
        "The covariance of the features: full costs O(d²) time and memory, diagonal only touches non-zeros.",
        parameter="covariance",
        keyword="covariance",
        options=("--covariance",),
        metavar="full|diagonal",
        auto_tries=True,
    ),
    Setting(
        "form",
        Choice(("leader", "step")),
        "leader",
        "Weights that fit the whole past best (leader), or one step from the previous weights (step).",
        (Field("leader", "i8", lambda form: form == "leader"),),
        parameter="form",
        keyword="form",
        options=("--form",),
        metavar="leader|step",
    ),
    Setting(
        "r",
        Number(
            f"a positive number between {1 / LARGEST_R:g} and {LARGEST_R:g}",
            lambda value: 1 / LARGEST_R <= value <= LARGEST_R,
        ),
        1.0,
        "How many samples of unit size it takes to outweigh the prior; the larger, the smaller the steps.",
        (Field("r", "f8"),),
        parameter="r",
        keyword="r",
        options=("--r",),
        metavar="R",
        other_defaults=(("so-pater-i", 30.0), ("so-pater-ii", 30.0)),
        auto_tries=True,
    ),
    Setting(
        "eta",
        Number("above 0.5 and below 1", lambda value: 0.5 < value < 1),
        0.9,
        "η: the probability with which a sample must be classified correctly after the step.",
        (Field("phi", "f8", _deviations),),  # standard deviations by which a margin must differ from 0
        parameter="eta",
        keyword="eta",
        options=("--eta",),
        metavar="ETA",
    ),
    Setting(
        "approximation",
        SHARE,
        0.9,
        "α: on separable data the margin reaches at least 1 − α times the largest possible.",
        (Field("approximation", "f8"),),
        parameter="alpha",
        keyword="approximation",
        options=("--alpha",),
        metavar="ALPHA",
    ),
    Setting(
        "operating_point",
        OperatingPoint(),
        None,
        "Where to decide between two classes: by a maximum error rate, or by the costs of mistakes.",
        parameter="operating_point",
        keyword="operating_point",
        of_rule=_every,
    ),
)
SETTINGS = {setting.name: setting for setting in _TABLE}
"""In the order of `Spec`."""


def by_keyword() -> dict[str, Setting]:
    """The settings that `stream.train` and the command line take, by their names there."""
    return {setting.keyword: setting for setting in SETTINGS.values() if setting.keyword}


def averages_by_itself(rule: str, covariance: str, forgetting: float = 1.0) -> bool:
    """Whether to predict with the average by default: the leader of a diagonal metric oscillates.

    The average covers the whole past, so a learner that forgets the past does not use it.
    """
    leads = RULES[rule].moves_along_means and RULES[rule].second_order
    return leads and covariance == "diagonal" and forgetting == 1
