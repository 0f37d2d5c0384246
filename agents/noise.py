"""Secure noise: the mechanisms' laws from operating-system entropy, by exact samplers.

The samplers are exact and slow (microseconds or more per draw), so they suit one agent, not a million. None has a
floating-point error.

- A channel that is a table of integers draws as many bits of entropy as its masses have.
- k-RR compares a uniform integer below the denominator of its keep probability, an exact fraction, with the numerator.
- Uniform integers are drawn by rejection, from bits that the operating system provides for one row, and that are then
  discarded.
- Answer perturbation is sampled in integers: hyper-distributions draw which answers are flipped, without rounding. Some
  need no flip probability: Pólya's urn, and new draws for each answer, which flip it with their mean if that is
  rational. Others compute an exact rational number from uniforms of `UNIFORM_BITS` bits, and a flip compares it with a
  uniform integer, of which 64 bits nearly always decide. The law of these is that of P rounded down by less than
  2**-256: each report's probability differs by less than 2**-250, and relatively by less than 2**-200 for rows of up to
  2**16 answers. Proven losses are rounded up by far more, so they also hold for the sampled law (if one is exactly 0,
  that of the sampled law is below 2**-199).
- Rows with spherical Laplace noise are sampled without error by `spherical_noise`, which draws more bits whenever the
  integer to which a coordinate rounds is undecided.
- Other mechanisms with an exact sampler get uniform integers from the operating system.
- Disclosed values take no entropy.

Source: Canonne, Kamath and Steinke (2020), Section 5, for sampling by uniform integers.
"""

import functools
import itertools
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..protocol.arguments import row_of_integers
from ..protocol.arrays import FloatArray
from ..protocol.errors import ConfigurationError
from ..protocol.mechanisms import (
    NO_ANSWER,
    Disclosure,
    DiscreteLaplace,
    ExactMechanism,
    FiniteChannel,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    Mechanism,
    OneLayer,
    PostProcessed,
    Prepared,
    RandBelow,
    RowMechanism,
    SphericalLaplace,
    TwoLayer,
    VectorLaplace,
    block_offsets,
)
from ..protocol.mechanisms.finite_channel import TOTAL_MASS_BITS
from ..protocol.mechanisms.hyper_law import flips_of
from ..protocol.phases import PhasedProtocol
from ..protocol.randomness import NoiseSource, SimulatedNoise
from ..protocol.roles import SessionKind, Side
from .spherical_noise import draw_spherical_noise

Sampler: TypeAlias = Callable[[int], int]
"""A function that draws one report for a private value."""
RowSampler: TypeAlias = Callable[[Sequence[int]], list[int]]
"""A function that draws one report for each value of a row; the values may share randomness."""


_BITS_AT_A_TIME: Final = 512  # bits per call, at least, since a call costs more than bits


class SecureNoise(NoiseSource):
    """The noise source of deployments.

    Args:
        samplers: for third-party mechanisms: their type → a function that makes an exact sampler of a mechanism: a
            `Sampler` for a `Mechanism`, a `RowSampler` for any other `RowMechanism`. It must draw from operating-system
            entropy.

    Raises:
        ConfigurationError: a sampler would replace one of Psephos.

    Examples:
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> noise = SecureNoise()
        >>> address = {"protocol": "mean", "phase": "values", "place": 0}
        >>> reports = noise.randomize(GeneralizedRandomizedResponse(1.0, 3), [2, 0], **address)
        >>> len(reports), set(reports) <= {0, 1, 2}
        (2, True)
    """

    def __init__(
        self, samplers: Mapping[type[RowMechanism], Callable[[Any], Sampler | RowSampler]] | None = None
    ) -> None:
        if taken := [kind.__name__ for kind in samplers or {} if kind in _MAKERS or issubclass(kind, ExactMechanism)]:
            raise ConfigurationError(
                field="samplers", value=taken[0], allowed="for mechanisms without a sampler of ours"
            )
        self._extra_samplers = samplers or {}
        self._samplers: dict[RowMechanism, RowSampler] = {}

    @property
    def kind(self) -> SessionKind:
        """Deployment."""
        return SessionKind.DEPLOYMENT

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value. See `NoiseSource.randomize`; the address is not used.

        Raises:
            ConfigurationError: the mechanism has no exact sampler.
            ValueError: a value is out of range.
        """
        values = row_of_integers(values, "values")
        low, high = mechanism.value_range
        if not all(low <= value <= high for value in values):
            raise ValueError(f"values are out of range: use values from {low} to {high}")  # private, so not shown
        return self._sampler(mechanism)(values)

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return entropy of the operating system. See `NoiseSource.entropy`; the address is not used."""
        return secrets.token_bytes(32)

    def check(self, mechanism: RowMechanism) -> None:
        """Make the mechanism's sampler. See `NoiseSource.check`."""
        self._sampler(mechanism)

    def _sampler(self, mechanism: RowMechanism) -> RowSampler:
        sampler = self._samplers.get(mechanism)
        if sampler is None:
            sampler = self._samplers[mechanism] = self._make_sampler(mechanism)
        return sampler

    def _make_sampler(self, mechanism: RowMechanism) -> RowSampler:
        if (make_sampler := _MAKERS.get(type(mechanism))) is not None:
            return make_sampler(mechanism)
        if (extra_sampler := self._extra_samplers.get(type(mechanism))) is not None:
            made: Any = extra_sampler(mechanism)  # a Sampler or a RowSampler
            return (lambda values: [made(value) for value in values]) if isinstance(mechanism, Mechanism) else made
        if isinstance(mechanism, ExactMechanism):
            return _exact_sampler(mechanism)
        if isinstance(mechanism, PostProcessed):
            noisy = self._sampler(mechanism.noise)
            return lambda values: mechanism.finish_row(noisy(values))
        if isinstance(mechanism, Prepared):
            noise_sampler = self._sampler(mechanism.noise)
            return lambda values: noise_sampler(mechanism.prepare_row(values))
        kind_names = ", ".join(kind.__name__ for kind in (*_MAKERS, *self._extra_samplers))
        allowed = f"one with an exact sampler ({kind_names}, or given to SecureNoise)"
        raise ConfigurationError(field="mechanism", value=type(mechanism).__name__, allowed=allowed)


class SecureRelease(SimulatedNoise):
    """Secure noise for a session over arrays in which only the server draws.

    Args:
        session: the name of the session.

    Examples:
        >>> SecureRelease(session="council").kind.value
        'deployment'
    """

    def __init__(self, *, session: str) -> None:
        super().__init__(secrets.randbits(128), session=session)
        self._secure = SecureNoise()

    @property
    def kind(self) -> SessionKind:
        """Deployment."""
        return SessionKind.DEPLOYMENT

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        """Raise TypeError: parties draw nothing."""
        raise TypeError(f"in phase {phase!r} parties draw, and arrays have no secure noise for them")

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value. See `SecureNoise.randomize`."""
        return self._secure.randomize(mechanism, values, protocol=protocol, phase=phase, place=place)


def _uniform_integers() -> RandBelow:
    """Return a sampler of uniform integers for one row, by rejection from as many bits as the bound has."""
    pool = num_bits = 0

    def randbelow(bound: int) -> int:
        nonlocal pool, num_bits
        if bound < 1:
            raise ValueError(f"a bound is {bound}: use at least 1")  # no integer is below it, so drawing would not end
        bits = (bound - 1).bit_length()
        while True:
            if num_bits < bits:
                num_bits = max(bits, _BITS_AT_A_TIME)
                pool = secrets.randbits(num_bits)
            number = pool & (1 << bits) - 1
            pool >>= bits
            num_bits -= bits
            if number < bound:
                return number

    return randbelow


def check_secure_noise(protocol: PhasedProtocol[Any, Any], *, sides: Collection[Side] = tuple(Side)) -> None:
    """Check that secure noise can be drawn in a session, before anybody joins it.

    Args:
        sides: the sides that draw in this process.

    Raises:
        ConfigurationError: a mechanism has no exact sampler.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> check_secure_noise(DPWeVote(Parameters(candidates=("tea",))))
    """
    noise = SecureNoise()
    for phase in protocol.phases:
        if Side.CLIENT in sides:
            noise.check(phase.mechanism)
        if Side.SERVER in sides and phase.tally_mechanism is not None:
            noise.check(phase.tally_mechanism)


def _exact_sampler(mechanism: ExactMechanism | DiscreteLaplace | VectorLaplace) -> RowSampler:
    return lambda values: mechanism.randomize_exactly(values, _uniform_integers())


def _randomized_response(mechanism: GeneralizedRandomizedResponse) -> RowSampler:
    numerator, denominator = mechanism.keep_probability.as_integer_ratio()
    num_others = mechanism.num_choices - 1

    def sample(values: Sequence[int]) -> list[int]:
        randbelow = _uniform_integers()
        # Another choice is uniform among all but the value: indices from the value on are shifted by one.
        return [
            value if randbelow(denominator) < numerator else (lie := randbelow(num_others)) + (lie >= value)
            for value in values
        ]

    return sample


def _spherical_laplace(mechanism: SphericalLaplace) -> RowSampler:
    low, high = mechanism.report_range
    dimension, scale = mechanism.dimension, mechanism.scale

    def sample(values: Sequence[int]) -> list[int]:
        if len(values) != dimension:
            raise ValueError(f"the number of values is {len(values)}: give {dimension}")
        noise = draw_spherical_noise(dimension, scale)
        return [min(max(value + steps, low), high) for value, steps in zip(values, noise, strict=True)]

    return sample


def _finite_channel(mechanism: FiniteChannel) -> RowSampler:
    return lambda values: [mechanism.report_at(value, secrets.randbits(TOTAL_MASS_BITS)) for value in values]


def _one_layer(mechanism: OneLayer) -> RowSampler:
    lie = _lie_sampler(mechanism.sizes)
    flips = [
        flip.as_integer_ratio()
        for flip, size in zip(mechanism.flip_probabilities, mechanism.sizes, strict=True)
        for _ in range(size)
    ]

    def sample(values: Sequence[int]) -> list[int]:
        randbelow = _uniform_integers()
        return [
            value if value == NO_ANSWER or randbelow(flips[value][1]) >= flips[value][0] else lie(value, randbelow)
            for value in values
        ]

    return sample


def _two_layer(mechanism: TwoLayer | FreshTwoLayer) -> RowSampler:
    lie, draw = _lie_sampler(mechanism.sizes), mechanism.hyper.flips_exactly
    if not isinstance(mechanism, FreshTwoLayer):
        flips_of_row = draw
    elif len(means := {*mechanism.hyper.mean_bounds}) == 1:
        # Each answer is flipped independently with the mean.
        flips_of_row = functools.partial(flips_of, *means.pop().as_integer_ratio())
    else:

        def flips_of_row(randbelow: RandBelow) -> Iterator[bool]:
            return (next(draw(randbelow)) for _ in itertools.repeat(None))

    def sample(values: Sequence[int]) -> list[int]:
        randbelow = _uniform_integers()
        flips = flips_of_row(randbelow)
        return [value if value == NO_ANSWER or not next(flips) else lie(value, randbelow) for value in values]

    return sample


def _lie_sampler(sizes: Sequence[int]) -> Callable[[int, RandBelow], int]:
    """Return a function that gives another label of a code's block, all alike."""
    offsets = block_offsets(sizes)
    blocks = [(offset, size) for offset, size in zip(offsets, sizes, strict=False) for _ in range(size)]

    def lie(code: int, randbelow: RandBelow) -> int:
        offset, size = blocks[code]
        label = offset + randbelow(size - 1)
        return label + (label >= code)

    return lie


_MAKERS: Final[Mapping[type[RowMechanism], Callable[[Any], RowSampler]]] = {
    GeneralizedRandomizedResponse: _randomized_response,
    DiscreteLaplace: _exact_sampler,
    FiniteChannel: _finite_channel,
    OneLayer: _one_layer,
    TwoLayer: _two_layer,
    FreshTwoLayer: _two_layer,
    SphericalLaplace: _spherical_laplace,
    VectorLaplace: _exact_sampler,
    Disclosure: lambda _: list,
}
