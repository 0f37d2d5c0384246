"""The public parameters of a truth discovery session."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Self, TypeAlias

import msgspec

from ..arguments import first_repeated
from ..elementary import exp
from ..errors import ConfigurationError, refuse, require
from ..estimators.truth_inference import Normalization
from ..mechanisms import MAX_EPSILON, MIN_EPSILON, HyperDistribution, Moments
from ..phases import check_sizes
from ..privacy_levels import PrivacyLevels
from .estimators import AUTO, ESTIMATORS

MechanismName: TypeAlias = Literal["one_layer", "two_layer", "fresh_two_layer", "central", "masked", "auto"]

SEPARATOR: Final = ";"
"""The separator between the names of a list in one text."""

PRICES: Final = frozenset({"epsilon", "flip_probability", "hyper", "epsilon_answer", "epsilon_worker"})
"""The parameters that set the amount of perturbation; exactly one is used."""

ROUNDED: Final = frozenset(name for name, each in ESTIMATORS.items() if "rounds" in each.takes)
"""The estimators that stop by their likelihood, unless `rounds` is given."""

WEIGHTED: Final = frozenset(name for name, each in ESTIMATORS.items() if "weight_function" in each.takes)
"""The estimators that weight workers by a function that the parameters may name."""

MAX_NAME_LENGTH: Final = 256
_WITHOUT_LEVELS: Final[Mapping[MechanismName, str]] = {
    "auto": "mechanisms are compared at one price; name one_layer or two_layer",
    "central": "the noise is in counts of all workers' answers, and protects all of them alike",
    "masked": "the noise is in sums of all workers' answers, and protects all of them alike",
}
MAX_ROUNDS: Final = 10_000
MAX_LABELS: Final = 1_000
MAX_CONFUSIONS: Final = 1 << 26  # numbers in all confusion matrices, s² for each task or worker; half a gigabyte
MAX_LEVELS: Final = 20
MAX_MASKED: Final = 1 << 14  # numbers of a masked row
DEFAULT_EPSILON: Final = 1.0
_TOLERANCE: Final = 1e-9


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a survey, on which both sides of a session agree.

    One of `PRICES` sets the amount of perturbation; by default `epsilon` is 1.

    Args:
        tasks: distinct names of the tasks.
        answer_sets: the distinct sets of labels that an answer may have, each of two or more.
        answer_set_of_task: the index of each task's answer set; by default the first.
        max_answers: the greatest number of tasks that one worker is asked.
        mechanism: the perturbation of answers (see the package). "auto" takes the more informative of the local ones at
            the same proven loss. "central" trusts the server with the answers. In "masked" the server learns only noisy
            sums. Both use the estimator "majority".
        epsilon: the paper's ε of one answer, as Theorems 6.2 and 6.3 state it; in nats, ≥ 0. For "auto", "central" and
            "masked" it is the proven loss of one answer, `epsilon_answer`.
        flip_probability: the paper's p^f, the same for every answer set; at most (s − 1)/s for each set of s labels.
        hyper: the distribution from which each worker draws p^f; only in "two_layer" and "fresh_two_layer".
        epsilon_answer: the proven loss of one answer of a worker with `max_answers`, if all its others are known; in
            nats, > 0.
        epsilon_worker: the proven loss of all answers of such a worker; in nats, > 0.
        epsilons: instead of `epsilon`, the public levels of ε, ascending, one of which each worker has; each is an
            `epsilon` of "one_layer", "two_layer" or "fresh_two_layer". `epsilon` becomes the greatest. On the wire only
            if set, as is `chosen_by`.
        chosen_by: who chooses a worker's level: the `roster`, with a column for it (default), or each `worker` as it
            joins.
        estimator: the estimator of the truths (see the package): an `EstimatorName`, or the name of a registered one.
        ties: the choice among equally good labels, by the order of the answer set.
        max_iterations: the most iterations of estimators that iterate.
        rounds: the exact number of EM rounds of an estimator in `ROUNDED`, instead of stopping by its likelihood. On
            the wire only if set.
        quality_clamp: the least distance from 0 and 1 of a worker's share of right answers in the paper's truth
            discovery (reading T2); in CRH the least share of wrong answers.
        weight_function: g of equation (3), for the estimator "truth_discovery": "log_odds", "linear", or the name of a
            registered function. On the wire only if set.
        normalization: the divisor of a worker's number of right answers in that estimator: "answered", the number of
            its answers, or "all", the number of tasks, as printed in equation (3) (reading T2). On the wire only if
            set.
        threshold: in "masked": T, the number of workers that must take part to the end; with fewer, nothing is
            released. On the wire only there, as is `colluders`.
        colluders: in "masked": c, the greatest number of workers that collude with the server.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> parameters = Parameters(tasks=("bridge", "flag"), answer_sets=(("no", "yes"),), max_answers=2)
        >>> (parameters.mechanism, parameters.estimator, parameters.set_of_task)
        ('one_layer', 'auto', (0, 0))
    """

    tasks: tuple[str, ...]
    answer_sets: tuple[tuple[str, ...], ...]
    answer_set_of_task: tuple[int, ...] = ()
    max_answers: int
    mechanism: MechanismName = "one_layer"
    epsilon: float | None = None
    flip_probability: float | None = None
    hyper: HyperDistribution | None = None
    epsilon_answer: float | None = None
    epsilon_worker: float | None = None
    epsilons: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    chosen_by: Literal["roster", "worker"] | msgspec.UnsetType = msgspec.UNSET
    estimator: str = "auto"
    ties: Literal["first", "last"] = "first"
    max_iterations: int = 50
    rounds: int | msgspec.UnsetType = msgspec.UNSET
    quality_clamp: float = 0.05
    weight_function: str | msgspec.UnsetType = msgspec.UNSET
    normalization: Normalization | msgspec.UnsetType = msgspec.UNSET
    threshold: int | msgspec.UnsetType = msgspec.UNSET
    colluders: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        require(self.tasks, "tasks", "none", "at least one task")
        _check_names(self.tasks, "tasks", forbidden=SEPARATOR)
        self._check_answer_sets()
        self._check_levels()
        self._check_noise()
        allowed = f"in [1, {len(self.tasks)}], the number of tasks"
        require(1 <= self.max_answers <= len(self.tasks), "max_answers", self.max_answers, allowed)
        _check_names((self.estimator,), "estimator", forbidden=SEPARATOR)
        refuse(self.max_iterations < 1, "max_iterations", self.max_iterations, "at least 1")
        self.check_confusions("tasks", len(self.tasks))
        if self.rounds is not msgspec.UNSET:
            allowed = f"left out, except with the estimators {', '.join(sorted(ROUNDED))}"
            require(self.estimator in ROUNDED, "rounds", self.rounds, allowed)
            require(1 <= self.rounds <= MAX_ROUNDS, "rounds", self.rounds, f"in [1, {MAX_ROUNDS}]")
        for field, value in (("weight_function", self.weight_function), ("normalization", self.normalization)):
            is_idle = value is not msgspec.UNSET and self.estimator not in WEIGHTED
            refuse(is_idle, field, value, "left out, except with truth_discovery")
        if self.weight_function is not msgspec.UNSET:
            _check_names((self.weight_function,), "weight_function", forbidden=SEPARATOR)
        is_clamp = 0 < self.quality_clamp < 0.5  # noqa: PLR2004  half is no quality at all
        require(is_clamp, "quality_clamp", self.quality_clamp, "in (0, 0.5)")

    @property
    def set_of_task(self) -> tuple[int, ...]:
        """Which answer set each task has."""
        return self.answer_set_of_task or (0,) * len(self.tasks)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many labels each answer set has."""
        return tuple(map(len, self.answer_sets))

    @property
    def asked_columns(self) -> slice:
        """The columns of a worker's tasks in its public row: after its place, before its ε if it has its own."""
        return slice(1, 1 + self.max_answers)

    @property
    def own_levels(self) -> PrivacyLevels:
        """The levels among which workers have their own ε; none where all have the same."""
        return PrivacyLevels(self.epsilons or (), self.chosen_by == "worker", "worker")

    @property
    def level_parameters(self) -> tuple[Self, ...]:
        """The survey with a single ε for all, once for each level; the survey itself if there are no levels."""
        of_all = dict.fromkeys(("epsilons", "chosen_by"), msgspec.UNSET)
        levels = self.own_levels.epsilons
        return tuple(msgspec.structs.replace(self, epsilon=level, **of_all) for level in levels) or (self,)

    def are_tried(self, flip_probabilities: Sequence[float]) -> bool:
        """Return whether confidences were calibrated on published crowds for such settings.

        This covers the built-in estimators with default settings, one ε for all workers, the paper's law of flip
        probabilities, and every ε from the least one at which all crowds were in the range.

        Args:
            flip_probabilities: the flip probability of each answer set; the mean if workers draw it.
        """
        estimator = ESTIMATORS.get(AUTO if self.estimator == "auto" else self.estimator)
        if estimator is None:
            return False  # a registered estimator
        if estimator.credit.average == 1:
            return True  # shares of votes or weights
        most = [(size - 1) / (size - 1 + exp(estimator.tried_from)) for size in self.sizes]
        are_usual = self.normalization in {msgspec.UNSET, "answered"} and all(
            getattr(self, field) == default for field, default in _TRIED.items()
        )
        return are_usual and all(flip < top + _TOLERANCE for flip, top in zip(flip_probabilities, most, strict=True))

    @property
    def is_masked(self) -> bool:
        """Whether answers are added up under masks."""
        return self.mechanism == "masked"

    def _check_answer_sets(self) -> None:
        require(self.answer_sets, "answer_sets", "none", "at least one")
        for number, labels in enumerate(self.answer_sets):
            field = f"answer_sets[{number}]"
            is_question = 2 <= len(labels) <= MAX_LABELS  # noqa: PLR2004  one label is none
            require(is_question, field, f"{len(labels)} labels", f"2 to {MAX_LABELS} labels")
            _check_names(labels, field, forbidden=f"{SEPARATOR}=")
        are_distinct = len(set(map(tuple, self.answer_sets))) == len(self.answer_sets)
        require(are_distinct, "answer_sets", list(self.answer_sets), "distinct sets")
        if not self.answer_set_of_task:
            return
        num_given = len(self.answer_set_of_task)
        allowed = f"one number for each of {len(self.tasks)} tasks"
        require(num_given == len(self.tasks), "answer_set_of_task", f"{num_given} numbers", allowed)
        allowed = f"in [0, {len(self.answer_sets) - 1}]"
        for number in self.answer_set_of_task:
            require(0 <= number < len(self.answer_sets), "answer_set_of_task", number, allowed)

    def check_confusions(self, field: str, number: int, *, kinds: int = 1) -> None:
        """Refuse more tasks or workers, with as many confusions each as there are kinds, than memory is for."""
        most = MAX_CONFUSIONS // (kinds * max(self.sizes) ** 2)
        is_too_large = self.estimator == "minimax_entropy" and number > most
        refuse(is_too_large, field, number, f"at most {most} with estimator 'minimax_entropy' and these labels")

    def _check_levels(self) -> None:
        """Refuse levels where nothing is perturbed by them, and a price beside them; set `epsilon` to the greatest."""
        if self.epsilons is msgspec.UNSET:
            allowed_levels = "given: the levels of ε among which workers have their own (chosen_by says who chooses)"
            require(self.chosen_by is msgspec.UNSET, "epsilons", [], allowed_levels)
            return
        allowed = f"left out in mechanism {self.mechanism!r}: {_WITHOUT_LEVELS.get(self.mechanism)}"
        refuse(self.mechanism in _WITHOUT_LEVELS, "epsilons", list(self.epsilons[:12]), allowed)
        require(self.epsilons, "epsilons", [], "at least one level")
        self.own_levels.check(least=MIN_EPSILON, greatest=MAX_EPSILON, most=MAX_LEVELS)
        for field in sorted(PRICES):
            value, allowed = getattr(self, field), "left out beside epsilons: each worker has one of these"
            require(value is None or (field, value) == ("epsilon", self.epsilons[-1]), field, value, allowed)
        allowed = (
            "another one beside epsilons: its weights do not tell a worker who errs from one whose reports say little"
        )
        refuse(self.estimator == "noise_aware_crh", "estimator", self.estimator, allowed)
        msgspec.structs.force_setattr(self, "epsilon", self.epsilons[-1])

    def _check_noise(self) -> None:
        names_given = [name for name in self.__struct_fields__ if name in PRICES and getattr(self, name) is not None]
        refuse(len(names_given) > 1, " and ".join(names_given), "given", "given one of them alone")
        check_sizes(self.threshold, self.colluders, kind=f"mechanism {self.mechanism!r}", is_masked=self.is_masked)
        if self.is_masked:
            numbers = sum(self.sizes[number] for number in self.set_of_task)
            allowed = f"at most {MAX_MASKED} with the labels of all of them: each is a number of a masked row"
            refuse(numbers > MAX_MASKED, "tasks", numbers, allowed)
        if self.mechanism in {"central", "masked"}:
            noise_place = "noise is added to masked sums" if self.is_masked else "a trusted server adds noise to counts"
            allowed = f"left out, where {noise_place}: epsilon, epsilon_answer or epsilon_worker"
            refuse(self.flip_probability is not None, "flip_probability", self.flip_probability, allowed)
            noise_place = "a masked session" if self.is_masked else "a trusted server"
            allowed = f"majority or auto, where {noise_place} tells noisy counts and no worker's answers"
            refuse(self.estimator not in {"majority", "auto"}, "estimator", self.estimator, allowed)
        is_idle = self.hyper is not None and self.mechanism not in {"two_layer", "fresh_two_layer"}
        refuse(is_idle, "hyper", "given", "left out: only the two-layer mechanisms draw from one")
        if isinstance(self.hyper, Moments) and self.mechanism == "two_layer":
            number = len(self.hyper.moments)
            allowed = f"at least {self.max_answers}, one for each of the max_answers that share a flip probability"
            require(number >= self.max_answers, "hyper.moments", f"{number} of them", allowed)
        is_price = self.epsilon is None or 0 <= self.epsilon <= MAX_EPSILON
        require(is_price, "epsilon", self.epsilon, f"in [0, {MAX_EPSILON:g}]")
        is_price = self.epsilon_answer is None or 0 < self.epsilon_answer <= MAX_EPSILON
        require(is_price, "epsilon_answer", self.epsilon_answer, f"in (0, {MAX_EPSILON:g}]")
        most = MAX_EPSILON * self.max_answers
        is_price = self.epsilon_worker is None or 0 < self.epsilon_worker <= most
        allowed = f"above 0 and at most {most:g}, {MAX_EPSILON:g} for each of {self.max_answers} answers"
        require(is_price, "epsilon_worker", self.epsilon_worker, allowed)


_TRIED: Final[Mapping[str, object]] = {
    "hyper": None,
    "epsilons": msgspec.UNSET,
    "max_iterations": 50,
    "rounds": msgspec.UNSET,
    "quality_clamp": 0.05,
    "weight_function": msgspec.UNSET,
}


def _check_names(names: tuple[str, ...], field: str, *, forbidden: str) -> None:
    """Raise ConfigurationError unless the names are distinct, short, and without what a written list needs."""
    text = "".join(names)
    are_short = bool(names) and 0 < min(map(len, names)) <= max(map(len, names)) <= MAX_NAME_LENGTH
    # A survey has many names, and most are right, so a fast test comes before the search for a wrong one.
    are_right = are_short and [*map(str.strip, names)] == [*names] and not any(sign in text for sign in forbidden)
    for name in () if are_right else names:
        if not 0 < len(name) <= MAX_NAME_LENGTH or name != name.strip() or any(sign in name for sign in forbidden):
            allowed = f"names of 1 to {MAX_NAME_LENGTH} characters, without {' and '.join(forbidden)} or blanks around"
            raise ConfigurationError(field=field, value=name, allowed=allowed)
    require(len(set(names)) == len(names), field, first_repeated(names), "distinct names")
