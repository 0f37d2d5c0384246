"""Preferences as readers see them: whom voters trust, what features speak for, how sure that is, and what it cost."""

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from golden import check_golden
from pages import drawn, shown
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.moral_preferences import (
    LevelOutcome,
    MoralPreferences,
    Outcome,
    Parameters,
    SocietyOutcome,
)
from psephos.protocol.moral_preferences.parameters import PAPERS
from psephos.scenarios.presentation import rows_of, verdict_of

PAGES, PICTURES = (Path(__file__).with_name(f"presentation_{kind}.txt") for kind in ("pages", "pictures"))
# The features of the Moral Machine's published files, and the three of a dilemma's circumstances.
MORAL_MACHINE = (
    *("Man", "Woman", "Pregnant", "Stroller", "OldMan", "OldWoman", "Boy", "Girl", "Homeless", "LargeWoman"),
    *("LargeMan", "Criminal", "MaleExecutive", "FemaleExecutive", "FemaleAthlete", "MaleAthlete", "FemaleDoctor"),
    *("MaleDoctor", "Dog", "Cat", "intervention", "passengers", "legality"),
)


def leveled(*levels: tuple[float, int], weights: Sequence[float] = ()) -> tuple[LevelOutcome, ...]:
    """Return levels of these ε and numbers of voters, of weight 1 by default."""
    every = zip(levels, weights or [1.0] * len(levels), strict=True)
    return tuple(LevelOutcome(epsilon=own[0], num_voters=own[1], weight=weight) for own, weight in every)


def released(preferences: Sequence[float], *, features: Sequence[str] = (), **options: Any) -> Outcome:
    """Return an outcome with these preferences for features f0, f1, ..., each with a standard error of 0.1."""
    fields: dict[str, Any] = {
        "features": tuple(features) or tuple(f"f{place}" for place in range(len(preferences))),
        "preferences": tuple(preferences),
        "errors": (0.1,) * len(preferences),
        "is_direction": False,
        "num_voters": 5000,
        "paradigm": "VLDP",
        "mechanism": "laplace",
        "levels": leveled((0.5, 5000)),
        "is_projected": False,
        "epsilon_record": 0.5,
        "epsilon_voter": 0.5,
    }
    return Outcome(**{**fields, **options})


def machine(**options: Any) -> Outcome:
    """Return an outcome of the Moral Machine's features, from −0.55 in steps of 0.05."""
    values = [0.05 * place - 0.55 for place in range(len(MORAL_MACHINE))]
    return released(values, features=MORAL_MACHINE, **options)


THREE = released([0.02, -0.6, 0.31], features=("law", "[pets]", "lives"))
CLEAN = {"law": 0.1, "[pets]": -0.5, "lives": 0.4}


def of_societies(*preferences: Sequence[float] | None, errors: Sequence[float] | None = (0.1, 0.1)) -> Outcome:
    """Return an outcome of two features in societies called s0, s1, ..., with fewer voters from one to the next."""
    societies = [
        SocietyOutcome(
            name=f"s{place}",
            num_voters=1000 - place if own else 0,
            preferences=tuple(own) if own else None,
            errors=tuple(errors) if own and errors else None,
            levels=leveled((1.0, 1000 - place)) if own else (),
        )
        for place, own in enumerate(preferences)
    ]
    return released([1.0, 0.5], features=("lives", "law"), societies=tuple(societies), errors=errors and tuple(errors))


DIRECTION: dict[str, Any] = {"is_direction": True, "paradigm": "RLDP", "mechanism": "direction"}
FUNCTIONAL: dict[str, Any] = {"errors": None, "paradigm": "RLDP", "mechanism": "functional"}
TWO = of_societies((1.0, 0.4), (0.2, 0.5))
CLOSE = of_societies((1.0, 0.4), (1.1, 0.5))
CASES: dict[str, tuple[Outcome, dict[str, Any]]] = {
    "from what speaks most for to what speaks most against, with bars": (THREE, {}),
    "the truth beside": (THREE, {"truth": CLEAN}),
    "signs that the noise may have turned": (released([0.5, 0.21, 0.19, -0.19, -0.21]), {}),
    "signs that it hardly turns": (released([0.5, -0.5]), {}),
    "nothing stands out": (released([0.1, -0.1]), {}),
    "the angle over π: 1/4": (released((1.0, 1.0)), {"truth": {"f0": 0.5, "f1": 0.0}}),
    "the angle over π: 0": (released((3.0, 0.0)), {"truth": {"f0": 0.5, "f1": 0.0}}),
    "the angle over π: 1/2": (released((0.0, 2.0)), {"truth": {"f0": 0.5, "f1": 0.0}}),
    "the angle over π: 1": (released((-1.0, 0.0)), {"truth": {"f0": 0.5, "f1": 0.0}}),
    "no share where nothing was preferred": (released((0.0, 0.0)), {"truth": {"f0": 1.0, "f1": 0.0}}),
    "no share where nothing is": (released((1.0, 0.0)), {"truth": {"f0": 0.0, "f1": 0.0}}),
    **{
        f"{paradigm}, {mechanism}: who was asked, and what ε protects": (
            released([0.3], paradigm=paradigm, mechanism=mechanism),
            {"width": 120},
        )
        for paradigm, mechanism in (("VLCP", "laplace"), ("RLCP", "pooled"), ("RLCP", "direction"))
    },
    "who takes part is private": (released([0.3], paradigm="VLCP", relation="add-remove-one"), {"width": 120}),
    "voters have their own ε": (
        released(
            [0.3],
            num_voters=3000,
            levels=leveled((0.01, 2700), (1.0, 300), weights=(0.02, 9.82)),
        ),
        {},
    ),
    "many ε are joined to ranges": (released([0.3], levels=leveled(*((0.01 * n, n) for n in range(1, 102)))), {}),
    "a direction: nothing more is meant, said first": (released([0.8, -0.6], **DIRECTION), {}),
    "a direction without errors": (released([0.6, -0.8], errors=None, **DIRECTION), {}),
    "reports that cancel out": (
        released([0.0, 0.0], errors=None, **DIRECTION),
        {"truth": {"f0": 0.6, "f1": 0.8}},
    ),
    "no errors, and why": (released([0.1234, -0.0456], **FUNCTIONAL), {}),
    "a projection": (released([0.3], is_projected=True), {}),
    **{
        f"decimals as errors deserve: {value} and {error}": (released([value], errors=(error,)), {})
        for value, error in (
            (0.12345, 0.0028),
            (0.0004, 0.1),
            (-0.004, 0.1),
            (12345.6, 7890.1),
            (-3.21, 1.5),
            (1e-12, 1e-15),
        )
    },
    **{
        f"23 features at {width} characters: bars go first": (
            machine(),
            {"width": width, "truth": dict.fromkeys(MORAL_MACHINE, 0.123)},
        )
        for width in (36, 50, 80, 120)
    },
    **{
        f"no note needs a second line: {mechanism}": (
            machine(mechanism=mechanism, paradigm="RLDP", **given),
            {"truth": dict.fromkeys(MORAL_MACHINE, 0.123)},
        )
        for mechanism, given in {
            "laplace": {"is_projected": True},
            "functional": {"errors": None},
            "direction": {"is_direction": True, "is_projected": True},
        }.items()
    },
    "of many features the strongest": (
        released([*(0.01 * place for place in range(-50, 0)), 0.005]),
        {"table": "outcome.json"},
    ),
    "two societies, and their difference": (TWO, {}),
    "undecided differences": (CLOSE, {}),
    "many societies, and one without reports": (of_societies(*[(1.0, 0.4)] * 7, None), {}),
    "societies without errors": (of_societies((1.0, 0.4), (0.2, 0.5), errors=None), {}),
    "differences of which no test is known": (msgspec.structs.replace(TWO, is_projected=True), {}),
    "undecided differences of which no test is known": (msgspec.structs.replace(CLOSE, is_projected=True), {}),
    "of many differences the clearest": (of_societies(*((1.0 - place / 5, 0.4) for place in range(5))), {}),
}


@pytest.mark.parametrize("name", list(CASES))
def test_preferences_are_told_as_approved(name: str) -> None:
    """A verdict, below which a terminal shows them: nothing is wider."""
    outcome, given = CASES[name]
    options: dict[str, Any] = {"width": 80, **given}
    text = shown(outcome, **options).text
    assert max(map(len, text.splitlines())) <= options["width"]
    check_golden(PAGES, name, f"{verdict_of(outcome)}\n\n{text}")


def test_every_paradigm_and_mechanism_of_the_protocol_has_its_words() -> None:
    pages = 0
    for paradigm in PAPERS:
        for mechanism in ("laplace", "functional", "pooled", "direction"):
            try:
                Parameters(features=("f0",), paradigm=paradigm, mechanism=mechanism)
            except ValueError:
                continue
            assert paradigm.value in shown(released([0.3], paradigm=paradigm.value, mechanism=mechanism)).text
            pages += 1
    # Four of Laplace noise and four of directions; of coefficients, which protect records, three.
    assert pages == 11


def test_rows_hold_the_numbers_to_their_last_bit_in_the_order_of_the_features() -> None:
    outcome = released([1 / 3, -1 / 7], errors=(0.1, 1 / 9))
    assert rows_of(outcome, truth={"f0": 0.3, "f1": -0.1}) == [
        {"feature": "f0", "preference": 1 / 3, "standard_error": 0.1, "clean_preference": 0.3},
        {"feature": "f1", "preference": -1 / 7, "standard_error": 1 / 9, "clean_preference": -0.1},
    ]


def test_rows_without_errors_or_truth_have_no_column_for_them() -> None:
    outcome = released([0.3], errors=None, mechanism="pooled", paradigm="RLCP")
    assert rows_of(outcome, truth=None) == [{"feature": "f0", "preference": 0.3}]


def test_rows_of_societies_stand_below_those_of_all_voters() -> None:
    rows = rows_of(of_societies(*[(1.0, 0.4)] * 7, None), truth=None)
    assert [row["society"] for row in rows][::2] == ["all voters", *(f"s{place}" for place in range(8))]
    assert rows[-1] == {"society": "s7", "feature": "law", "preference": None, "standard_error": None}


DRAWN: dict[str, tuple[Outcome, dict[str, float] | None]] = {
    "features, errors and whose preferences they are": (machine(), None),
    "the truth": (THREE, CLEAN),
    "a legend explains nothing that is not there": (released([0.5], **FUNCTIONAL), None),
    "a direction": (released([0.8, -0.6], **DIRECTION), None),
    "nothing": (released([0.0], errors=None, is_direction=True, mechanism="direction"), None),
    "several ε": (released([0.3], levels=leveled((0.01, 9), (0.2, 9), (1.0, 9))), None),
    "of many features the strongest": (released([0.01 * place for place in range(60, 0, -1)]), None),
    "societies in one panel": (TWO, None),
}


@pytest.mark.parametrize("name", list(DRAWN))
def test_preferences_are_drawn_as_approved(tmp_path: Path, name: str) -> None:
    """The words of the picture, from first to last, without the axis's numbers."""
    outcome, truth = DRAWN[name]
    text = drawn(outcome, tmp_path, title="A society", truth=truth)
    check_golden(PICTURES, name, "\n".join(re.findall(r">([^<>]*[^\W\d_][^<>]*|[^<>]* ± [^<>]*)<", text)))


def test_what_the_protocol_releases_is_shown_with_its_own_truth(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    protocol = MoralPreferences(Parameters(features=("law", "lives"), epsilons=(0.5, 2.0)))
    choices = [generator.normal(size=(3, 2, 2)) + [[[0.0, 1.0]], [[0.0, 0.0]]][place % 2] for place in range(20)]
    inputs = protocol.encode({"records": choices, "epsilon": [0.5, 2.0] * 10})
    outcome = run_population(protocol, inputs, noise=SimulatedNoise(1, session="s")).outcome
    truth = protocol.truth(inputs)
    page = shown(outcome, truth=truth)
    assert "VLDP        20 voters, by Laplace noise on preferences" in page.text
    assert ["0.5", "10"] in [words[:2] for words in page.lines]
    text = io.StringIO(newline="")
    rows = rows_of(outcome, truth=truth)
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writerows(rows)
    read = list(csv.DictReader(io.StringIO(text.getvalue(), newline=""), fieldnames=list(rows[0])))
    assert [float(row["preference"]) for row in read] == list(outcome.preferences)
    assert [float(row["clean_preference"]) for row in read] == list(truth.values())
    assert all(math.isfinite(float(row["standard_error"])) for row in read)
    drawn(outcome, tmp_path, truth=truth)
