"""What an attack infers, and how well: posteriors, success, advantage, information, log-odds ratios.

Bayes: P[candidate | seen] ∝ prior · P[seen | candidate]. The attack that is right most often names the likeliest label
(maximum a posteriori, MAP). Whatever the prior, ε-differential privacy bounds how far evidence moves the odds of any
two neighbors: by a factor of e^ε at most. So the greatest observed factor, the success and the information all have
bounds that a proven ε implies, and stand beside them.

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
    """What is believed of each target's secret.

    Args:
        labels: what the secret may be; L of them.
        prior: shape (L,) or (targets, L): what was believed before.
        probabilities: shape (targets, L): what is believed now; each row sums to 1.
        log_odds_ratios: shape (targets,): ln of the factor by which the evidence moved the odds of two labels at most,
            which a proven ε bounds; ∞: one is ruled out.

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
        """The likeliest label of each target, int64, shape (targets,); of equals the first."""
        return np.argmax(self.probabilities, axis=1).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """How well an attack does.

    Args:
        success: the probability that the MAP guess is right, or the share of targets of which it was.
        success_error: its standard error; 0 where `success` is exact.
        baseline: the success of guessing without evidence.
        information: mutual information of secret and evidence, in bits.
        greatest_log_odds_ratio: ln of the greatest factor by which evidence moved the odds of two labels; ∞ where it
            rules one out.
        num_targets: on which it was tried; 0 where exact.

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
        """How much of what guessing leaves open the attack gains: (success − baseline)/(1 − baseline); 0 to 1."""
        return 0.0 if self.baseline >= 1 else (self.success - self.baseline) / (1 - self.baseline)


def check_prior(prior: Sequence[float], *, num_labels: int) -> FloatArray:
    """Return a prior as an array; ConfigurationError unless these are as many probabilities that sum to one.

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
        log_likelihoods: shape (targets, candidates): ln P[seen | candidate], up to a term for each target.
        places: int64, shape (candidates,): the label of each candidate; candidates of one label are equally likely.
        labels: L of them, each with a candidate.
        prior: of labels, shape (L,) or (targets, L); uniform unless given.

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
    if not of_labels.all():  # far below the likeliest a float is 0, which is not to say that the label is impossible
        logs = np.full(of_labels.shape, -np.inf)
        np.logaddexp.at(logs.T, places, (log_likelihoods - greatest - np.log(numbers[places])).T)
    return Posteriors(tuple(labels), prior_probabilities, joint / totals, logs.max(axis=1) - logs.min(axis=1))


def evaluate(posteriors: Posteriors, truths: IntArray) -> Evaluation:
    """Compare an attack's guesses with the places of the true labels: int64, shape (targets,).

    Examples:
        >>> found = infer(np.log([[0.75, 0.25], [0.25, 0.75]]), places=np.array([0, 1]), labels=("yes", "no"))
        >>> evaluate(found, np.array([0, 0])).success
        0.5
    """
    number = len(truths)
    success = float(np.count_nonzero(np.equal(posteriors.guesses, truths))) / number
    return _evaluation(posteriors, success, math.sqrt(success * (1 - success) / number))


def evaluate_expected(posteriors: Posteriors) -> Evaluation:
    """Return how well an attack does on targets whose secrets were drawn from the prior it believes in.

    Its guess is then right with the probability that it says itself, whose mean varies less than the share of guesses
    that happened to be right. Where secrets, or whatever else a likelihood takes for granted, are drawn otherwise, this
    says nothing: use `evaluate`.

    Examples:
        >>> found = infer(np.log([[0.75, 0.25], [0.25, 0.75]]), places=np.array([0, 1]), labels=("yes", "no"))
        >>> round(evaluate_expected(found).success, 2)
        0.75
    """
    chances = posteriors.probabilities.max(axis=1)
    return _evaluation(posteriors, float(chances.mean()), float(chances.std() / math.sqrt(len(chances))))


def _evaluation(posteriors: Posteriors, success: float, error: float) -> Evaluation:
    # How often the likeliest label is right before anything is seen, by the prior itself.
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
    """Return the evaluation of several tries together, none of them exact, each weighted by its number of targets.

    Tries are independent of each other; targets of one try may share their evidence, and then say no more than one.

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
    """Return how well the best attack does on a finite channel: exactly.

    Args:
        channel: shape (candidates, outputs): P[output | candidate], rows sum to 1.
        places: int64, shape (candidates,): the label of each candidate; candidates of one label are equally likely.
        prior: of labels, shape (L,); uniform unless given.

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
    """Return the standard error of a mean over tries: the greater of what single targets say and what tries say.

    By targets, as if all were independent, it is too small where those of one try share their evidence; by tries alone
    it may be too small where these are few.
    """
    number = sum(part.num_targets for part in parts)
    variance_within = math.fsum((part.num_targets * part.success_error) ** 2 for part in parts)
    variance_between = math.fsum(part.num_targets * (part.success - success) ** 2 for part in parts)
    of_tries = math.fsum((part.num_targets * (part.success - success)) ** 2 for part in parts)
    return math.sqrt(max(variance_within + variance_between, of_tries)) / number


def success_bound(epsilon: float, prior: Sequence[float] | FloatArray) -> float:
    """Return the most that any attack succeeds with on a secret that is ε-private between any two labels.

    Evidence multiplies the odds of a label against any other by e^ε at most, so its posterior is at most
    π·e^ε/(π·e^ε + 1 − π), and so is the success of naming the likeliest, at the greatest π.

    Examples:
        >>> round(success_bound(math.log(3), [0.5, 0.5]), 6)
        0.75
    """
    greatest = float(np.max(prior))
    return greatest / (greatest + (1 - greatest) * math.exp(-epsilon))


def information_bound(epsilon: float, prior: Sequence[float] | FloatArray) -> float:
    """Return the most bits that evidence tells of a secret, ε-private between any two labels: the least of three.

    Its entropy; ε, since the evidence's law is within a factor of e^ε of each candidate's; and ε·tanh(ε/2), since the
    relative entropy of two laws that are ε apart is at most that, and mutual information is at most the greatest.

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
