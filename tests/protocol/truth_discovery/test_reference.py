"""The reference run, by hand; that it has the bits of arrays and agents, conformance/test_protocols.py tests."""

from psephos.protocol import SimulatedNoise
from psephos.protocol.mechanisms import OneLayer
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from psephos.protocol.truth_discovery.reference import reference_run


def test_a_perturbation_by_hand() -> None:
    """Definition 5.1 with p = 1/4 and three labels: below p the label changes, in [0, 1/8) to the first other one."""
    protocol = TruthDiscovery(
        Parameters(
            tasks=("t0", "t1"),
            answer_sets=(("red", "green", "blue"),),
            max_answers=2,
            flip_probability=0.25,
            estimator="majority",
        )
    )
    assert protocol.phase.mechanism == OneLayer((3,), (0.25,))
    inputs = protocol.encode({"tasks": ["t0;t1"] * 40, "answers": ["green;blue"] * 40})
    noise = SimulatedNoise(7, session="s")
    drawn = noise.uniforms(protocol="truth-discovery", phase="answers", start=0, stop=40, slots=2)
    uniforms: list[list[float]] = drawn.tolist()
    expected = [
        [worker, task, keep if uniform >= 0.25 else others[uniform >= 0.125]]
        for worker, of_worker in enumerate(uniforms)
        for task, (uniform, keep, others) in enumerate(zip(of_worker, (1, 2), ((0, 2), (0, 1)), strict=True))
    ]
    (tally,) = reference_run(protocol, inputs, noise=noise).tallies
    assert tally.rows.tolist() == expected
