"""The inference of truths from reports: the choice of the estimator, and its knowledge of the perturbation."""

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..arrays import FloatArray, IntArray
from ..errors import PluginError
from ..estimators.truth_inference import (
    MISSING,
    AnswerBlock,
    Answers,
    Inference,
    KnownNoise,
    OwnNoise,
    Ties,
    WeightFunction,
)
from ..mechanisms import Beta, Discrete, HyperDistribution, Moments, Piecewise, PointMass, TruncatedNormal, Uniform
from ..plugin_faults import blaming_function
from .estimators import AUTO, ESTIMATORS, EstimatorFunction
from .noise import Perturbation
from .parameters import Parameters

# The number of equally likely values that represent a hyper-distribution. Points of a discrete one are dropped if their
# share is below half of such a part.
_NUM_VALUES: Final = 15
# The limit of weights and label codes, which must fit on the public grid.
_MOST: Final = 2.0**32


def find_truths(
    answers: Answers | AnswerBlock,
    *,
    parameters: Parameters,
    noise: Perturbation | OwnNoise | None,
    weight_function: WeightFunction | None = None,
    estimator: EstimatorFunction | None = None,
) -> tuple[str, Any]:
    """Choose the session's estimator, and run it; return its name and its result.

    The result is an `Inference` for one crowd's answers, and an `InferenceBlock` for many crowds.

    Args:
        answers: the reported answers; a user-defined estimator gets those of one crowd.
        parameters: the parameters of the session.
        noise: the perturbation, or that of each worker; None for unperturbed answers.
        weight_function: the registered function that the parameters name; None for a built-in one.
        estimator: the registered estimator that the parameters name; None for a built-in one.

    Raises:
        ConfigurationError: the parameters name a weight function that is not given, or that does not increase.
        PluginError: a registered estimator fails, or returns no inference from these answers.

    Examples:
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1)
        >>> name, found = find_truths(answers, parameters=parameters, noise=None)
        >>> (name, found.truths.tolist())
        ('cautious', [1])
    """
    noise_of_answers = noise if isinstance(noise, OwnNoise) else known_noise(noise, parameters.sizes)
    if estimator is not None and isinstance(answers, Answers):
        name, ties, rounds = parameters.estimator, parameters.ties, parameters.max_iterations
        return name, infer_by(estimator, answers, noise_of_answers, name=name, ties=ties, max_iterations=rounds)
    name = AUTO if parameters.estimator == "auto" else parameters.estimator
    ours = ESTIMATORS[name]
    options = {
        "max_iterations": parameters.max_iterations,
        "rounds": parameters.rounds or None,
        "clamp": parameters.quality_clamp,
        "weight_function": weight_function or parameters.weight_function or "log_odds",
        "normalization": parameters.normalization or "answered",
    }
    arguments = (answers, noise_of_answers) if ours.knows_noise else (answers,)
    return name, ours.find(*arguments, ties=parameters.ties, **{field: options[field] for field in ours.takes})


def infer_by(
    estimator: EstimatorFunction,
    answers: Answers,
    noise: KnownNoise | OwnNoise,
    *,
    name: str,
    ties: Ties,
    max_iterations: int,
) -> Inference:
    """Run a user-defined estimator.

    Raises:
        PluginError: it raises an exception, or returns no inference from these answers: it has another shape, a truth
            for a task without answers or none for a task with answers, or a number that is not finite or no share.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import majority_vote
        >>> def first_of(answers, noise, /, *, ties, max_iterations):
        ...     return majority_vote(answers, ties="first")
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> known = KnownNoise.from_flip_probabilities({2: 0.25})
        >>> infer_by(first_of, answers, known, name="first", ties="last", max_iterations=1).truths.tolist()
        [1]
    """
    plugin = f"estimator {name!r}"
    with blaming_function(plugin, estimator):
        result = cast("object", estimator(answers, noise, ties=ties, max_iterations=max_iterations))
    if not isinstance(result, Inference):
        raise PluginError(plugin=plugin, step="its call", reason=f"it returned a {type(result).__name__}, no Inference")
    is_answered = np.bincount(answers.tasks, minlength=answers.num_tasks) > 0
    has_answers = np.bincount(answers.workers, minlength=answers.num_workers) > 0

    def check_returned(
        field: str, is_known: NDArray[np.bool_], allowed: str, *, least: float, most: float
    ) -> FloatArray:
        try:
            values: FloatArray = np.asarray(getattr(result, field), dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty((0, 0))
        if (
            values.shape != is_known.shape
            or not (np.isfinite(values) & (values >= least) & (values <= most))[is_known].all()
        ):
            reason = f"return for {field} {allowed}, of shape {is_known.shape}"
            raise PluginError(plugin=plugin, step="its call", reason=reason)
        return np.where(is_known, values, np.nan)

    labels = "a label's code for each task with an answer"
    truths = np.nan_to_num(check_returned("truths", is_answered, labels, least=0, most=_MOST), nan=MISSING).astype(
        np.int64
    )
    if not (
        np.equal(truths[is_answered], np.asarray(result.truths)[is_answered]) & (truths < answers.sizes)[is_answered]
    ).all():
        raise PluginError(
            plugin=plugin, step="its call", reason=f"return for truths {labels}, below its number of labels"
        )
    shares = {"least": 0.0, "most": 1.0}
    return Inference(
        truths=truths,
        confidences=check_returned("confidences", is_answered, "in [0, 1] for each task with an answer", **shares),
        probabilities=result.probabilities,
        qualities=check_returned("qualities", has_answers, "in [0, 1] for each worker with an answer", **shares),
        weights=check_returned("weights", has_answers, f"at most {_MOST:g} in size", least=-_MOST, most=_MOST),
        num_iterations=int(result.num_iterations),
        has_converged=bool(result.has_converged),
    )


def known_noise(noise: Perturbation | None, sizes: Sequence[int]) -> KnownNoise:
    """Return the law of the perturbation in the form for estimators.

    Args:
        noise: the perturbation of the session; None without one.
        sizes: the sizes of the answer sets.

    Examples:
        >>> known_noise(None, (2, 3)).flips
        {2: (0.0,), 3: (0.0,)}
    """
    if noise is None:
        return KnownNoise.from_flip_probabilities(dict.fromkeys(sizes, 0.0))
    if noise.hyper is None:
        return KnownNoise.from_flip_probabilities(dict(zip(noise.sizes, noise.flip_probabilities, strict=True)))
    return KnownNoise(dict.fromkeys(noise.sizes, _quantiles(noise.hyper)))


def _quantiles(hyper: HyperDistribution) -> tuple[float, ...]:
    """Return equally likely values, each the middle one of its part of the distribution."""
    middles: FloatArray = (np.arange(_NUM_VALUES) + 0.5) / _NUM_VALUES
    places: FloatArray
    match hyper:
        case PointMass(probability):
            return (probability,)
        case Uniform(low, high):
            places = middles
        case Beta(alpha, beta, low, high):
            places = special.betaincinv(alpha, beta, middles)
        case TruncatedNormal() | Piecewise():
            return tuple(hyper.draw(middles[:, None]).tolist())
        case Discrete() | Moments():
            probabilities, shares = hyper.points
            order = np.argsort(probabilities)
            ends: FloatArray = np.cumsum(np.array(shares)[order])
            quantile_places: IntArray = np.searchsorted(ends[:-1], middles * float(ends[-1]))
            return tuple(np.array(probabilities)[order][quantile_places].tolist())
    return tuple((low + (high - low) * places).tolist())
