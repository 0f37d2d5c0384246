"""Poisoning: what parties can do to an outcome by choosing reports instead of drawing them.

What a poisoner pushes is linear in reports: a margin, a mean utility, a count of answers, a mean coordinate. So each
party's reports add a number to it, its *contribution*, and the harm has an exact bound: whoever chooses its reports
moves the estimate by the greatest contribution less the least, and m of them by m times as much. No server can do
better than that bound without knowing more than reports: one that an honest party could have drawn proves nothing.

Three strategies are compared. *Greatest*: of all reports that the server accepts, those that contribute most (the
maximal gain attack). *Input*: an honest randomizer on the value that helps most, which is what anybody can do by lying
about a value; its expected gain is a truthful voter's, and does not depend on ε. *Random*: any report that is accepted,
each as likely. The first gains more than the second by 1/(p − q) for k-RR, which grows without limit as ε shrinks.

Source: Cao, Jia and Gong (2021), Data poisoning attacks to local differential privacy protocols, section 4 (the three
strategies: maximal gain, random item, random perturbed value; the trade-off of security and privacy). Cheu, Smith and
Ullman (2021), Manipulation attacks in local differential privacy: every locally private protocol has such harm.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.randomness import SimulatedNoise
from ..system import names_with, part_of
from .coalition_view import draw_all, tallies_of

StrategyName: TypeAlias = Literal["greatest", "input", "random"]
STRATEGIES: Final[tuple[StrategyName, ...]] = get_args(StrategyName)


@dataclasses.dataclass(frozen=True, eq=False)
class Choices:
    """Reports among which a party with some public row finds those that contribute most and least.

    Args:
        reports: for each phase int64, shape (c, num_reported); all of them are accepted by the server.
        touched: for each phase the columns that matter; in the others a poisoner reports what it has drawn.
    """

    reports: tuple[IntArray, ...]
    touched: tuple[Sequence[int], ...]


class Poisoning(abc.ABC):
    """What is pushed in sessions of one protocol, and how.

    Args:
        protocol: with its parameters.
        aim: what is pushed, one of `aims`; empty for the first.
        sign: 1 to push it up, −1 to push it down.

    Raises:
        ConfigurationError: the protocol has no such aim, or releases no estimate that could be pushed.
    """

    unit: ClassVar[str]
    """In what the estimate is counted."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], aim: str = "", *, sign: int = 1) -> None:
        self.protocol = protocol
        self.sign = sign
        self.check_protocol()
        aims = self.aims()
        self.aim = aim or aims[0]
        if self.aim not in aims:
            shown = ", ".join(aims[:12]) + (", ..." if len(aims) > 12 else "")  # noqa: PLR2004  as many as are shown
            raise ConfigurationError(field="aim", value=aim, allowed=f"one of {shown}")

    def check_protocol(self) -> None:  # noqa: B027  most protocols release estimates
        """Raise ConfigurationError unless reports add to an estimate that is released; nothing unless overridden."""

    aimed_at: ClassVar[str] = ""
    """The parameter that lists what can be pushed, unless `aims` says it."""

    def aims(self) -> Sequence[str]:
        """Return what can be pushed."""
        names: Sequence[str] = getattr(self.protocol.parameters, self.aimed_at)
        return names

    @property
    def number(self) -> int:
        """The place of what is pushed among all that can be."""
        return self.aims().index(self.aim)

    @property
    @abc.abstractmethod
    def pushed(self) -> str:
        """What is pushed, as a phrase."""

    @abc.abstractmethod
    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        """Return what each party's reports add to the estimate, whichever way it is pushed.

        Args:
            reports: for each phase int64, shape (n, num_reported).
            public: int64, shape (n, public columns).
            num_parties: of the session, over whom a mean is taken.

        Returns:
            float64, shape (n,), in `unit`.
        """

    @abc.abstractmethod
    def choices(self, public: Sequence[int]) -> Choices:
        """Return the reports among which a party with this public row finds its greatest and its least."""

    @abc.abstractmethod
    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return private rows of those who truly want what is pushed most, int64, shape (places, private columns)."""

    @abc.abstractmethod
    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        """Return by how much the estimate's expectation differs between the two values that are farthest apart."""

    @abc.abstractmethod
    def decided(self, outcome: Any) -> str:
        """Return what was decided of the aim, as a phrase."""

    @abc.abstractmethod
    def has_reached(self, outcome: Any) -> bool:
        """Return whether the decision is what the poisoners want."""

    def turned(self) -> "Poisoning":
        """Return the same, pushed the other way."""
        return type(self)(self.protocol, self.aim, sign=-self.sign)

    def error_of_release(self, outcome: Any) -> float:
        """Return the standard error that a trusted server's noise gives the estimate; 0 where clients draw it."""
        del outcome
        return 0.0

    def is_concerned(self, public: Sequence[int]) -> bool:
        """Return whether a party's reports can move the estimate at all."""
        del public
        return True

    def random_choices(self, public: Sequence[int], uniforms: FloatArray) -> tuple[list[int], ...]:
        """Return accepted reports, each as likely, for the columns that matter, by a uniform for each of these."""
        left = iter(uniforms.tolist())
        drawn: list[list[int]] = []
        for phase, columns in zip(self.protocol.phases, self.choices(public).touched, strict=True):
            low, high = phase.mechanism_of(public).report_range
            drawn.append([low + int(next(left) * (high - low + 1)) for _ in columns])
        return tuple(drawn)

    def extremes(self, public: Sequence[int], *, num_parties: int) -> tuple[float, float]:
        """Return the least and the greatest that accepted reports of a party with this public row contribute."""
        found = self._contributions_of(public, self.choices(public), num_parties=num_parties)
        return float(found.min()), float(found.max())

    def greatest(self, public: Sequence[int], *, num_parties: int) -> tuple[list[int], ...]:
        """Return the reports, in the columns that matter, that push most."""
        choices = self.choices(public)
        best = int((self.sign * self._contributions_of(public, choices, num_parties=num_parties)).argmax())
        return tuple(
            reports[best, list(columns)].tolist()
            for reports, columns in zip(choices.reports, choices.touched, strict=True)
        )

    def _contributions_of(self, public: Sequence[int], choices: Choices, *, num_parties: int) -> FloatArray:
        rows = np.tile(np.array(public, dtype=np.int64), (len(choices.reports[0]), 1))
        return self.contributions(choices.reports, rows.reshape(len(rows), len(public)), num_parties=num_parties)


def reports_of(
    poisoning: Poisoning,
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    poisoners: IntArray | None = None,
    strategy: StrategyName = "greatest",
) -> list[IntArray]:
    """Return everybody's reports of a session in which some poison, for each phase, shape (n, num_reported).

    Who is honest draws the same as without poisoners, of whom there are none unless given.
    """
    places = np.empty(0, dtype=np.int64) if poisoners is None else poisoners
    if strategy == "input" and len(places):
        private = inputs.private.copy()
        private[places] = poisoning.wished_rows(inputs, places)
        inputs = Inputs(private, inputs.public)
    reports = [drawn.copy() for drawn in draw_all(poisoning.protocol, inputs, noise=noise)]
    if strategy == "input":
        return reports
    chosen: dict[tuple[int, ...], tuple[list[int], ...]] = {}
    for place in places.tolist():
        public = tuple(inputs.public[place].tolist())
        if not poisoning.is_concerned(public):
            continue
        touched = poisoning.choices(public).touched
        if strategy == "random":
            slots = sum(map(len, touched))
            uniforms = noise.uniforms(
                protocol="adversary", phase="random reports", start=place, stop=place + 1, slots=slots
            )
            own = poisoning.random_choices(public, uniforms[0])
        else:
            if public not in chosen:
                chosen[public] = poisoning.greatest(public, num_parties=len(inputs))
            own = chosen[public]
        for phase, (columns, numbers) in enumerate(zip(touched, own, strict=True)):
            reports[phase][place, list(columns)] = numbers
    return reports


def outcome_of(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, *, noise: SimulatedNoise
) -> msgspec.Struct:
    """Return what a session releases to which these reports come. See `tallies_of`."""
    outcome: msgspec.Struct = protocol.outcome(tallies_of(protocol, reports, public, noise=noise))
    return outcome


def has_poisoning(protocol: PhasedProtocol[Any, Any]) -> bool:
    """Return whether a protocol's system says what can be pushed, and how."""
    return part_of(type(protocol), "poisoning", Poisoning, is_class=True) is not None


def find_poisoning(protocol: PhasedProtocol[Any, Any], aim: str = "", *, sign: int = 1) -> Poisoning:
    """Return what can be pushed in sessions of a protocol; ConfigurationError where its system says nothing of it."""
    kind: type[Poisoning] | None = part_of(type(protocol), "poisoning", Poisoning, is_class=True)
    if kind is None:
        allowed = f"one whose poisoning is known: {', '.join(names_with('poisoning'))}"
        raise ConfigurationError(field="protocol", value=protocol.name, allowed=allowed)
    return kind(protocol, aim, sign=sign)
