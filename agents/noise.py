"""Secure noise: the mechanisms' laws from operating-system entropy, by exact samplers.

Exact and slow (tens of microseconds a draw), so right for one agent and wrong for a million. The samplers are
the well-studied ones of OpenDP, which draw without floating-point error; here they are only matched to the
mechanisms of `psephos.protocol.mechanisms`, whose laws are the same numbers. A channel that is a table of integers
needs none: as many bits of entropy as its masses have name a report.

Source: OpenDP library; Canonne, Kamath and Steinke (2020) for the exact discrete Laplace sampler.
"""

import importlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..protocol.errors import ConfigurationError
from ..protocol.mechanisms import DiscreteLaplace, FiniteChannel, GeneralizedRandomizedResponse, Mechanism
from ..protocol.mechanisms.finite_channel import TOTAL_MASS_BITS
from ..protocol.roles import SessionKind

__all__ = ["Sampler", "SecureNoise"]

Sampler: TypeAlias = Callable[[int], int]
"""Draws one report for a private value."""


class SecureNoise:
    """The noise source of deployments.

    Args:
        samplers: for mechanisms of third parties: their type → a function that makes an exact sampler of one. It must
            draw from operating-system entropy.

    Raises:
        ConfigurationError: one of ours would be replaced.
    """

    def __init__(self, samplers: Mapping[type[Mechanism], Callable[[Any], Sampler]] | None = None) -> None:
        built_in: dict[type[Mechanism], Callable[[Any], Sampler]] = {
            GeneralizedRandomizedResponse: _randomized_response,
            DiscreteLaplace: _discrete_laplace,
            FiniteChannel: _finite_channel,
        }
        if taken := [kind.__name__ for kind in samplers or {} if kind in built_in]:
            raise ConfigurationError(
                field="samplers", value=taken[0], allowed="for mechanisms without a sampler of ours"
            )
        self._makers = {**built_in, **(samplers or {})}
        self._samplers: dict[Mechanism, Sampler] = {}

    @property
    def kind(self) -> SessionKind:
        """Deployment."""
        return SessionKind.DEPLOYMENT

    def randomize(
        self, mechanism: Mechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value. See `NoiseSource.randomize`; the address is not used.

        Raises:
            ConfigurationError: no exact sampler is known for the mechanism.
            ValueError: a value is out of range; a sampler might take that for something else.
        """
        del protocol, phase, place
        low, high = mechanism.value_range
        if not all(low <= value <= high for value in values):
            raise ValueError(f"values must be in [{low}, {high}]")  # they are private: not shown
        sampler = self._sampler(mechanism)
        return [sampler(value) for value in values]

    def check(self, mechanism: Mechanism) -> None:
        """Make the mechanism's sampler. See `NoiseSource.check`."""
        self._sampler(mechanism)

    def _sampler(self, mechanism: Mechanism) -> Sampler:
        sampler = self._samplers.get(mechanism)
        if sampler is None:
            maker = self._makers.get(type(mechanism))
            if maker is None:
                known = ", ".join(kind.__name__ for kind in self._makers)
                allowed = f"one with an exact sampler ({known}, or given to SecureNoise)"
                raise ConfigurationError(field="mechanism", value=type(mechanism).__name__, allowed=allowed)
            sampler = self._samplers[mechanism] = maker(mechanism)
        return sampler


def _opendp() -> Any:
    """Return OpenDP's prelude, imported late: it is heavy, and only deployments need it."""
    dp = importlib.import_module("opendp.prelude")  # by name, since its types are partly unknown to checkers
    dp.enable_features("contrib")
    return dp


def _randomized_response(mechanism: GeneralizedRandomizedResponse) -> Sampler:
    dp = _opendp()
    choices = list(range(mechanism.num_choices))
    # OpenDP's `prob` is our keep probability, taken as the exact rational number that the float is.
    return dp.m.make_randomized_response(choices, prob=mechanism.keep_probability)


def _discrete_laplace(mechanism: DiscreteLaplace) -> Sampler:
    dp = _opendp()
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    measurement: Sampler = dp.m.make_laplace(*space, scale=mechanism.scale)
    low, high = mechanism.report_range

    def sample(value: int) -> int:
        return min(max(measurement(value), low), high)

    return sample


def _finite_channel(mechanism: FiniteChannel) -> Sampler:
    def sample(value: int) -> int:
        return mechanism.report_at(value, secrets.randbits(TOTAL_MASS_BITS))

    return sample
