"""A survey whose answers are added up under masks, as people see it: settings, variants, calibrations and pages."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.privacy import TrustModel
from psephos.protocol.truth_discovery import Outcome, TruthDiscovery
from psephos.scenarios.presentation.presenter import Known
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import Local, resolve
from psephos.scenarios.truth_discovery.data.own_answers import OWN_ANSWERS
from psephos.scenarios.truth_discovery.measures import TruthMeasures
from psephos.scenarios.truth_discovery.presentation import TRUTHS
from psephos.scenarios.truth_discovery.variants import CrowdVariants
from psephos.scenarios.truth_discovery.workers import workers_of
from thoroughness import draws

SMALL = ("workers.tasks=6", "workers.workers=12", "workers.answers_per_task=8")
MASKED = ("trust=distributed", "threshold=11", "colluders=1")


def resolved(*settings: str) -> Local:
    return resolve(load_scenario("crowd", [*SMALL, *settings]))


def test_trust_alone_makes_a_crowd_masked_and_no_session_moves_between_models() -> None:
    survey = resolved(*MASKED).protocol
    assert isinstance(survey, TruthDiscovery)
    assert (survey.parameters.mechanism, survey.model) == ("masked", TrustModel.DISTRIBUTED)
    with pytest.raises(ConfigurationError, match="give threshold in mechanism 'masked'"):
        resolved("trust=distributed")
    with pytest.raises(
        ConfigurationError, match=r"threshold is .*: use a value from 7 to 12: 2 \* threshold > parties"
    ):
        resolved("trust=distributed", "threshold=6", "colluders=1")
    with pytest.raises(
        ConfigurationError, match="one that 12 parties can reach: threshold = 11 and colluders = 1, say"
    ):
        resolved("trust=distributed", "threshold=27", "colluders=14")


@pytest.mark.parametrize("trust", ["local", "distributed", "central"])
def test_variants_have_masked_sums_beside_the_other_two_models_at_the_same_price(trust: str) -> None:
    table = CrowdVariants(resolved(*(MASKED if trust == "distributed" else (f"trust={trust}",))), trials=2)
    assert table.names[-2:] == ["masked, majority", "central, majority"]
    assert len(set(table.names)) == len(table.names)
    masked, central, local = (table.offer(name, 8.0) for name in (*table.names[-2:], "one_layer, majority"))
    for offered, model in ((masked, "DISTRIBUTED"), (central, "CENTRAL"), (local, "LOCAL")):
        if offered is None:
            assert "one_layer, majority" not in table.names
            continue
        assert table.setup_with(offered.settings).protocol.model is TrustModel[model]
        assert table.losses_of(offered)[0].proven == pytest.approx(8.0)
    assert masked is not None
    assert masked.cells["Trusted"] == "nobody"


def test_a_crowd_that_nobody_sees_says_what_support_is_of(psephos: Callable[..., Any], tmp_path: Path) -> None:
    settings = [word for each in (*SMALL, *MASKED) for word in ("--set", each)]
    ended = [
        psephos(
            "run",
            "crowd",
            *settings,
            "--set",
            f"transport={transport}",
            "--no-pictures",
            "--out",
            str(tmp_path / transport),
        )
        for transport in ("array", "memory", "tcp")
    ]
    assert all(each.status == 0 for each in ended)
    results = [(tmp_path / transport / "estimates.csv").read_bytes() for transport in ("array", "memory", "tcp")]
    assert results[0] == results[1] == results[2]
    assert "Nobody is trusted with private values: they leave under masks" in ended[0].out
    local = resolved(*MASKED)
    outcome = run_population(local.protocol, local.inputs, noise=SimulatedNoise(5, session="s")).outcome
    assert isinstance(outcome, Outcome)
    assert "its support is of those who were asked" in TRUTHS.sheet(outcome, Known()).note  # pyright: ignore[reportOptionalCall]  truths have a sheet
    assert not workers_of(local)


def test_a_workers_own_file_has_its_answers_and_not_what_it_adds_up() -> None:
    local = resolved(*MASKED)
    assert OWN_ANSWERS.write is not None
    lines = OWN_ANSWERS.write(local.protocol, {"tasks": "t1; t2", "answers": "1; "})
    assert list(lines) == [("task", "label"), ("t1", "1"), ("t2", "")]


def test_on_real_smiles_masked_sums_find_more_truths_than_one_layer_and_than_the_constant_answer(
    real_sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ε = 1 an answer: .305 ± .01 of 159 truths are wrong, of one layer .356, of the answer 0 throughout .365."""
    monkeypatch.setenv("PSEPHOS_DATA", str(real_sets))
    settings = ["mechanism=masked", "threshold=64", "colluders=0"]
    local = resolve(load_scenario("duchenne", settings))
    counts = Counter(local.gold.values())
    assert counts["1"] / sum(counts.values()) == pytest.approx(0.365, abs=5e-4)
    measures = TruthMeasures(local.protocol, local.inputs, gold=local.gold)
    trials, wrong = draws(full=100, quick=6), list[float]()
    for trial in range(trials):
        ended = run_population(local.protocol, local.inputs, noise=SimulatedNoise(3, session=f"trial {trial}"))
        wrong.append(measures.of(ended.outcome, ended.tallies)["error rate"])
    assert abs(float(np.mean(wrong)) - 0.305) <= 0.01 + 3 * 0.027 / math.sqrt(trials)
