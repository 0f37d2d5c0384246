"""Objectives of all levels of ε are maximized at once, to the bits of each level by itself."""

import numpy as np
import pytest
from psephos.protocol.mechanisms import PostProcessed
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from psephos.protocol.moral_preferences.parameters import Remedy
from psephos.protocol.phases import Inputs
from psephos.protocol.population import randomized

LEVELS = (0.5, 1.0, 4.0)


@pytest.mark.parametrize("remedy", ["project", "nonconvex", "trim"])
def test_reports_of_several_levels_are_those_of_each_level(remedy: Remedy) -> None:
    parameters = Parameters(
        features=("a", "b"),
        paradigm=Paradigm.RLDP,
        mechanism="functional",
        epsilons=LEVELS,
        max_records=3,
        remedy=remedy,
    )
    phase = MoralPreferences(parameters).phase
    generator = np.random.default_rng(2)
    rows = phase.rows_of([0])[generator.integers(0, 2, size=12)]
    inputs = Inputs(rows, np.arange(12, dtype=np.int64)[:, None] % len(LEVELS))
    uniforms = generator.random((12, phase.mechanism.slots_of(rows.shape[1])))
    reports = randomized(phase, inputs, uniforms)
    for mechanism, places in phase.mechanism_groups(inputs.public):
        assert np.array_equal(reports[places], mechanism.randomize_rows(rows[places], uniforms[places]))
        assert isinstance(mechanism, PostProcessed)
        assert mechanism.forgets_noise is (remedy != "trim")
    assert len(np.unique(reports, axis=0)) > 1
