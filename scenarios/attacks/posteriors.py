"""Posteriors of an attack, and its success, advantage, information and log-odds ratios.

Bayes: P[candidate | seen] ∝ prior · P[seen | candidate]. The attack with the greatest success names the likeliest label
(maximum a posteriori, MAP). For every prior, ε-differential privacy bounds how far evidence changes the odds of two
neighbors: by a factor of e^ε at most. So a proven ε implies bounds on the greatest observed factor, the success and the
information.

Source: Kasiviswanathan and Smith (2014), Definition 3 (posterior odds); Chatzikokolakis, Palamidessi and Panangaden
(2008) for the Bayes risk of a channel; Cuff and Yu (2016) for mutual information.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, refuse

_ROUNDING = 1e-9  # a prior is typed by hand: .1 + .2 + .7


@dataclasses.dataclass(frozen=True, eq=False)
class Posteriors:
    """The posterior of each target's secret.

    Args:
        labels: the L possible values of the secret.
        prior: shape (L,) or (targets, L): probabilities before the evidence.
        probabilities: shape (targets, L): probabilities after it; each row sums to 1.
        log_odds_ratios: shape (targets,): ln of the greatest factor by which the evidence changed the odds of two
            labels, which a proven ε bounds; ∞ if a label is ruled out.

    Examples:
        >>> found = infer(np.log([[0.75, 0.25]]), places=np.array([0, 1]), labels=("yes", "no"))
        >>> found.labels[found.guesses[0]], found.probabilities.round(2).tolist()
        ('yes', [[0.75, 0.25]])
    """

    labels: tuple[str, ...]
    prior: FloatArray
    probabilities: FloatArray
    log_odds_ratios: FloatArray

    @property
    def guesses(self) -> IntArray:
        """The index of each target's likeliest label, int64, shape (targets,); the first of equal ones."""
        return np.argmax(self.probabilities, axis=1).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """An attack's success, advantage and information.

    Args:
        success: the probability that the MAP guess is right, or the fraction of targets for which it was.
        success_error: its standard error; 0 where `success` is exact.
        baseline: the success of guessing without evidence.
        information: the mutual information of secret and evidence, in bits.
        greatest_log_odds_ratio: ln of the greatest factor by which evidence changed the odds of two labels; ∞ if it
            rules one out.
        num_targets: number of targets that it was tried on; 0 if exact.

    Examples:
        >>> found = [0.75, 0.0, 0.5, 0.2, 1.1]  # success, its error, baseline, bits, log-odds ratio
        >>> Evaluation(*found).advantage
        0.5
    """

    success: float
    success_error: float
    baseline: float
    information: float
    greatest_log_odds_ratio: float
    num_targets: int = 0

    @property
    def advantage(self) -> float:
        """The gain over guessing, as a fraction of the possible gain: (success − baseline)/(1 − baseline), 0 to 1."""
        return 0.0 if self.baseline >= 1 else (self.success - self.baseline) / (1 - self.baseline)


def check_prior(prior: Sequence[float], *, num_labels: int) -> FloatArray:
    """Return a prior as an array; ConfigurationError unless it has one probability for each label, with sum 1.

    Examples:
        >>> check_prior([0.25, 0.75], num_labels=2).tolist()
        [0.25, 0.75]
    """
    probabilities = np.array(prior, dtype=np.float64)
    allowed = f"{num_labels} probabilities"
    refuse(probabilities.shape != (num_labels,), "prior", f"{probabilities.size} numbers", allowed)
    total = math.fsum(probabilities.tolist())
    if not np.all(probabilities >= 0) or not abs(total - 1) <= _ROUNDING:
        allowed = f"probabilities in [0, 1] that sum to one (these sum to {total:g})"
        raise ConfigurationError(field="prior", value=list(prior), allowed=allowed)
    return probabilities / probabilities.sum()


def infer(
    log_likelihoods: FloatArray, *, places: IntArray, labels: Sequence[str], prior: FloatArray | None = None
) -> Posteriors:
    """Return posteriors over labels, from likelihoods of candidates.

    Args:
        log_likelihoods: shape (targets, candidates): ln P[evidence | candidate], up to a constant for each target.
        places: int64, shape (candidates,): the index of each candidate's label; candidates of one label are equally
            likely.
        labels: the L labels, each with at least one candidate.
        prior: probabilities of the labels, shape (L,) or (targets, L); by default uniform.

    Raises:
        ValueError: a target's evidence is impossible under every candidate that the prior allows.

    Examples:
        >>> law = np.log([[0.75, 0.25], [0.25, 0.75]])  # of two reports: ln P[report | yes], ln P[report | no]
        >>> infer(law, places=np.array([0, 1]), labels=("yes", "no")).probabilities.round(2).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    num_labels = len(labels)
    prior_probabilities = np.full(num_labels, 1 / num_labels) if prior is None else prior
    numbers = np.bincount(places, minlength=num_labels)
    greatest = log_likelihoods.max(axis=1, keepdims=True)
    if not np.all(np.isfinite(greatest)):
        raise ValueError("what was seen is impossible under every candidate")
    of_labels = np.zeros((len(log_likelihoods), num_labels))
    np.add.at(of_labels.T, places, (np.exp(log_likelihoods - greatest) / numbers[places]).T)
    joint = prior_probabilities * of_labels
    totals = joint.sum(axis=1, keepdims=True)
    if not np.all(totals > 0):
        raise ValueError("what was seen is impossible under every candidate that the prior allows")
    with np.errstate(divide="ignore"):
        logs = np.log(of_labels)
    if not of_labels.all():  # an underflow to 0 does not mean that the label is impossible
        logs = np.full(of_labels.shape, -np.inf)
        np.logaddexp.at(logs.T, places, (log_likelihoods - greatest - np.log(numbers[places])).T)
    return Posteriors(tuple(labels), prior_probabilities, joint / totals, logs.max(axis=1) - logs.min(axis=1))


def evaluate(posteriors: Posteriors, truths: IntArray) -> Evaluation:
    """Score an attack's guesses against the indices of the true labels, int64, shape (targets,).

    Examples:
        >>> found = infer(np.log([[0.75, 0.25], [0.25, 0.75]]), places=np.array([0, 1]), labels=("yes", "no"))
        >>> evaluate(found, np.array([0, 0])).success
        0.5
    """
    number = len(truths)
    success = float(np.count_nonzero(np.equal(posteriors.guesses, truths))) / number
    return _evaluation(posteriors, success, math.sqrt(success * (1 - success) / number))


def evaluate_expected(posteriors: Posteriors) -> Evaluation:
    """Evaluate an attack on targets whose secrets were drawn from its prior.

    Then a guess is right with its posterior probability, whose mean has a smaller variance than the fraction of correct
    guesses. If secrets, or anything else that a likelihood assumes, were drawn otherwise, this is invalid: use
    `evaluate`.

    Examples:
        >>> found = infer(np.log([[0.75, 0.25], [0.25, 0.75]]), places=np.array([0, 1]), labels=("yes", "no"))
        >>> round(evaluate_expected(found).success, 2)
        0.75
    """
    chances = posteriors.probabilities.max(axis=1)
    return _evaluation(posteriors, float(chances.mean()), float(chances.std() / math.sqrt(len(chances))))


def _evaluation(posteriors: Posteriors, success: float, error: float) -> Evaluation:
    # The success of guessing without evidence, by the prior.
    prior: FloatArray = np.broadcast_to(posteriors.prior, posteriors.probabilities.shape)
    return Evaluation(
        success=success,
        success_error=error,
        baseline=float(prior.max(axis=1).mean()),
        information=float(np.mean(_relative_entropies(posteriors.probabilities, posteriors.prior))),
        greatest_log_odds_ratio=float(posteriors.log_odds_ratios.max()),
        num_targets=len(posteriors.probabilities),
    )


def pool(parts: Sequence[Evaluation]) -> Evaluation:
    """Return the joint evaluation of several trials, none of them exact, weighted by their numbers of targets.

    Trials are independent of each other. Targets of one trial may share evidence, and then count as one.

    Examples:
        >>> one = Evaluation(1.0, 0.0, 0.5, 1.0, 2.0, num_targets=1)
        >>> other = Evaluation(0.5, 0.0, 0.5, 0.0, 1.0, num_targets=3)
        >>> pool([one, other]).success
        0.625
    """
    number = sum(part.num_targets for part in parts)

    def mean(values: Iterable[float]) -> float:
        return math.fsum(value * part.num_targets for value, part in zip(values, parts, strict=True)) / number

    success = mean(part.success for part in parts)
    return Evaluation(
        success=success,
        success_error=_pooled_error(parts, success),
        baseline=mean(part.baseline for part in parts),
        information=mean(part.information for part in parts),
        greatest_log_odds_ratio=max(part.greatest_log_odds_ratio for part in parts),
        num_targets=number,
    )


def evaluate_channel(channel: FloatArray, *, places: IntArray, prior: FloatArray | None = None) -> Evaluation:
    """Return the exact evaluation of the best attack on a finite channel.

    Args:
        channel: shape (candidates, outputs): P[output | candidate], rows sum to 1.
        places: int64, shape (candidates,): the index of each candidate's label; candidates of one label are equally
            likely.
        prior: probabilities of the labels, shape (L,); by default uniform.

    Examples:
        >>> answers = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response at ε = ln 3
        >>> found = evaluate_channel(answers, places=np.array([0, 1]))
        >>> found.success, round(found.information, 3)
        (0.75, 0.189)
    """
    num_labels = int(places.max()) + 1 if prior is None else len(prior)
    prior_probabilities = np.full(num_labels, 1 / num_labels) if prior is None else prior
    numbers = np.bincount(places, minlength=num_labels)
    of_labels = np.zeros((num_labels, channel.shape[1]))
    np.add.at(of_labels, places, channel / numbers[places][:, None])
    joint = prior_probabilities[:, None] * of_labels
    outputs = joint.sum(axis=0)
    is_possible = outputs > 0
    entropies = _relative_entropies((joint[:, is_possible] / outputs[is_possible]).T, prior_probabilities)
    with np.errstate(divide="ignore"):
        logs = np.log(of_labels[:, of_labels.any(axis=0)])
    return Evaluation(
        success=math.fsum(joint.max(axis=0).tolist()),
        success_error=0.0,
        baseline=float(prior_probabilities.max()),
        information=math.fsum((outputs[is_possible] * entropies).tolist()),
        greatest_log_odds_ratio=float((logs.max(axis=0) - logs.min(axis=0)).max()),
    )


def _pooled_error(parts: Sequence[Evaluation], success: float) -> float:
    """Return the standard error of a mean over trials: the greater of the estimates by targets and by trials.

    The estimate by targets is too small if targets of one trial share evidence. That by trials may be too small if
    there are few trials.
    """
    number = sum(part.num_targets for part in parts)
    variance_within = math.fsum((part.num_targets * part.success_error) ** 2 for part in parts)
    variance_between = math.fsum(part.num_targets * (part.success - success) ** 2 for part in parts)
    of_tries = math.fsum((part.num_targets * (part.success - success)) ** 2 for part in parts)
    return math.sqrt(max(variance_within + variance_between, of_tries)) / number


def success_bound(epsilon: float, prior: Sequence[float] | FloatArray) -> float:
    """Return the greatest success of any attack on a secret that is ε-private between any two labels.

    Evidence multiplies the odds of a label against any other by e^ε at most, so its posterior is at most
    π·e^ε/(π·e^ε + 1 − π), and so is the success of naming the likeliest, at the greatest π.

    Examples:
        >>> round(success_bound(math.log(3), [0.5, 0.5]), 6)
        0.75
    """
    greatest = float(np.max(prior))
    return greatest / (greatest + (1 - greatest) * math.exp(-epsilon))


def information_bound(epsilon: float, prior: Sequence[float] | FloatArray) -> float:
    """Return an upper bound, in bits, on the information about a secret that is ε-private between any two labels.

    It is the least of three bounds: the secret's entropy; ε, since the evidence's law is within a factor of e^ε of its
    law under each candidate; and ε·tanh(ε/2), since two laws within a factor of e^ε have at most that relative entropy,
    and mutual information is at most the greatest relative entropy.

    Examples:
        >>> round(information_bound(1.0, [0.5, 0.5]), 3)
        0.667
    """
    probabilities = np.asarray(prior, dtype=np.float64)
    entropy = float(np.sum(special.entr(probabilities)))
    pair = epsilon * math.tanh(epsilon / 2) if math.isfinite(epsilon) else math.inf
    return min(entropy, epsilon, pair) / math.log(2)


def _relative_entropies(probabilities: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the relative entropy of each row to the prior, in bits."""
    terms: FloatArray = special.rel_entr(probabilities, np.broadcast_to(prior, probabilities.shape))
    return terms.sum(axis=1) / math.log(2)
