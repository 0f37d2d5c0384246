"""Measures of a trial: numbers that compare a session's release with the true values of its parties.

A system brings its own measures (its part `measures`). Of any other protocol each estimate is held against the number
of `PhasedProtocol.truth` that it estimates.

Privacy: measures are computed of private inputs. They are for parties that nobody real stands behind.
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
"""The limits of what is never negative."""

_MOST_ESTIMATES: Final = 20  # of which each has a measure of its own; of more the mean alone is measured
_NEAR: Final = 2.0  # standard errors


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One number of each trial.

    Args:
        name: its column, in small letters; the same in every cell of a grid.
        about: what it is, as words that go on from its name.
        is_share: whether it is a share of something, or a difference of such, which is shown in percent.
        is_detail: whether it comes after all others where there is little room.
        limits: the least and the greatest that it can be; by default of a share 0 and 1, and of others none.
        is_bound_by_parties: whether the limits follow from the parties, so that others have others.
        said: a sentence without its end, to be read aloud, with {} in place of the number; may be empty.

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
        """The least and the greatest that it can be."""
        return self.limits or ((0.0, 1.0) if self.is_share else (-math.inf, math.inf))


class Measures(abc.ABC):
    """What the trials of one session are measured by; made once for all of them, so that what is true is computed once.

    Args:
        protocol: what is run.
        inputs: what the parties hold.
        gold: what is true by somebody who knows: a name's true value; empty where nobody does.
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.inputs = inputs
        self.gold = gold
        self.block = InputBlock.from_inputs(inputs)

    @property
    @abc.abstractmethod
    def measures(self) -> Sequence[Measure]:
        """What is measured, the most telling first."""

    @abc.abstractmethod
    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        """Return the numbers of one trial, by their names: of what it released, and of each phase's tally."""

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        """Return the numbers of many trials, by their names, shape (trials,): what `of` gives of each, bit for bit.

        A system whose protocol decides many sessions at once overrides this; trials are measured one by one elsewhere,
        and where `of` is a subclass's.

        Args:
            inputs: what the parties hold: `block`, or where they are drawn anew what they hold in each trial.
            decisions: the protocol's own (`PhasedProtocol.decisions`).
        """
        raise NotImplementedError(f"{type(self).__name__} measures trial by trial")

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        """Return means over all noise, given what the parties of many sessions hold, by measures' names.

        Of shape (sessions,) each, exactly, of those measures whose law is known: there they say more than trials do.
        """
        del inputs
        return {}

    def controls(self, inputs: InputBlock, tallies: Sequence[TallyBlock]) -> Mapping[str, FloatArray]:
        """Return what is like a measure and has a mean of 0 over all noise, exactly, whatever the parties hold.

        By measures' names, of shape (sessions,) each. What it explains of a measure is taken off (`summaries`).
        """
        del inputs, tallies
        return {}

    @property
    def go_in_blocks(self) -> bool:
        """Whether trials are measured by `measure_block`."""
        kind = type(self)
        return kind.measure_block is not Measures.measure_block and goes_with(kind, "measure_block", "of")


class EstimateErrors(Measures):
    """The error of each estimate whose truth is told: what any protocol has."""

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
        """The mean squared error, how many estimates are near the truth, and where they are few each error."""
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
    """Return what trials of a scenario are measured by."""
    protocol = setup.protocol
    kind: type[Measures] = part_of(type(protocol), "measures", Measures, is_class=True) or EstimateErrors
    return kind(protocol, setup.inputs, gold=setup.gold)
