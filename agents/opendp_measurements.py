"""Our finite mechanisms as measurements of OpenDP, to be chained and accounted for there.

The measurement draws as a deployment does, by secure noise, and its privacy map is the loss that is proven here. OpenDP
takes both on trust, as it does of every measurement from outside (`honest-but-curious`).

Source: OpenDP library, user-defined measurements.
"""

import importlib
from typing import Any, Final

from ..protocol.errors import ConfigurationError, refuse
from ..protocol.mechanisms import FiniteChannel, FiniteMechanism, GeneralizedRandomizedResponse
from ..protocol.privacy import NeighboringRelation, PureAccountant
from .noise import SecureNoise, check_opendp

__all__ = ["to_opendp"]

_MOST_VALUES: Final = 1024
"""Of a mechanism whose matrix has to be looked at."""


def to_opendp(mechanism: FiniteMechanism) -> Any:
    """Return a mechanism as an `opendp.prelude.Measurement` of one value.

    Input: an integer in `value_range` (`i64`), by discrete distance: 1 between any two values, so that the relation is
    replace-one and the unit the value. Output: the report. Output measure: max divergence (pure ε).

    Args:
        mechanism: k-RR, a finite channel, or another one that bounds the loss between any two of its values.

    Raises:
        ConfigurationError: it bounds no such loss (answers of several public answer sets are protected within each
            alone), it has no exact sampler, or OpenDP is not installed.
        opendp.mod.OpenDPException: the caller has not said `dp.enable_features("contrib", "honest-but-curious")`.

    Privacy:
        ε-LDP with the mechanism's proven ε, replace-one, unit: the value, against whoever sees the report.
    """
    _check_all_values(mechanism)
    check_opendp()
    noise = SecureNoise()
    noise.check(mechanism)
    epsilon = PureAccountant.epsilon_of(mechanism.event, NeighboringRelation.REPLACE_ONE)
    dp: Any = importlib.import_module("opendp.prelude")  # by name: it is optional for who simulates, and slow to load

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


def _check_all_values(mechanism: FiniteMechanism) -> None:
    """Raise ConfigurationError unless the loss between any two values is bounded: every report is possible or none."""
    if isinstance(mechanism, GeneralizedRandomizedResponse | FiniteChannel):
        return  # by their construction
    name = type(mechanism).__name__
    low, high = mechanism.value_range
    refuse(high - low + 1 > _MOST_VALUES, "mechanism", name, f"one of at most {_MOST_VALUES} values")
    if any(
        0 < sum(chance > 0 for chance in column) < len(column)
        for column in zip(*mechanism.channel_matrix(), strict=True)
    ):
        allowed = "one whose reports may each come from any value: between some values this one bounds no loss"
        raise ConfigurationError(field="mechanism", value=name, allowed=allowed)
