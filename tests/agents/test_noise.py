"""Secure noise: which samplers it knows, whom else it lets bring one, and that it takes no seed.

That its draws follow the mechanisms' laws is the conformance battery's to show.
"""

import dataclasses
from collections.abc import Sequence

import pytest
from psephos.agents import SecureNoise
from psephos.agents.noise import Sampler
from psephos.protocol import SessionKind
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import DiscreteLaplace, FiniteChannel, GeneralizedRandomizedResponse, Mechanism
from psephos.protocol.privacy import NoRelease


@dataclasses.dataclass(frozen=True)
class Silence(Mechanism):
    """A third party's mechanism: it reports one number, whatever the value."""

    number: int

    @property
    def report_range(self) -> tuple[int, int]:
        """The number alone."""
        return self.number, self.number

    @property
    def value_range(self) -> tuple[int, int]:
        """Digits."""
        return 0, 9

    @property
    def event(self) -> NoRelease:
        """Nothing is shown."""
        return NoRelease()

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Report the number for each."""
        del uniforms
        return values * 0 + self.number

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Report the number."""
        del value, uniforms
        return self.number


def randomize(noise: SecureNoise, mechanism: Mechanism, values: Sequence[int]) -> list[int]:
    return noise.randomize(mechanism, values, protocol="p", phase="f", place=0)


def test_secure_noise_is_for_deployments() -> None:
    assert SecureNoise().kind is SessionKind.DEPLOYMENT


def test_a_mechanism_without_an_exact_sampler_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        randomize(SecureNoise(), Silence(4), [1])
    assert (caught.value.field, caught.value.value) == ("mechanism", "Silence")
    assert "GeneralizedRandomizedResponse, DiscreteLaplace, FiniteChannel" in caught.value.allowed


def test_a_third_party_brings_its_own_sampler_and_it_is_made_once_for_equal_mechanisms() -> None:
    made: list[Silence] = []

    def make(mechanism: Silence) -> Sampler:
        made.append(mechanism)
        return lambda value: mechanism.number + 0 * value

    noise = SecureNoise({Silence: make})
    assert randomize(noise, Silence(4), [1, 2, 3]) == [4, 4, 4]
    assert randomize(noise, Silence(4), [5]) == [4]
    assert randomize(noise, Silence(6), [5]) == [6]
    assert made == [Silence(4), Silence(6)]


def test_a_third_party_does_not_displace_the_known_samplers() -> None:
    noise = SecureNoise({Silence: lambda mechanism: lambda value: mechanism.number + value})
    assert randomize(noise, GeneralizedRandomizedResponse(30.0, 3), [1]) == [1]
    assert -61 <= randomize(noise, DiscreteLaplace(1.0, 0, 1), [1])[0] <= 61


def test_a_sampler_is_made_for_the_exact_type_alone() -> None:
    """A subclass may have another law, so its parent's sampler does not serve it."""

    @dataclasses.dataclass(frozen=True)
    class Louder(GeneralizedRandomizedResponse):
        pass

    with pytest.raises(ConfigurationError, match="Louder"):
        randomize(SecureNoise(), Louder(1.0, 3), [1])


def test_a_laplace_report_is_clamped_like_a_simulated_one() -> None:
    """At so small a scale that most noise is 0, the range is the values' own and a step: no report leaves it."""
    mechanism = DiscreteLaplace(1 / 60, 0, 2)
    assert mechanism.report_range == (-1, 3)
    assert set(randomize(SecureNoise(), mechanism, [0] * 20 + [2] * 20)) <= {-1, 0, 1, 2, 3}


EVEN = FiniteChannel(1.0, ((2**51,) * 4,) * 4)


@pytest.mark.parametrize("mechanism", [GeneralizedRandomizedResponse(1.0, 4), DiscreteLaplace(3.0, 0, 3), EVEN])
def test_the_address_is_not_used(mechanism: Mechanism) -> None:
    """Two parties, or one party twice: 60 draws agree with probability below 1e-15."""
    noise = SecureNoise()
    first = noise.randomize(mechanism, [0] * 60, protocol="p", phase="f", place=1)
    assert first != noise.randomize(mechanism, [0] * 60, protocol="p", phase="f", place=1)


def test_a_table_is_drawn_from_as_many_bits_as_its_masses_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """One draw of 53 bits for each report, and each is the place in the value's row."""
    asked: list[int] = []
    places = iter([0, 2**51 - 1, 2**51, 2**53 - 1])

    def bits(number: int) -> int:
        asked.append(number)
        return next(places)

    monkeypatch.setattr("secrets.randbits", bits)
    assert randomize(SecureNoise(), EVEN, [0, 3, 1, 2]) == [0, 0, 1, 3]
    assert asked == [53] * 4


def test_a_report_that_never_comes_is_never_drawn() -> None:
    silent = FiniteChannel(1.0, ((0, 2**53, 0), (0, 2**53, 0)))
    assert set(randomize(SecureNoise(), silent, [0, 1] * 50)) == {1}
