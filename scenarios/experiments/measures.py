"""Measures of a trial: numbers that compare a session's release with the true values of its parties.

A system may have its own measures (its part `measures`). For any other protocol, each estimate is compared with the
number in `PhasedProtocol.truth` that it estimates.

Privacy: none. Measures are computed from private inputs, so they are for synthetic parties.
"""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ...protocol.arrays import FloatArray
from ...protocol.blocks import goes_with
from ...protocol.phases import InputBlock, Inputs, PhasedProtocol
from ...protocol.plugin_checks import checked_truth
from ...protocol.tally import Decisions, Tally, TallyBlock
from ..outcomes import estimates_in
from ..running.resolution import Local
from ..system import part_of

POSITIVE: Final = (0.0, math.inf)
"""The limits of a nonnegative measure."""

_MOST_ESTIMATES: Final = 20  # most estimates with separate measures; if there are more, only their mean is measured
_NEAR: Final = 2.0  # standard errors within which an estimate is near the truth


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A number that is computed from each trial.

    Args:
        name: the column's name, in lower case; the same in every cell of a grid.
        about: an explanation, as words that follow the name.
        is_share: whether it is a fraction, or a difference of fractions, which is shown in percent.
        is_detail: whether it is shown after all others if there is little room.
        limits: the least and the greatest possible value; by default 0 and 1 for a fraction, and none for others.
        is_bound_by_parties: whether the limits depend on the parties, and so change if these are redrawn.
        said: a sentence without its full stop, with {} for the number; may be empty.

    Examples:
        >>> Measure(name="accuracy", about="decisions as without noise", is_share=True).range
        (0.0, 1.0)
    """

    name: str
    about: str
    is_share: bool = False
    is_detail: bool = False
    limits: tuple[float, float] | None = None
    is_bound_by_parties: bool = False
    said: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest possible value."""
        return self.limits or ((0.0, 1.0) if self.is_share else (-math.inf, math.inf))


class Measures(abc.ABC):
    """Computes the measures of one session's trials; made once for all trials, so that true values are computed once.

    Args:
        protocol: the session's protocol.
        inputs: the rows of all parties.
        gold: maps names to true values from a gold standard; empty if there is none.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.inputs = inputs
        self.gold = gold
        self.block = InputBlock.from_inputs(inputs)

    @property
    @abc.abstractmethod
    def measures(self) -> Sequence[Measure]:
        """The measures, the most important first."""

    @abc.abstractmethod
    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        """Return one trial's numbers by measure, from its outcome and each phase's tally."""

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        """Return many trials' numbers by measure, shape (trials,), equal to those of `of` bit for bit.

        A system whose protocol decides many sessions at once overrides this. Otherwise, and if a subclass overrides
        `of`, trials are measured one by one.

        Args:
            inputs: the parties' rows: `block`, or those of each trial if parties are redrawn.
            decisions: the protocol's decisions (`PhasedProtocol.decisions`).
        """
        raise NotImplementedError(f"{type(self).__name__} measures trial by trial")

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        """Return the exact means of measures over all noise, given the parties' rows, by name, shape (sessions,).

        Only measures with a known law are included. Their means are more precise than those of trials.
        """
        del inputs
        return {}

    def controls(self, inputs: InputBlock, tallies: Sequence[TallyBlock]) -> Mapping[str, FloatArray]:
        """Return control variates: numbers that correlate with measures, and have mean exactly 0 over all noise.

        They are by measure, shape (sessions,). `summaries` subtracts the part of a measure that its control explains.
        """
        del inputs, tallies
        return {}

    @property
    def go_in_blocks(self) -> bool:
        """Whether `measure_block` measures trials."""
        kind = type(self)
        return kind.measure_block is not Measures.measure_block and goes_with(kind, "measure_block", "of")


class EstimateErrors(Measures):
    """Measures of any protocol: the error of each estimate with a known true value."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        truths = checked_truth(protocol, inputs) or {}
        self._truth = {
            name: float(value)
            for name, value in truths.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    @property
    def measures(self) -> Sequence[Measure]:
        """The mean squared error, the fraction of estimates near the truth, and if they are few, each error."""
        if not self._truth:
            return ()
        means = (
            Measure(name="mean squared error", about="over all estimates whose truth is told", limits=POSITIVE),
            Measure(
                name="within 2 standard errors",
                about="of the truth: the share of estimates; about 95 % where errors are normal",
                is_share=True,
                said="{} of estimates are within two standard errors of the truth",
            ),
        )
        if len(self._truth) > _MOST_ESTIMATES:
            return means
        return (
            *means,
            *(
                Measure(name=_error_of(name), about="the estimate less the truth", is_detail=True)
                for name in self._truth
            ),
        )

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        del tallies
        estimates = {name: each for name, each in estimates_in(outcome).items() if name in self._truth}
        errors = {name: each.value - self._truth[name] for name, each in estimates.items()}
        if not errors:
            return {}
        num_near = sum(abs(error) <= _NEAR * estimates[name].standard_error for name, error in errors.items())
        results = {
            "mean squared error": math.fsum(error * error for error in errors.values()) / len(errors),
            "within 2 standard errors": num_near / len(errors),
        }
        if len(self._truth) > _MOST_ESTIMATES:
            return results
        return {**results, **{_error_of(name): error for name, error in errors.items()}}


def _error_of(name: str) -> str:
    return f"error of {name}"


def measures_of(setup: Local) -> Measures:
    """Return the measures of a scenario's trials."""
    protocol = setup.protocol
    kind: type[Measures] = part_of(type(protocol), "measures", Measures, is_class=True) or EstimateErrors
    return kind(protocol, setup.inputs, gold=setup.gold)
