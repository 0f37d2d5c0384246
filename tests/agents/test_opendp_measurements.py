"""Our mechanisms as measurements of OpenDP: their law, their loss, and what OpenDP could not know of them."""

import collections
import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from psephos.agents.noise import SecureNoise
from psephos.agents.opendp_measurements import from_opendp, to_opendp
from psephos.protocol import ConfigurationError
from psephos.protocol.mechanisms import FiniteChannel, GeneralizedRandomizedResponse, OneLayer
from thoroughness import draws

HALF = 1 << 52
RESPONSE = GeneralizedRandomizedResponse(epsilon=1.5, num_choices=3)


@pytest.fixture
def dp() -> Iterator[Any]:
    """OpenDP, told that we may bring measurements of our own."""
    prelude: Any = importlib.import_module("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    yield prelude
    prelude.disable_features("honest-but-curious")


@pytest.mark.usefixtures("dp")
def test_its_privacy_map_is_the_proven_loss() -> None:
    measurement = to_opendp(RESPONSE)
    assert (measurement.map(0), measurement.map(1)) == (0.0, 1.5)
    assert measurement.check(1, 1.5)
    assert not measurement.check(1, 1.4999)


@pytest.mark.usefixtures("dp")
def test_it_draws_by_the_mechanisms_law() -> None:
    """False alarm: 3 reports of 1e-9 each."""
    measurement, number = to_opendp(RESPONSE), draws(800, full=8_000)
    counts = collections.Counter(measurement(1) for _ in range(number))
    for report, chance in enumerate(RESPONSE.channel_matrix()[1]):
        assert abs(counts[report] - number * chance) < 6.2 * math.sqrt(number * chance * (1 - chance)) + 1


def test_it_composes_with_what_opendp_has(dp: Any) -> None:
    coin = to_opendp(FiniteChannel(0.5, ((HALF, HALF), (HALF, HALF))))
    composed = dp.c.make_composition([coin, coin, coin])
    assert composed.map(1) == pytest.approx(1.5)
    assert set(composed(0)) <= {0, 1}


@pytest.mark.usefixtures("dp")
def test_a_value_that_nobody_can_hold_draws_nothing() -> None:
    opendp: Any = importlib.import_module("opendp.mod")
    with pytest.raises(opendp.OpenDPException, match=r"use values from 0 to 2"):
        to_opendp(RESPONSE)(3)


@pytest.mark.usefixtures("dp")
def test_a_mechanism_that_bounds_no_loss_between_some_values_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"OneLayer.*bounds no loss"):
        to_opendp(OneLayer((2, 2), (0.25, 0.25)))


def test_opendp_takes_nothing_on_trust_unasked(dp: Any) -> None:
    opendp: Any = importlib.import_module("opendp.mod")
    dp.disable_features("honest-but-curious")
    with pytest.raises(opendp.OpenDPException, match="honest-but-curious"):
        to_opendp(RESPONSE)


def make_measured(dp: Any) -> Any:
    """Return OpenDP's randomized response of three letters as a mechanism."""
    response = dp.m.make_randomized_response(["a", "b", "c"], prob=0.5)
    channel = [[0.5 if value == report else 0.25 for report in range(3)] for value in range(3)]
    return from_opendp(response, ["a", "b", "c"], channel=channel)


def test_a_measurement_becomes_a_mechanism_with_its_map_s_loss_and_its_draws(dp: Any) -> None:
    """False alarm: 3 reports of 1e-9 each, by either sampler."""
    mechanism = make_measured(dp)
    assert mechanism.event.epsilon == pytest.approx(math.log(2))
    number = draws(800, full=8_000)
    secure = (SecureNoise().randomize(mechanism, [1], protocol="", phase="", place=0)[0] for _ in range(number))
    simulated = mechanism.perturb(np.full(number, 1), seed=3)
    reports: list[int] = simulated.tolist()
    for counts in (collections.Counter(secure), collections.Counter(reports)):
        for report, chance in enumerate(mechanism.channel_matrix()[1]):
            assert abs(counts[report] - number * chance) < 6.2 * math.sqrt(number * chance * (1 - chance)) + 1
    uniforms = np.random.default_rng(1).random((50, 1))
    alone = [mechanism.randomize_one(2, row) for row in uniforms.tolist()]
    assert mechanism.randomize(np.full(50, 2), uniforms).tolist() == alone


def make_other(dp: Any, kind: str) -> Any:
    """Return a measurement of OpenDP's."""
    if kind == "randomized_response":
        return dp.m.make_randomized_response([0, 1], prob=0.75)
    return getattr(dp.m, f"make_{kind}")(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=2.0)


@pytest.mark.parametrize(
    ("kind", "channel", "reason"),
    [
        ("laplace", None, "finitely many reports"),
        ("gaussian", None, "pure epsilon"),
        ("randomized_response", [[0.9, 0.1], [0.1, 0.9]], r"within a factor of e\^epsilon"),
        ("randomized_response", [[0.75, 0.2], [0.25, 0.75]], "add up to 1"),
    ],
    ids=["no channel", "another measure", "more than the map", "no law"],
)
def test_a_measurement_without_a_law_of_its_loss_is_refused(dp: Any, kind: str, channel: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        from_opendp(make_other(dp, kind), [0, 1], channel=channel)
