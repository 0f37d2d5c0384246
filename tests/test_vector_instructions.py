"""Equal bits at another level of vector instructions.

A second process runs the same votes with numpy's dispatch to this processor's vector instructions switched off, and
again with those of the C library's mathematics off as well. What both compute is compared by hexadecimal floats.
"""

import importlib
import json
import os
import subprocess
import sys
from fractions import Fraction
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from helpers import make_fair_vote
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.fair_voting import Feature
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse, optimal
from psephos.protocol.phases import Entries
from psephos.protocol.randomness import SimulatedNoise, philox_rows
from psephos.scenarios import run_arrays, simulate
from thoroughness import draws

PARTNERS = draws(1000, full=3000)
PARTNERS_AS_AGENTS = draws(70, full=150)
CANDIDATES = ("first", "second", "third")
# Weights whose binary fractions are long, so that rounding has something to get wrong.
WEIGHTS = (0.1, 1.3, 2.7, 7.9)
VARIANTS: dict[str, dict[str, Any]] = {
    "joint": {},
    "joint, grouped": {"groups": ((0.1, 1.3), (2.7, 7.9))},
    "joint, projected": {"project_counts": True, "epsilon": 0.7},
    "joint, per candidate": {"weight_collection": "per_candidate", "epsilon": 1.9},
    "joint, public weights": {"public_weights": True, "epsilon": 0.3},
    "printed": {"variant": "printed", "epsilon": 2.3},
    "printed, per candidate": {"variant": "printed", "weight_collection": "per_candidate"},
    "printed, public weights": {"variant": "printed", "public_weights": True},
    "laplace": {"variant": "laplace", "epsilon": 1.1},
    "laplace, per candidate": {"variant": "laplace", "weight_collection": "per_candidate"},
    "laplace, public weights": {"variant": "laplace", "public_weights": True, "epsilon": 0.9},
    "two points": {"variant": "two_point", "epsilon": 0.7},
    "signed k-RR": {"variant": "signed_rr", "epsilon": 1.7, "quota_fraction": 2 / 3},
    "optimal": {"variant": "optimal", "epsilon": 1.3},
    "optimal, uniform prior, grouped": {"variant": "optimal", "prior": "uniform", "groups": ((0.1, 1.3), (2.7, 7.9))},
    "best at the price": {"variant": "auto", "epsilon": 2.9, "quota": 500.0},
}
FEATURES = (Feature(name="one", of=("x", "x", "y")), Feature(name="other", of=("x", "y", "y")))
# What glibc calls the instructions that its exp, log and pow choose between; unknown names are ignored.
LIBRARY_OFF = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}" for name in ("AVX", "AVX2", "FMA", "FMA4", "AVX512F", "AVX512VL", "AVX2_Usable", "FMA_Usable")
)


def dispatched_features() -> list[str]:
    """Return the features beyond its baseline that numpy uses on this processor."""
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    enabled = cast("dict[str, bool]", umath.__cpu_features__)
    return [name for name in cast("list[str]", umath.__cpu_dispatch__) if enabled.get(name)]


def in_hexadecimal(value: object) -> object:
    """Return plain data with every float written out to its last bit."""
    match value:
        case float():
            return value.hex()
        case dict():
            return {key: in_hexadecimal(inner) for key, inner in cast("dict[str, object]", value).items()}
        case list() | tuple():
            return [in_hexadecimal(inner) for inner in cast("list[object]", value)]
        case _:
            return value


def run_all() -> dict[str, Any]:
    """Run every variant by arrays and by agents; return tallies and outcomes."""
    uniforms = philox_rows(20, start=0, stop=PARTNERS, slots=1 + len(CANDIDATES))
    weights = np.array(WEIGHTS)[(uniforms[:, 0] * len(WEIGHTS)).astype(int)]
    opinions = (uniforms[:, 1:] < np.array([0.2, 0.5, 0.9])).astype(int)
    table: dict[str, Entries] = {"weight": weights, **dict(zip(CANDIDATES, opinions.T, strict=True))}
    rows = zip(weights.tolist(), *opinions.T.tolist(), strict=True)
    parties = {f"partner-{n}": row for n, row in enumerate(rows) if n < PARTNERS_AS_AGENTS}
    done: dict[str, Any] = {}
    for name, options in VARIANTS.items():
        vote = DPWeVote(Parameters(candidates=CANDIDATES, weights=WEIGHTS, **options))
        noise = SimulatedNoise(3, session="vectors")
        record = run_arrays(vote, inputs=vote.encode(table), noise=noise)
        done[name] = {
            "tallies": [tally.totals.tolist() for tally in record.tallies],
            "outcome": in_hexadecimal(msgspec.to_builtins(record.outcome)),
            "by agents": in_hexadecimal(msgspec.to_builtins(simulate(vote, parties, seed=3, transport="memory"))),
        }
    return done


def all_laws() -> dict[str, Any]:
    """Return the numbers that mechanisms are made of, over many ε, and some Laplace reports."""
    uniforms = philox_rows(5, start=0, stop=PARTNERS, slots=1)
    laws: dict[str, Any] = {}
    for hundredths in range(1, 801, draws(5, full=1)):
        epsilon = hundredths / 100
        for choices in (2, 3, 4):
            response = GeneralizedRandomizedResponse(epsilon, choices)
            chances = [response.keep_probability, response.flip_probability]
            laws[f"k-RR, epsilon = {epsilon}, k = {choices}"] = in_hexadecimal(chances)
        laplace = DiscreteLaplace(16 / epsilon, 0, 16)
        laws[f"Laplace, epsilon = {epsilon}"] = laplace.noise_variance.hex()
    thirds = tuple(
        sorted(Fraction(weight) * (opinion - Fraction(2 / 3)) for weight in (1, 2.7, 3) for opinion in (0, 1))
    )
    for epsilon in (0.3, 1.0, 4.7, 9.5):
        for prior in ((), (1 / 6,) * 6):
            solved = optimal(thirds, epsilon=epsilon, prior=prior)
            numbers = [*solved.estimates, *(solved.certificate.slopes if solved.certificate else ())]
            bits = [solved.mechanism.channel_matrix(), solved.variances, solved.debiasing]
            laws[f"optimal, epsilon = {epsilon}, prior = {prior[:1]}"] = [in_hexadecimal(bits), list(map(str, numbers))]
    for objective in ("parity", "penalized", "welfare_constrained"):
        vote = make_fair_vote(
            70, 40, mechanism="sampling", calibration="proven", objective=objective, scores=(2.9, 1.3, 0.1), epsilon=0.7
        )
        plan = vote.parameters.plan
        laws[f"samples to a proven epsilon, {objective}"] = [plan.num_samples, plan.gamma.hex()]
        crossed = msgspec.structs.replace(
            vote.parameters, groups=("a", "b", "c"), group_sizes=(70, 40, 30), features=FEATURES
        )
        laws[f"the same with features, {objective}"] = [crossed.plan.num_samples, crossed.plan.gamma.hex()]
    for scale in (3.7, 181.3, 5000.1):
        values = np.zeros(PARTNERS, dtype=np.int64)
        laws[f"reports, scale = {scale}"] = DiscreteLaplace(scale, 0, 16).randomize(values, uniforms).tolist()
    return laws


def report() -> str:
    """Return what this process computes, and with which features."""
    return json.dumps({"enabled": dispatched_features(), "results": run_all(), "laws": all_laws()}, indent=1)


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    return json.loads(report())


@pytest.mark.full("processes that compute all over again")
@pytest.mark.parametrize("library", [False, True], ids=["numpy", "numpy and the C library"])
def test_other_vector_instructions_give_the_same_bits(here: dict[str, Any], *, library: bool) -> None:
    features = dispatched_features()
    if not features:
        pytest.skip("numpy dispatches to nothing beyond its baseline on this processor")
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    if library:
        environment["GLIBC_TUNABLES"] = LIBRARY_OFF
    command = [sys.executable, __file__]
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  this file
    assert child.returncode == 0, child.stderr
    there = json.loads(child.stdout)
    assert here["enabled"] == features
    assert there["enabled"] == []  # the switch took effect
    for name in VARIANTS:
        assert there["results"][name] == here["results"][name], name
    differing = [law for law, numbers in here["laws"].items() if there["laws"][law] != numbers]
    assert differing == []


@pytest.mark.full("what the processes are compared with")
def test_every_variant_decides_something_in_this_comparison(here: dict[str, Any]) -> None:
    assert len(here["results"]) == len(VARIANTS)
    for result in here["results"].values():
        assert len(result["outcome"]["candidates"]) == len(CANDIDATES)
        assert any("0x1." in json.dumps(candidate) for candidate in result["outcome"]["candidates"])


if __name__ == "__main__":
    sys.stdout.write(report())
