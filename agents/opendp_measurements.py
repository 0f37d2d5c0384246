"""Conversion of finite mechanisms to measurements of OpenDP, and of finite measurements to mechanisms.

A converted mechanism draws by secure noise, and its privacy map is the proven loss. OpenDP trusts both, as for every
user-defined measurement (`honest-but-curious`).

Source: OpenDP library, user-defined measurements.
"""

import dataclasses
import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..protocol.errors import ConfigurationError, refuse, require
from ..protocol.mechanisms import (
    ExactMechanism,
    FiniteChannel,
    FiniteMechanism,
    GeneralizedRandomizedResponse,
    RandBelow,
)
from ..protocol.mechanisms.finite_channel import TOTAL_MASS
from ..protocol.privacy import NeighboringRelation, PureAccountant
from .noise import SecureNoise

_ROUNDING: Final = 1e-12
_MOST_VALUES: Final = 1024
"""The most values of a mechanism whose matrix is computed."""


def to_opendp(mechanism: FiniteMechanism) -> Any:
    """Return a mechanism as an `opendp.prelude.Measurement` of one value.

    Input: an integer in `value_range` (`i64`), with the discrete metric: distance 1 between any two values, so the
    relation is replace-one, and the unit the value. Output: the report. Output measure: max divergence (pure ε).

    Args:
        mechanism: k-RR, a finite channel, or another mechanism that bounds the loss between any two of its values.

    Raises:
        ConfigurationError: it bounds no such loss (answers from several public answer sets are protected only within
            each set), it has no exact sampler, or OpenDP is not installed.
        opendp.mod.OpenDPException: the caller has not called `dp.enable_features("contrib", "honest-but-curious")`.

    Privacy:
        ε-LDP with the mechanism's proven ε, replace-one, unit: the value, against an observer of the report.
    """
    _check_all_values(mechanism)
    if importlib.util.find_spec("opendp") is None:
        allowed = "installed (pip install 'psephos[opendp]')"
        raise ConfigurationError(field="opendp", value="not installed", allowed=allowed)
    noise = SecureNoise()
    noise.check(mechanism)
    epsilon = PureAccountant.epsilon_of(mechanism.event, NeighboringRelation.REPLACE_ONE)
    dp: Any = importlib.import_module("opendp.prelude")  # imported by name, since it is optional and slow to load

    def draw(value: int) -> int:
        (report,) = noise.randomize(mechanism, (value,), protocol="", phase="", place=0)
        return report

    def loss_of(distance: int) -> float:
        return epsilon if distance else 0.0

    return dp.m.make_user_measurement(
        dp.atom_domain(bounds=mechanism.value_range, T="i64"),
        dp.discrete_distance(),
        output_measure=dp.max_divergence(),
        function=draw,
        privacy_map=loss_of,
        TO="i64",
    )


@dataclasses.dataclass(frozen=True, repr=False)
class OpenDPMechanism(FiniteChannel, ExactMechanism):
    """A measurement of OpenDP, with its law: a simulation draws from the law, a deployment by the measurement.

    Made by `from_opendp`.

    Args:
        epsilon: the loss between any two values by the measurement's privacy map; see `FiniteChannel`.
        values: the measurement's possible values, in the order of the rows.
        reports: its possible reports, in the order of the columns.
        measurement: the measurement.

    Privacy:
        ε-LDP as proven by OpenDP's privacy map, replace-one, unit: the value. The caller states the law, which is
        refused if it realizes a greater loss; `check_protocol` tests the measurement's draws against it.
    """

    values: tuple[Any, ...]
    reports: tuple[Any, ...]
    measurement: Callable[[Any], Any] = dataclasses.field(compare=False)

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Draw by the measurement, with OpenDP's randomness. See `ExactMechanism.randomize_exactly`."""
        return [self.reports.index(self.measurement(self.values[value])) for value in values]


def from_opendp(
    measurement: Any,
    values: Sequence[Any],
    reports: Sequence[Any] | None = None,
    *,
    channel: Sequence[Sequence[float]] | None = None,
) -> OpenDPMechanism:
    """Return a measurement with a privacy map as a mechanism on the indices of its values and reports.

    Args:
        measurement: an `opendp.prelude.Measurement` of one value, with discrete or absolute distance, in max
            divergence.
        values: its possible values.
        reports: its possible reports; by default the values.
        channel: P[report | value], a row for each value. OpenDP does not reveal the law, which simulations, estimates
            and audits need.

    Raises:
        ConfigurationError: the measurement has no finite channel, such as noise on integers, or has another measure
            than max divergence or another distance; or the channel is no law of these values, or realizes a greater
            loss than the privacy map.
    """
    measure, metric = str(measurement.output_measure), str(measurement.input_metric)
    require(measure == "MaxDivergence", "output measure", measure, "MaxDivergence: pure epsilon")
    is_discrete = metric.startswith("DiscreteDistance")
    require(
        is_discrete or metric.startswith("AbsoluteDistance"), "metric", metric, "DiscreteDistance or AbsoluteDistance"
    )
    if channel is None:
        allowed = (
            "given: P[report | value], a row for each value. A measurement without finitely many reports has none: for "
            "Laplace noise take DiscreteLaplace or VectorLaplace, whose deployments draw OpenDP's"
        )
        raise ConfigurationError(field="channel", value=None, allowed=allowed)
    rows = tuple(tuple(map(float, row)) for row in channel)
    report_values = tuple(values if reports is None else reports)
    is_table = len(rows) == len(values) > 1 and all(len(row) == len(report_values) for row in rows)
    is_law = is_table and all(min(row) >= 0 and math.isclose(math.fsum(row), 1.0, abs_tol=1e-9) for row in rows)
    require(
        is_law,
        "channel",
        f"{len(rows)} rows",
        f"{len(values)} rows of {len(report_values)} probabilities that add up to 1",
    )
    epsilon = float(measurement.map(1 if is_discrete else max(values) - min(values))) * (1 + _ROUNDING)
    return OpenDPMechanism(epsilon, tuple(map(_masses_of, rows)), tuple(values), report_values, measurement)


def _masses_of(row: Sequence[float]) -> tuple[int, ...]:
    """Return probabilities in units of 2**-53, whose sum is 1; the greatest takes what rounding leaves."""
    masses = [round(chance * TOTAL_MASS) for chance in row]
    masses[masses.index(max(masses))] += TOTAL_MASS - sum(masses)
    return tuple(masses)


def _check_all_values(mechanism: FiniteMechanism) -> None:
    """Raise ConfigurationError unless the loss between any two values is bounded: every report is possible or none."""
    if isinstance(mechanism, GeneralizedRandomizedResponse | FiniteChannel):
        return  # these bound the loss between any two values by construction
    name = type(mechanism).__name__
    low, high = mechanism.value_range
    refuse(high - low + 1 > _MOST_VALUES, "mechanism", name, f"one of at most {_MOST_VALUES} values")
    if any(
        0 < sum(chance > 0 for chance in column) < len(column)
        for column in zip(*mechanism.channel_matrix(), strict=True)
    ):
        allowed = "one whose reports may each come from any value: between some values this one bounds no loss"
        raise ConfigurationError(field="mechanism", value=name, allowed=allowed)
