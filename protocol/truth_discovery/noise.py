"""The perturbation of answers and its loss: the mechanism of a session, and the losses of a worker.

One of five parameters sets the privacy cost of a session. `epsilon`, `flip_probability` and `hyper` are the paper's,
whose claim (Theorems 6.2 and 6.3) holds for a single answer by itself. `epsilon_answer` and `epsilon_worker` are proven
losses, with the same meaning for every mechanism. "auto" compares mechanisms at one proven loss.
"""

import dataclasses
import decimal
import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy import special

from ..elementary import quotient_up
from ..errors import ConfigurationError, refuse, require
from ..mechanisms import (
    Disclosure,
    FreshTwoLayer,
    HyperDistribution,
    LossUnit,
    NoiseShare,
    OneLayer,
    RowMechanism,
    TwoLayer,
    Uniform,
    VectorLaplace,
    block_offsets,
    epsilon_of,
    flip_probability_of,
    least_uniform_loss,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_mean,
    loss_of_one_answer,
    uniform_for,
    uniform_of_loss,
)
from ..phases import law_of, sizes_of
from ..privacy import (
    Composed,
    LocalRandomizer,
    NeighboringRelation,
    PartLoss,
    PrivacyEvent,
    PrivacyLoss,
    PureAccountant,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    TrustModel,
)
from .counts import CountNoise
from .parameters import DEFAULT_EPSILON, Parameters

_UNIT: Final = "all answers of a worker"
_PART: Final = "one answer"
_LAW_OF_SHARES: Final = "shares of discrete Laplace noise on sums"
# The most other answers of a worker that count: more hardly reveal more about the drawn flip probability.
_MOST_ANSWERS: Final = 500
# The most rows of answer sets that are tried one by one to find the worst; for more, a bound is used.
_MOST_ROWS: Final = 500
# The grid to which the comparison of mechanisms is rounded.
_GRID: Final = 2.0**30
# The tolerance for (s − 1)/s, the flip probability without any loss, which may be no float.
_ROUNDING: Final = 1e-12
# The greatest scale of a trusted server's noise, in answers; with more, counts of a million workers would be useless.
_MOST_SCALE: Final = 2.0**30
_MOST_MASKED_SCALE: Final = 2**13  # the greatest scale for which the law of sums is computed
MASKED_DISTANCE: Final = 2
"""The ℓ₁ distance by which replacing an answer changes the sums of its task, for any labels
(`phases.MaskedAnswers`)."""


@dataclasses.dataclass(frozen=True)
class Perturbation:
    """The perturbation of one session.

    Args:
        sizes: the number of labels of each answer set.
        flip_probabilities: for each answer set the probability that an answer is reported as another label; the mean if
            workers draw it.
        epsilons: for each answer set the ε of Theorems 6.2 and 6.3.
        hyper: the hyper-distribution from which a worker draws its flip probability once for all its answers; None if
            answers are perturbed independently.
        on_counts: the noise that a trusted server adds to the counts, or whose shares workers add to masked sums; None
            if answers are perturbed.
        num_sums: the number of masked sums.
        threshold: T of masked sums.

    Examples:
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, epsilon=2.0)
        >>> noise = make_noise(parameters)
        >>> (noise.name, round(noise.flip_probabilities[0], 3), noise.epsilons)
        ('one_layer', 0.119, (2.0,))
        >>> noise.loss_of((1,)).proven
        2.0
    """

    name: str
    mechanism: RowMechanism
    sizes: tuple[int, ...]
    flip_probabilities: tuple[float, ...]
    epsilons: tuple[float, ...]
    hyper: HyperDistribution | None = None
    on_counts: VectorLaplace | NoiseShare | None = None
    num_sums: int = 0
    threshold: int = 0

    def count_noise(self, num_workers: int) -> CountNoise | None:
        """Return the noise on the counts of this many workers; None if answers are perturbed."""
        if self.on_counts is None:
            return None
        planned = self.on_counts.planned if isinstance(self.on_counts, NoiseShare) else None
        return CountNoise(self.on_counts.scale, planned, num_workers)

    @property
    def least_signal(self) -> float:
        """The least difference between the probabilities to report an answer's own label and another one."""
        pairs = zip(self.flip_probabilities, self.sizes, strict=True)
        return min(1 - flip * size / (size - 1) for flip, size in pairs)

    def __post_init__(self) -> None:
        if self.hyper is not None:
            return
        for epsilon, least in zip(self.epsilons, self._drawn_losses(), strict=True):
            require(epsilon >= least - _ROUNDING, "epsilons", epsilon, f"at least what is drawn: {least:g}")

    def _drawn_losses(self) -> Sequence[float]:
        """Return the losses of one answer by the flip probabilities that the mechanism itself draws with."""
        match self.mechanism:
            case OneLayer(flip_probabilities=flips):
                return [loss_of_flip_probability(flip, size) for flip, size in zip(flips, self.sizes, strict=True)]
            case FreshTwoLayer(hyper=hyper):
                return [loss_of_mean(hyper, size) for size in self.sizes]
            case Disclosure() if self.on_counts is not None:
                return [quotient_up(distance_of(size), self.on_counts.scale) for size in self.sizes]
            case NoiseShare(scale=scale):
                return [quotient_up(MASKED_DISTANCE, scale)] * len(self.sizes)
            case _:
                raise ConfigurationError(field="mechanism", value=self.name, allowed="with its own hyper-distribution")

    def loss_of(self, counts: tuple[int, ...]) -> PrivacyLoss:
        """Return the loss of a worker that gives this many answers from each answer set.

        Args:
            counts: one for each answer set; not all of them 0.

        Privacy:
            LDP, replace-one, unit: all answers of a worker; one answer is a part. With independent perturbation, an
            answer costs ε, and m answers mε (exact). Answers that share a flip probability cost J together, and R each
            (`psephos.protocol.mechanisms.joint_law`). The claimed loss is the ε of Theorems 6.2 and 6.3 for one answer,
            and their sum for all. In the central and the distributed model an answer costs Δ₁/scale, and m answers the
            sum (exact).
        """
        if self.hyper is None:
            return self._state(counts)
        sizes = [size for size, count in zip(self.sizes, counts, strict=True) for _ in range(count)]
        return self._state(counts, loss_of_all_answers(sizes, self.hyper), loss_of_one_answer(sizes, self.hyper))

    def loss_of_longest(self, num_answers: int, num_tasks: Sequence[int]) -> PrivacyLoss:
        """Return the greatest loss of a worker that gives this many answers, from any sets.

        Args:
            num_answers: the number of answers, at least 1.
            num_tasks: the number of tasks with each answer set; their sum is at least `num_answers`.

        Privacy:
            As `loss_of`, whose losses never exceed this one, since fewer answers never cost more. It is the greatest of
            them, except for very many rows with different sizes, where it is an upper bound.
        """
        counts = self._costliest_answers(num_answers, num_tasks)
        if self.hyper is None:
            return self._state(counts)
        rows = _rows_of(num_answers, self.sizes, num_tasks)
        if rows is not None:
            lists = [list(row.elements()) for row in rows]
            total_loss = max(loss_of_all_answers(row, self.hyper) for row in lists)
            return self._state(counts, total_loss, max(loss_of_one_answer(row, self.hyper) for row in lists))
        sizes = [size for size, number in zip(self.sizes, num_tasks, strict=True) if number]
        if _is_dearest_in_largest(self.hyper, num_answers):
            total_loss = self.loss_of(counts).proven
        else:
            total_loss = loss_of_longest_row(num_answers, sizes, self.hyper)
        # One answer loses most as the only one from the largest set, or from the smallest: see `joint_law`.
        lists = [[max(sizes)] + [min(sizes)] * (num_answers - 1), [min(sizes)] + [max(sizes)] * (num_answers - 1)]
        part = max(loss_of_one_answer(row, self.hyper) for row in lists)
        return self._state(counts, total_loss, part)

    def event_of_longest(self, num_answers: int, num_tasks: Sequence[int]) -> PrivacyEvent:
        """Return the greatest event of this many answers, by the mechanism and no statement."""
        if self.on_counts is not None:
            return self.on_counts.event
        blocks = [number for number, tasks in enumerate(num_tasks) if tasks]
        rows = _rows_of(num_answers, self.sizes, num_tasks) if isinstance(self.mechanism, TwoLayer) else None
        if rows is not None:
            block_of_size = {self.sizes[block]: block for block in blocks}
            places = [[block_of_size[size] for size in row.elements()] for row in rows]
        elif isinstance(self.mechanism, TwoLayer) and _is_dearest_in_largest(self.mechanism.hyper, num_answers):
            counts = self._costliest_answers(num_answers, num_tasks)
            places = [[block for block, count in enumerate(counts) for _ in range(count)]]
        elif isinstance(self.mechanism, TwoLayer):
            present = tuple(self.sizes[block] for block in blocks)
            return dataclasses.replace(self.mechanism, sizes=present).event_of(num_answers)
        else:  # independent answers: the ones with the greatest losses
            blocks.sort(key=lambda block: -_cost(self._event_of_answers([block])))
            places = [[block for block in blocks for _ in range(num_tasks[block])][:num_answers]]
        return max(map(self._event_of_answers, places), key=_cost)

    def _costliest_answers(self, num_answers: int, num_tasks: Sequence[int]) -> tuple[int, ...]:
        """Return this many answers from the sets of the greatest ε: one number for each set."""
        counts = [0] * len(self.sizes)
        num_remaining = num_answers
        for number in sorted(range(len(counts)), key=lambda place: -self.epsilons[place]):
            counts[number] = min(num_tasks[number], num_remaining)
            num_remaining -= counts[number]
        return tuple(counts)

    def _event_of_answers(self, blocks: Sequence[int]) -> PrivacyEvent:
        """Return the event of answers from these answer sets."""
        offsets = block_offsets(self.sizes)
        return self.mechanism.event_among([range(offsets[block], offsets[block + 1]) for block in blocks])

    def _state(self, counts: Sequence[int], all_answers: float | None = None, one_answer: float = 0.0) -> PrivacyLoss:
        """Return the loss of so many answers from each set: of independent ones, or with J and R of others."""
        numbered = [(number, count) for number, count in enumerate(counts) if count]
        claimed_of_one = max(self.epsilons[number] for number, _ in numbered)
        event: PrivacyEvent
        claimed = sum(self.epsilons[number] * count for number, count in numbered)
        law, model = self.name, TrustModel.LOCAL
        if isinstance(self.on_counts, NoiseShare):
            law, model, one_answer = law_of(_LAW_OF_SHARES, self.threshold), TrustModel.DISTRIBUTED, claimed_of_one
            share = dataclasses.replace(self.on_counts, sensitivity=MASKED_DISTANCE * sum(counts))
            event = share.event_of_sum(self.num_sums, honest=share.planned)
        elif self.on_counts is not None:
            law, model, one_answer = "discrete Laplace noise on counts", TrustModel.CENTRAL, claimed_of_one
            moved = sum(count * distance_of(self.sizes[number]) for number, count in numbered)
            event = PureMechanism(epsilon=quotient_up(moved, self.on_counts.scale))
        elif all_answers is None:
            one_answer = claimed_of_one
            events = [
                SelfComposed(RandomizedResponse(epsilon=self.epsilons[number], num_choices=self.sizes[number]), count)
                for number, count in numbered
            ]
            event = events[0] if len(events) == 1 else Composed(tuple(events))
        else:
            event = LocalRandomizer(epsilon=all_answers)
        return PrivacyLoss(
            mechanism=law,
            event=event,
            unit=_UNIT,
            relation=NeighboringRelation.REPLACE_ONE,
            model=model,
            claimed=claimed,
            part=PartLoss(unit=_PART, claimed=claimed_of_one, proven=one_answer),
        )


def distance_of(size: int) -> int:
    """Return Δ₁ of one answer: by how much replacing it moves the counts that are told (`counts`)."""
    return 1 if size == 2 else 2  # noqa: PLR2004  two labels


def _cost(event: PrivacyEvent) -> float:
    return PureAccountant.epsilon_of(event, NeighboringRelation.REPLACE_ONE)


def _is_dearest_in_largest(hyper: HyperDistribution, num_answers: int) -> bool:
    """Return whether answers from the largest sets lose most, since J is a sum of terms that grow with each size.

    This holds if no flip at all is the most likely pattern.
    """
    return hyper.log_moment(num_answers, 0) >= hyper.log_moment(num_answers, num_answers) - _ROUNDING


def _rows_of(num_answers: int, sizes: Sequence[int], num_tasks: Sequence[int]) -> list[Counter[int]] | None:
    """Return all rows of so many answers, each as how many have which size; None where there are too many of them."""
    available: Counter[int] = Counter()
    for size, number in zip(sizes, num_tasks, strict=True):
        available[size] += number
    *other_sizes, last = [size for size, number in available.items() if number]
    rows: list[Counter[int]] = [Counter()]
    for size in other_sizes:
        if len(rows) * (min(available[size], num_answers) + 1) > _MOST_ROWS:
            return None
        most = [min(available[size], num_answers - row.total()) for row in rows]
        rows = [
            row + Counter({size: count}) for row, limit in zip(rows, most, strict=True) for count in range(limit + 1)
        ]
    rows = [row + Counter({last: num_answers - row.total()}) for row in rows]
    return [row for row in rows if row.total() == num_answers and row[last] <= available[last]]


def make_noise(parameters: Parameters) -> Perturbation:
    """Return the perturbation for the parameters.

    Raises:
        ConfigurationError: there is none: it would flip too often for the smallest answer set, have an infinite loss,
            or cannot have the given loss.

    Examples:
        >>> parameters = Parameters(
        ...     tasks=("bridge", "flag"),
        ...     answer_sets=(("no", "yes"),),
        ...     max_answers=2,
        ...     mechanism="two_layer",
        ...     epsilon=1.0,
        ... )
        >>> loss = make_noise(parameters).loss_of((2,))
        >>> (round(loss.claimed, 3), round(loss.proven, 3))
        (2.0, 1.756)
    """
    if parameters.mechanism != "auto":
        return _make(parameters)
    refuse(parameters.epsilon == 0, "epsilon", 0.0, "above 0, where mechanisms are compared at one price")
    allowed = "epsilon, epsilon_answer or epsilon_worker, at which mechanisms are compared"
    refuse(parameters.flip_probability is not None, "flip_probability", parameters.flip_probability, allowed)
    # The paper's ε is proven only for one layer, so here it is the loss of one answer.
    price = {} if parameters.epsilon is None else {"epsilon": None, "epsilon_answer": parameters.epsilon}
    if parameters.epsilon_worker is None and parameters.epsilon_answer is None and parameters.epsilon is None:
        price = {"epsilon_answer": DEFAULT_EPSILON}
    offers: list[Perturbation] = []
    for mechanism in ("one_layer", "two_layer"):  # the first of equally good ones
        try:
            offers.append(_make(msgspec.structs.replace(parameters, mechanism=mechanism, **price)))
        except ConfigurationError:
            if not offers:
                raise
    return max(offers, key=lambda noise: informativeness(noise, num_answers=parameters.max_answers))


def informativeness(noise: Perturbation, *, num_answers: int) -> float:
    """Return the expected information of one report about an answer if the worker's other answers are known.

    A report with flip probability p for s labels changes the log-odds of its label by a weight that is proportional to
    g = 1 − p·s/(s − 1) for weakly informative reports; its information is proportional to g². If the m answers of a
    worker share a flip probability P, the other m − 1 reports have k flips, which determine E[P | k]. So the
    information is E[(1 − E[P | k]·s/(s − 1))²]. This assumes that the other answers are known, so it exceeds what an
    estimator gets.

    Args:
        noise: the perturbation; the smallest of its answer sets counts.
        num_answers: m ≥ 1.

    Returns:
        A number in [0, 1]: 0 if reports are uninformative, 1 if nothing is perturbed. It is on a grid, so that a choice
        by it does not depend on a processor's last bit.

    Examples:
        >>> sets = (("no", "yes"),)
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=sets, max_answers=1, flip_probability=0.25)
        >>> informativeness(make_noise(parameters), num_answers=1)
        0.25
    """
    number = int(np.argmin(noise.sizes))
    size = noise.sizes[number]
    scale = size / (size - 1)
    if noise.hyper is None:
        return _snap((1 - noise.flip_probabilities[number] * scale) ** 2)
    num_others = min(num_answers, _MOST_ANSWERS) - 1
    flips = np.arange(num_others + 1)
    log_chances = noise.hyper.log_moments(num_others)
    log_ways = special.gammaln(num_others + 1) - special.gammaln(flips + 1) - special.gammaln(num_others - flips + 1)
    expected_flip = np.exp(noise.hyper.log_moments(num_others + 1)[1:] - log_chances)
    return _snap(float(np.sum(np.exp(log_ways + log_chances) * (1 - expected_flip * scale) ** 2)))


def _snap(number: float) -> float:
    return math.floor(number * _GRID + 0.5) / _GRID


def _make(parameters: Parameters) -> Perturbation:
    if parameters.mechanism == "central":
        return _make_central(parameters)
    if parameters.is_masked:
        return _make_masked(parameters)
    if parameters.mechanism == "one_layer":
        return _make_one_layer(parameters)
    hyper = parameters.hyper or _make_hyper(parameters)
    is_shared = parameters.mechanism == "two_layer"
    allowed = "one that flips some answers and keeps some: otherwise reports reveal all answers of a worker"
    require(hyper.mean > 0 and not (is_shared and hyper.is_certain), "hyper", hyper, allowed)
    sizes = parameters.sizes
    _check_flips(hyper.mean, sizes, field=_price_of(parameters))
    return Perturbation(
        name=parameters.mechanism,
        mechanism=TwoLayer(sizes, hyper) if is_shared else FreshTwoLayer(sizes, hyper),
        sizes=sizes,
        flip_probabilities=(hyper.mean,) * len(sizes),
        epsilons=tuple(loss_of_mean(hyper, size) for size in sizes),
        hyper=hyper if is_shared else None,
    )


def _make_central(parameters: Parameters) -> Perturbation:
    """Return a trusted server's noise on counts: one scale, for the worker who moves them most."""
    sizes, price = parameters.sizes, parameters.epsilon_worker
    moved = sorted((distance_of(sizes[number]) for number in parameters.set_of_task), reverse=True)
    sensitivity = sum(moved[: parameters.max_answers])
    price, distance = (_epsilon_of_answers(parameters), moved[0]) if price is None else (price, sensitivity)
    allowed = f"at least {distance / _MOST_SCALE:.1g} where a trusted server adds noise to counts"
    require(price * _MOST_SCALE >= distance, _price_of(parameters), price, allowed)
    scale = quotient_up(distance, price)
    return Perturbation(
        name=parameters.mechanism,
        mechanism=Disclosure(sum(sizes)),
        sizes=sizes,
        flip_probabilities=(0.0,) * len(sizes),
        epsilons=tuple(quotient_up(distance_of(size), scale) for size in sizes),
        on_counts=VectorLaplace(scale=scale, sensitivity=sensitivity, bound=2**40),
    )


def _make_masked(parameters: Parameters) -> Perturbation:
    """Return each worker's noise on masked sums: the same for all tasks, so that every answer costs the same."""
    sizes, price, most = parameters.sizes, _epsilon_of_answers(parameters), parameters.max_answers
    field, per_price = _price_of(parameters), most if parameters.epsilon_worker is not None else 1
    least = MASKED_DISTANCE / _MOST_MASKED_SCALE
    require(price >= least, field, price * per_price, f"at least {least * per_price:.12g} in mechanism 'masked'")
    threshold, colluders = sizes_of(parameters)
    share = NoiseShare(quotient_up(MASKED_DISTANCE, price), MASKED_DISTANCE * most, 1, threshold - colluders)
    return Perturbation(
        name=parameters.mechanism,
        mechanism=share,
        sizes=sizes,
        flip_probabilities=(0.0,) * len(sizes),
        epsilons=(MASKED_DISTANCE / share.scale,) * len(sizes),
        on_counts=share,
        num_sums=sum(sizes[number] for number in parameters.set_of_task),
        threshold=threshold,
    )


def _make_one_layer(parameters: Parameters) -> Perturbation:
    sizes, flip = parameters.sizes, parameters.flip_probability
    if flip is not None:
        _check_flips(flip, sizes, field="flip_probability")
        mechanism = OneLayer.from_flip_probability(sizes, flip)
        epsilons = tuple(epsilon_of(flip, size) for size in sizes)
    else:
        epsilon = _epsilon_of_answers(parameters)
        mechanism = OneLayer.from_epsilon(sizes, epsilon)
        epsilons = (epsilon,) * len(sizes)
    return Perturbation("one_layer", mechanism, sizes, mechanism.flip_probabilities, epsilons)


def _make_hyper(parameters: Parameters) -> HyperDistribution:
    """Return the workers' hyper-distribution: uniform, from 0 on for the paper's prices if possible (reading T2)."""
    sizes = parameters.sizes
    if parameters.flip_probability is not None:
        return uniform_for(parameters.flip_probability)
    if parameters.mechanism == "two_layer":
        if parameters.epsilon_worker is not None:
            return _hyper_of_price(parameters, "epsilon_worker", parameters.epsilon_worker, "all answers")
        if parameters.epsilon_answer is not None:
            return _hyper_of_price(parameters, "epsilon_answer", parameters.epsilon_answer, "one answer")
    # The paper's claimed loss is greatest for the largest set.
    return uniform_for(flip_probability_of(_epsilon_of_answers(parameters), max(sizes)))


def _hyper_of_price(parameters: Parameters, field: str, price: float, unit: LossUnit) -> Uniform:
    """Return the hyper-distribution of workers that share a flip probability, for a proven loss."""
    smallest = min(parameters.sizes)
    most_flips = (smallest - 1) / smallest
    # A worker with the tasks of the largest sets has the greatest loss, for every distribution of `hyper_prices`.
    sizes = sorted((parameters.sizes[number] for number in parameters.set_of_task), reverse=True)
    row = sizes[: parameters.max_answers]
    if not price >= (least := least_uniform_loss(row, unit=unit, most_flips=most_flips)):
        floor = decimal.Context(prec=6, rounding=decimal.ROUND_CEILING).create_decimal(least)
        allowed = f"at least {floor.normalize():g}, where an answer from {smallest} labels is reported as any of them"
        raise ConfigurationError(field=field, value=price, allowed=f"{allowed} alike (one_layer can have less)")
    return uniform_of_loss(price, sizes=row, unit=unit, most_flips=most_flips)


def _epsilon_of_answers(parameters: Parameters) -> float:
    """Return ε of one answer that is perturbed by itself."""
    if parameters.epsilon_worker is not None:
        return parameters.epsilon_worker / parameters.max_answers
    if parameters.epsilon_answer is not None:
        return parameters.epsilon_answer
    return DEFAULT_EPSILON if parameters.epsilon is None else parameters.epsilon


def _check_flips(flip_probability: float, sizes: tuple[int, ...], *, field: str) -> None:
    """Raise ConfigurationError unless an answer's own label remains its likeliest report, in the smallest set too."""
    size = min(sizes)
    most = (size - 1) / size
    allowed = f"such that an answer is flipped with a probability in (0, {most:g}], for sets of {size} labels"
    if flip_probability == 1:
        allowed += "; a report that never is the answer (a negative survey) rules its label out, at an infinite loss"
    require(0 < flip_probability <= most, field, flip_probability, allowed)


def _price_of(parameters: Parameters) -> str:
    for field in ("hyper", "flip_probability", "epsilon_worker", "epsilon_answer"):
        if getattr(parameters, field) is not None:
            return field
    return "epsilon"
