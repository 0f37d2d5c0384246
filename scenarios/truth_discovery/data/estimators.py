"""Truth inference for those who know crowd-kit: classes with `fit`, `fit_predict` and `fit_predict_proba` on frames.

A frame has the columns `task`, `worker` and `label`, and results are series and frames by name. `Answers`, or three
arrays of codes (tasks, workers, labels), give arrays in the same places. The estimators themselves, and what their
arguments mean, are in `protocol.estimators.truth_inference`. What all have is `FittingEstimator`'s.

Not imported by the package: pandas is slow to start, and only those who have a frame need it.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ....protocol.arrays import FloatArray
from ....protocol.elementary import exp
from ....protocol.estimators import truth_inference
from ....protocol.estimators.truth_inference import (
    Answers,
    ClassPrior,
    Confusions,
    DebiasedCounts,
    Inference,
    KnownNoise,
    LossScale,
    Normalization,
    WeightFunction,
)
from .fitting import FittingEstimator, IterativeEstimator, NamedSeries, ResultT, error_frame, only_value
from .frames import FrameAnswers


@dataclasses.dataclass(eq=False)
class _Weighted(FittingEstimator[Inference]):
    """What estimators by weighted votes share."""

    n_iter: int = 10

    weights_: "NamedSeries | FloatArray" = dataclasses.field(init=False, repr=False)

    def _name(self, frame: FrameAnswers | None) -> None:
        weights = self.inference_.weights
        self.weights_ = weights if frame is None else frame.name_workers(weights, name="weight")


class MajorityVote(FittingEstimator[Inference]):
    """The label that most workers chose.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> MajorityVote().fit_predict(frame).to_dict()
        {'q': 'yes', 'r': 'no'}
    """

    _function = truth_inference.majority_vote


@dataclasses.dataclass(eq=False)
class TruthDiscovery(_Weighted):
    """The paper's truth discovery: votes weighted by how often a worker agrees with the truths so far.

    Args:
        n_iter: rounds at most.
        clamp: a worker's share of right answers is kept within [clamp, 1 − clamp].
        normalization: "answered", or "all" as the paper prints it.
        weight_function: g of the paper's equation (3): "log_odds", "linear", or a function of a share of right answers
            that increases.

    Attributes:
        weights_: of each worker.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> TruthDiscovery().fit(frame).weights_.round(2).to_dict()
        {'a': 2.94, 'b': 2.94, 'c': 0.0}
    """

    _: dataclasses.KW_ONLY
    clamp: float = 0.05
    normalization: Normalization = "answered"
    weight_function: WeightFunction = "log_odds"

    _function = truth_inference.truth_discovery


@dataclasses.dataclass(eq=False)
class CRH(_Weighted):
    """Conflict resolution on heterogeneous data: a worker's weight is −log of its share of all workers' losses.

    Args:
        n_iter: rounds at most.
        scale: "sum", or "greatest": what a loss is divided by.
        clamp: a worker's share of wrong answers is at least this.

    Attributes:
        weights_: of each worker.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> CRH().fit(frame).weights_.round(2).to_dict()
        {'a': 2.48, 'b': 2.48, 'c': 0.18}
    """

    _: dataclasses.KW_ONLY
    scale: LossScale = "sum"
    clamp: float = 0.05

    _function = truth_inference.crh


class OneCoinDawidSkene(IterativeEstimator[Inference]):
    """A worker is right with one probability, and wrong uniformly. See `IterativeEstimator`.

    Attributes:
        errors_: as `DawidSkene` has it, for frames only.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> OneCoinDawidSkene(rounds=5).fit(frame).skills_.round(2).to_dict()
        {'a': 1.0, 'b': 1.0, 'c': 0.5}
    """

    errors_: pd.DataFrame

    _function = truth_inference.one_coin

    def _name(self, frame: FrameAnswers | None) -> None:
        super()._name(frame)
        if frame is not None:
            size, qualities = frame.answers.num_classes, self.inference_.qualities[:, None, None]
            wrong = (1 - qualities) / (size - 1)
            self.errors_ = error_frame(frame, wrong + (qualities - wrong) * np.eye(size))


class _WithConfusions(IterativeEstimator[Confusions]):
    """What estimators of confusion matrices share."""

    errors_: "pd.DataFrame | Mapping[int, FloatArray]"

    def _name(self, frame: FrameAnswers | None) -> None:
        super()._name(frame)
        confusions = self.inference_.confusions
        self.errors_ = confusions if frame is None else error_frame(frame, only_value(confusions))


class DawidSkene(_WithConfusions):
    """A worker has a probability for each answer and each truth. See `IterativeEstimator`.

    Attributes:
        errors_: the probability that a worker (index, first level) answers a label (second level) if the truth is
            another (columns); for arrays, by size of answer set, shape (workers, truths, answers).

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> DawidSkene(rounds=5).fit(frame).errors_.loc["c"].round(2)
        label   no  yes
        label
        no     1.0  1.0
        yes    0.0  0.0
    """

    _function = truth_inference.dawid_skene


@dataclasses.dataclass(kw_only=True, eq=False)
class _NoiseAware(FittingEstimator[ResultT]):
    """What estimators share that know of a perturbation; exactly one of the three says which.

    `labels` should be stated where one may not occur: the perturbation depends on their number.

    Args:
        flip_probability: of Definition 5.1: p^f, or the mean of the hyper-distribution.
        epsilon: that of one answer, ln((1 − p)(s − 1)/p), instead.
        bounds: a and b where each worker draws its own flip probability from U(a, b) and uses it for all its answers.

    Raises:
        ValueError: none or several are given, or one is out of range.
    """

    flip_probability: float | None = None
    epsilon: float | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        names = ("flip_probability", "epsilon", "bounds")
        noise_names = [name for name in names if getattr(self, name) is not None]
        if len(noise_names) != 1:
            allowed = f"exactly one of {', '.join(names[:-1])} and {names[-1]}"
            raise ValueError(
                f"{', '.join(noise_names) or 'none'} given: give {allowed}, which says what the perturbation is"
            )
        if self.flip_probability is not None and not 0 <= self.flip_probability <= 1:
            raise ValueError(f"flip_probability is {self.flip_probability}: use a value from 0 to 1")
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon is {self.epsilon}: use at least 0")
        if self.bounds is not None and not 0 <= self.bounds[0] <= self.bounds[1] <= 1:
            raise ValueError(f"bounds are {self.bounds}: use two values from 0 to 1, the lower one first")

    def _infer(self, answers: Answers, *noise: KnownNoise) -> ResultT:
        return super()._infer(answers, self._noise_of(answers))

    def _check(self, frame: FrameAnswers) -> None:
        # The answer set's size, on which the perturbation depends, may not be guessed.
        if self.labels is None and len(frame.labels) < 2:  # noqa: PLR2004  one label is no question
            raise ValueError(f"only the label {frame.labels[0]!r} occurs: name all possible ones by labels=")

    def _noise_of(self, answers: Answers) -> KnownNoise:
        """Return the perturbation of these answers, the same for all their answer sets if it is not an epsilon."""
        sizes: list[int] = np.unique(answers.sizes).tolist() or [2]
        if self.bounds is not None:
            return KnownNoise.uniform(dict.fromkeys(sizes, self.bounds))
        if self.flip_probability is not None:
            return KnownNoise.from_flip_probabilities(dict.fromkeys(sizes, self.flip_probability))
        odds_of_sizes = [(size, (size - 1) * exp(-(self.epsilon or 0.0))) for size in sizes]
        return KnownNoise.from_flip_probabilities({size: other / (1 + other) for size, other in odds_of_sizes})


@dataclasses.dataclass(eq=False)
class NoiseAwareOneCoin(_NoiseAware[Inference], IterativeEstimator[Inference]):
    """The one-coin model of answers that went through a known perturbation. See `IterativeEstimator`.

    Args:
        flip_probability: of one layer, or the mean of two with a fresh draw for each answer; exactly one of this and
            the next two.
        epsilon: of one answer.
        bounds: a and b where each worker drew its own flip probability from U(a, b) for all its answers.
        competence_prior: see `noise_aware_one_coin`.
        least_competence: see `noise_aware_one_coin`.

    Attributes:
        skills_: the probability of a right answer, before the perturbation.

    Raises:
        ValueError: the perturbation is not given, or twice.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> NoiseAwareOneCoin(epsilon=1.0).fit_predict_proba(frame).round(2)
        label    no   yes
        task
        q      0.34  0.66
        r      0.88  0.12
    """

    tol: float = 1e-6
    _: dataclasses.KW_ONLY
    competence_prior: tuple[float, float] = (2.0, 1.0)
    least_competence: float = 0.0
    class_prior: ClassPrior = "uniform"

    _function = truth_inference.noise_aware_one_coin


@dataclasses.dataclass(eq=False)
class CautiousTruthDiscovery(_NoiseAware[Inference]):
    """The paper's truths, unless three estimators that know the perturbation find another label likely enough.

    Args:
        n_iter: of each of them, the paper's included.
        tol: of those that are fitted by EM.
        flip_probability, epsilon, bounds: see `NoiseAwareOneCoin`.
        least_odds: see `cautious_truth_discovery`.
        clamp: see `TruthDiscovery`.

    Attributes:
        skills_: the probability of a right answer, before the perturbation.

    Raises:
        ValueError: the perturbation is not given, or twice.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> CautiousTruthDiscovery(epsilon=1.0).fit(frame).confidences_.round(2).to_dict()
        {'q': 0.66, 'r': 0.88}
    """

    n_iter: int = 100
    tol: float = 1e-6
    _: dataclasses.KW_ONLY
    least_odds: float = 1.4
    clamp: float = 0.05

    _function = truth_inference.cautious_truth_discovery


@dataclasses.dataclass(eq=False)
class NoiseAwareCRH(_NoiseAware[Inference], CRH):
    """CRH with the losses of the answers before a known perturbation. See `CRH`.

    Args:
        flip_probability, epsilon, bounds: see `NoiseAwareOneCoin`; of bounds the mean is used.

    Attributes:
        skills_: the share of right answers, before the perturbation.

    Raises:
        ValueError: the perturbation is not given, or twice.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> NoiseAwareCRH(flip_probability=0.2).fit_predict(frame).to_dict()
        {'q': 'yes', 'r': 'no'}
    """


@dataclasses.dataclass(eq=False)
class NoiseAwareDawidSkene(_NoiseAware[Confusions], _WithConfusions):
    """Confusion matrices of answers that went through a known perturbation. See `IterativeEstimator`.

    Args:
        flip_probability, epsilon, bounds: see `NoiseAwareOneCoin`; of bounds the mean is used.
        prior_answers: see `noise_aware_dawid_skene`.
        prior_quality: see `noise_aware_dawid_skene`.

    Attributes:
        skills_: the expected share of right answers, before the perturbation.
        errors_: as `DawidSkene` has it, before the perturbation.

    Raises:
        ValueError: the perturbation is not given, or twice.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> NoiseAwareDawidSkene(bounds=(0.0, 0.4)).fit_predict_proba(frame).round(2)
        label    no   yes
        task
        q      0.37  0.63
        r      0.81  0.19
    """

    tol: float = 1e-6
    _: dataclasses.KW_ONLY
    prior_answers: float = 10.0
    prior_quality: float = 0.7
    class_prior: ClassPrior = "uniform"

    _function = truth_inference.noise_aware_dawid_skene


@dataclasses.dataclass(kw_only=True, eq=False)
class DebiasedMajority(_NoiseAware[DebiasedCounts]):
    """How many workers gave each answer before a known perturbation, and the label with the most.

    Args:
        flip_probability, epsilon, bounds: see `NoiseAwareOneCoin`; of bounds the mean is used.

    Attributes:
        counts_: unbiased estimates for each task and label.
        standard_errors_: of those, over the perturbation's draws.
        skills_: nan: nothing is inferred of workers.

    Raises:
        ValueError: the perturbation is not given, or twice.

    Examples:
        >>> import pandas as pd
        >>> columns = {"task": ["q", "q", "q", "r", "r", "r"], "worker": [*"abcabc"]}
        >>> frame = pd.DataFrame(columns | {"label": ["yes", "yes", "no", "no", "no", "no"]})
        >>> DebiasedMajority(flip_probability=0.25).fit(frame).counts_
        label   no  yes
        task
        q      0.5  2.5
        r      4.5 -1.5
    """

    counts_: "pd.DataFrame | FloatArray" = dataclasses.field(init=False, repr=False)
    standard_errors_: "pd.DataFrame | FloatArray" = dataclasses.field(init=False, repr=False)

    _function = truth_inference.debiased_majority

    def _name(self, frame: FrameAnswers | None) -> None:
        counts, errors = self.inference_.counts, self.inference_.standard_errors
        self.counts_ = counts if frame is None else frame.name_probabilities(counts)
        self.standard_errors_ = errors if frame is None else frame.name_probabilities(errors)
