"""Preferences as readers see them: whom voters trust, what features speak for, how sure that is, and what it cost."""

import csv
import functools
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pages
import pytest
from pages import Page
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

shown = functools.partial(pages.shown, width=80)
drawn = functools.partial(pages.drawn, title="A society")
# The features of the Moral Machine's published files, and the three of a dilemma's circumstances.
MORAL_MACHINE = (
    *("Man", "Woman", "Pregnant", "Stroller", "OldMan", "OldWoman", "Boy", "Girl", "Homeless", "LargeWoman"),
    *("LargeMan", "Criminal", "MaleExecutive", "FemaleExecutive", "FemaleAthlete", "MaleAthlete", "FemaleDoctor"),
    *("MaleDoctor", "Dog", "Cat", "intervention", "passengers", "legality"),
)


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
        "levels": (LevelOutcome(epsilon=0.5, num_voters=5000, weight=1.0),),
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


def row_of(page: Page, feature: str) -> str:
    """Return the line of a feature."""
    (line,) = [line for line in page.text.splitlines() if line.startswith(f"{feature} ")]
    return line


def test_features_go_from_what_speaks_most_for_to_what_speaks_most_against() -> None:
    page = shown(THREE)
    assert [words[0] for words in page.lines if words and words[0] in THREE.features] == ["lives", "law", "[pets]"]
    assert row_of(page, "lives").endswith(" +0.31 ± 0.10")
    assert row_of(page, "[pets]").endswith(" -0.60 ± 0.10")


def test_a_bar_goes_to_the_side_that_a_feature_speaks_for_and_as_far_as_it_does() -> None:
    page = shown(THREE)
    assert "██████████│ " in row_of(page, "[pets]")
    assert "│█████ " in row_of(page, "lives")
    assert row_of(page, "lives").index("│") == row_of(page, "[pets]").index("│") == row_of(page, "law").index("│")
    header = next(line for line in page.text.splitlines() if line.startswith("Feature"))
    assert header.index("0") == row_of(page, "law").index("│")
    assert header.index("against") < header.index("0") < header.index("for")


def test_a_sign_that_the_noise_may_have_turned_is_marked_and_one_that_it_hardly_turns_is_not() -> None:
    page = shown(released([0.5, 0.21, 0.19, -0.19, -0.21]))
    assert [feature for feature in ("f0", "f1", "f2", "f3", "f4") if "░" in row_of(page, feature)] == ["f2", "f3"]
    assert "the noise may have turned the sign" in page.text
    assert "turned the sign" not in shown(released([0.5, -0.5])).text


def test_without_a_truth_none_is_shown() -> None:
    page = shown(THREE)
    assert "Without noise" not in page.text
    assert "of pairs" not in page.text


def test_the_truth_stands_beside_where_it_may_be_shown() -> None:
    page = shown(THREE, truth=CLEAN)
    assert [row_of(page, name).split()[-1] for name in ("lives", "law", "[pets]")] == ["+0.40", "+0.10", "-0.50"]


@pytest.mark.parametrize(
    ("preferences", "share"), [((1.0, 1.0), "75.0"), ((3.0, 0.0), "100.0"), ((0.0, 2.0), "50.0"), ((-1.0, 0.0), "0.0")]
)
def test_how_often_the_noise_leaves_the_choice_is_the_angle_over_pi(preferences: Sequence[float], share: str) -> None:
    page = shown(released(preferences), truth={"f0": 0.5, "f1": 0.0})
    said = f"in {share} % of pairs, drawn from one normal law, the same choice as without noise"
    assert said in " ".join(page.text.split())


@pytest.mark.parametrize(("preferences", "clean"), [((0.0, 0.0), 1.0), ((1.0, 0.0), 0.0)])
def test_of_a_society_without_preferences_no_share_is_said(preferences: Sequence[float], clean: float) -> None:
    assert "of pairs" not in shown(released(preferences), truth={"f0": clean, "f1": 0.0}).text


@pytest.mark.parametrize(
    ("paradigm", "mechanism", "protected"),
    [
        ("VLCP", "laplace", "a voter: everything"),
        ("RLCP", "pooled", "a record: one of"),
        ("RLCP", "direction", "a record: one of"),
        ("VLDP", "laplace", "a voter: everything"),
        ("RLDP", "functional", "a record: one of"),
    ],
)
def test_below_the_table_it_is_said_who_was_asked_how_and_what_epsilon_protects(
    paradigm: str, mechanism: str, protected: str
) -> None:
    text = shown(released([0.3], paradigm=paradigm, mechanism=mechanism), width=120).text
    assert re.search(rf"\n{paradigm} +5,000 voters, by ", text)
    assert re.search(rf"\nε protects +{protected}", text)


def test_where_it_is_private_who_takes_part_the_number_is_the_greatest() -> None:
    text = shown(released([0.3], paradigm="VLCP", relation="add-remove-one"), width=120).text
    assert re.search(r"\nVLCP +up to 5,000 voters, by ", text)


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


def test_levels_of_epsilon_are_shown_where_voters_have_their_own() -> None:
    levels = (
        LevelOutcome(epsilon=0.01, num_voters=2700, weight=0.02),
        LevelOutcome(epsilon=1.0, num_voters=300, weight=9.82),
    )
    page = shown(released([0.3], levels=levels, num_voters=3000))
    assert ["0.01", "2,700", "0.02", "1.8", "%"] in page.lines
    assert ["1", "300", "9.82", "98.2", "%"] in page.lines
    assert "Weight of a report" in page.text
    assert "Voters' own ε" not in shown(THREE).text


def test_many_levels_are_joined_to_ranges_that_lose_nobody() -> None:
    levels = tuple(LevelOutcome(epsilon=0.01 * n, num_voters=n, weight=1.0) for n in range(1, 102))
    page = shown(released([0.3], levels=levels))
    rows = [words for words in page.lines if len(words) > 3 and words[1] == "to"]
    assert [float(rows[0][0]), float(rows[-1][2])] == [0.01, 1.01]
    assert len(rows) == 10
    assert sum(int(words[3].replace(",", "")) for words in rows) == sum(range(1, 102))
    assert {words[4] for words in rows} == {"1"}


def test_of_a_direction_it_is_said_before_any_number_that_it_means_nothing_more() -> None:
    page = shown(released([0.8, -0.6], is_direction=True, paradigm="RLDP", mechanism="direction"))
    assert page.text.index("Only the direction means anything") < page.text.index("Preference\n")
    assert "How strong preferences are is not released" in page.text
    assert "Only the direction" not in shown(THREE).text


def test_reports_that_cancel_out_have_no_direction() -> None:
    outcome = released([0.0, 0.0], is_direction=True, errors=None, paradigm="RLDP", mechanism="direction")
    page = shown(outcome, truth={"f0": 0.6, "f1": 0.8})
    assert "the reports cancel out: they have no direction" in page.text
    assert "█" not in page.text


def test_without_errors_none_is_shown_and_it_is_said_why() -> None:
    page = shown(released([0.1234, -0.0456], errors=None, paradigm="RLDP", mechanism="functional"))
    assert "±" not in page.text
    assert row_of(page, "f0").endswith(" +0.123")
    assert "no standard errors" in page.text


def test_a_projection_is_said_since_errors_are_from_before_it() -> None:
    assert "projected" in shown(released([0.3], is_projected=True)).text
    assert "projected" not in shown(THREE).text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.12345, 0.0028, "+0.1235 ± 0.0028"),
        (0.0004, 0.1, "0.00 ± 0.10"),
        (-0.004, 0.1, "0.00 ± 0.10"),
        (12345.6, 7890.1, "+12,346 ± 7,890"),
        (-3.21, 1.5, "-3.2 ± 1.5"),
        (1e-12, 1e-15, "0.000000000 ± 0.000000000"),
    ],
)
def test_a_preference_has_as_many_decimals_as_its_error_deserves(value: float, error: float, text: str) -> None:
    assert row_of(shown(released([value], errors=(error,))), "f0").endswith(f"  {text}")


@pytest.mark.parametrize("width", [80, 120])
def test_23_features_fit_with_bars_errors_and_truth(width: int) -> None:
    page = shown(machine(), width=width, truth=dict.fromkeys(MORAL_MACHINE, 0.123))
    for feature in MORAL_MACHINE:
        assert "│" in row_of(page, feature)
        assert row_of(page, feature).split()[-2:] == ["0.10", "+0.12"]
    assert max(map(len, page.text.splitlines())) <= width


@pytest.mark.parametrize("width", [36, 50])
def test_a_narrow_terminal_goes_without_bars_first(width: int) -> None:
    page = shown(machine(), width=width, truth=dict.fromkeys(MORAL_MACHINE, 0.123))
    assert "│" not in page.text
    assert ("Without noise" in page.text.splitlines()[0]) == (width == 50)
    assert "for want of room in" in page.text
    assert all(re.search(r"[+-]?\d\.\d\d ± 0\.10", row_of(page, feature)) for feature in MORAL_MACHINE)


@pytest.mark.parametrize("options", [{}, {"errors": None}, {"is_projected": True}])
@pytest.mark.parametrize("mechanism", ["laplace", "functional", "direction"])
def test_no_note_needs_a_second_line_of_80_characters(mechanism: str, options: Any) -> None:
    outcome = machine(mechanism=mechanism, paradigm="RLDP", is_direction=mechanism == "direction", **options)
    above, _, _ = shown(outcome, truth=dict.fromkeys(MORAL_MACHINE, 0.123)).text.partition("\nRLDP ")
    notes = [line for line in above.splitlines() if line and line.split()[0] not in {*MORAL_MACHINE, "Feature"}]
    assert notes
    assert all(line.startswith(("  ", "──")) for line in notes)


def test_of_many_features_the_strongest_are_shown_and_the_file_has_the_rest() -> None:
    outcome = released([0.01 * place for place in range(-50, 0)] + [0.005])
    page = shown(outcome, table="outcome.json")
    assert "and 11 features nearer to 0 in outcome.json" in page.text
    assert row_of(page, "f0")
    assert row_of(page, "f39")
    assert "\nf40 " not in page.text
    assert "\nf50 " not in page.text


def test_rows_hold_the_numbers_to_their_last_bit_in_the_order_of_the_features() -> None:
    outcome = released([1 / 3, -1 / 7], errors=(0.1, 1 / 9))
    assert rows_of(outcome, truth={"f0": 0.3, "f1": -0.1}) == [
        {"feature": "f0", "preference": 1 / 3, "standard_error": 0.1, "clean_preference": 0.3},
        {"feature": "f1", "preference": -1 / 7, "standard_error": 1 / 9, "clean_preference": -0.1},
    ]


def test_rows_without_errors_or_truth_have_no_column_for_them() -> None:
    outcome = released([0.3], errors=None, mechanism="pooled", paradigm="RLCP")
    assert rows_of(outcome, truth=None) == [{"feature": "f0", "preference": 0.3}]


def test_a_picture_has_features_errors_and_whose_preferences_they_are(tmp_path: Path) -> None:
    text = drawn(machine(), tmp_path)
    for said in (
        *MORAL_MACHINE,
        "A society",
        "+0.55 ± 0.10",
        "−0.55 ± 0.10",
        "whiskers: 2 standard errors",
        "speaks against it",
        "VLDP, laplace",
    ):
        assert f">{said}<" in text, said
    assert "without noise" not in text
    places = [text.index(f">{feature}<") for feature in reversed(MORAL_MACHINE)]
    assert places == sorted(places)


def test_the_truth_is_drawn_where_it_may_be_shown(tmp_path: Path) -> None:
    assert "without noise" in drawn(THREE, tmp_path, truth=CLEAN)


def test_a_legend_explains_nothing_that_is_not_there(tmp_path: Path) -> None:
    text = drawn(released([0.5], errors=None, mechanism="functional", paradigm="RLDP"), tmp_path)
    for absent in ("speaks against it", "pale:", "2 standard errors", "without noise"):
        assert absent not in text
    assert ">RLDP, functional, ε = 0.5 per record, no standard errors<" in text


@pytest.mark.full("a picture more")
def test_a_picture_of_a_direction_says_that_it_is_one(tmp_path: Path) -> None:
    outcome = released([0.8, -0.6], is_direction=True, paradigm="RLDP", mechanism="direction")
    assert "direction alone: how features compare" in drawn(outcome, tmp_path)
    assert "direction alone" not in drawn(THREE, tmp_path)


def test_a_picture_of_nothing_is_drawn_too(tmp_path: Path) -> None:
    drawn(released([0.0], errors=None, is_direction=True, mechanism="direction"), tmp_path)


def test_a_picture_of_several_levels_says_their_range(tmp_path: Path) -> None:
    levels = tuple(LevelOutcome(epsilon=epsilon, num_voters=9, weight=1.0) for epsilon in (0.01, 0.2, 1.0))
    assert "ε = 0.01 to 1 per voter" in drawn(released([0.3], levels=levels), tmp_path)


@pytest.mark.full("a picture more")
def test_of_many_features_the_strongest_are_drawn_and_the_title_says_so(tmp_path: Path) -> None:
    text = drawn(released([0.01 * place for place in range(60, 0, -1)]), tmp_path)
    assert ">A society (the strongest 40 of 60 features)<" in text
    assert ">f39<" in text
    assert ">f40<" not in text


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


def test_a_verdict_says_what_speaks_for_an_alternative_and_of_what_noise_may_have_turned_the_sign() -> None:
    assert verdict_of(THREE) == (
        "lives speaks for an alternative; [pets] speaks against one. The noise may have turned the sign "
        "of law: within 2 standard errors of 0."
    )
    assert verdict_of(released([0.1, -0.1])) == (
        "Nothing stands out of the noise: all is within 2 standard errors of 0."
    )
    assert verdict_of(released([0.0, 0.0], is_direction=True)) == (
        "The reports cancel out: no feature speaks for or against an alternative."
    )


def test_a_verdict_on_many_features_names_those_that_speak_most() -> None:
    said = verdict_of(machine())
    assert said.startswith(
        "legality, passengers and intervention speak most for an alternative; Man, Woman and Pregnant"
    )
    assert "The noise may have turned the sign of 9 features: within 2 standard errors of 0." in said


def test_a_verdict_says_where_errors_are_not_known_and_where_only_directions_are() -> None:
    said = verdict_of(released([0.6, -0.8], errors=None, is_direction=True, mechanism="direction"))
    assert said == (
        "f0 speaks for an alternative; f1 speaks against one. How far the noise moved them is not known. Only how "
        "features compare is released, not how strong preferences are."
    )


# Several societies.


def of_societies(*preferences: Sequence[float] | None, errors: Sequence[float] | None = (0.1, 0.1)) -> Outcome:
    """Return an outcome of two features in societies called s0, s1, ..., with fewer voters from one to the next."""
    found = [
        SocietyOutcome(
            name=f"s{place}",
            num_voters=0 if own is None else 1000 - place,
            preferences=None if own is None else tuple(own),
            errors=None if own is None or errors is None else tuple(errors),
            levels=() if own is None else (LevelOutcome(epsilon=1.0, num_voters=1000 - place, weight=1.0),),
        )
        for place, own in enumerate(preferences)
    ]
    return released([1.0, 0.5], features=("lives", "law"), societies=tuple(found), errors=errors and tuple(errors))


def test_societies_stand_side_by_side_and_differences_begin_with_the_clearest() -> None:
    outcome = of_societies((1.0, 0.4), (0.2, 0.5))
    text = shown(outcome).text
    assert verdict_of(outcome).endswith("The societies differ most clearly on lives: it counts more to s0 than to s1.")
    close = verdict_of(of_societies((1.0, 0.4), (1.1, 0.5)))
    assert close.endswith("Every difference between societies is undecided.")
    assert re.search(r"Feature +s0 +s1", text)
    assert re.search(r"lives +\+1.00 +\+0.20", text)
    assert re.search(r"± each +0.10 +0.10", text)
    lines = [line for line in text.splitlines() if re.search(r" s[01] +s[01] +\+", line)]
    assert [line.split() for line in lines] == [
        ["lives", "s0", "s1", "+0.80", "±", "0.14", "+0.48", "to", "+1.12", "differs"],
        ["law", "s1", "s0", "+0.10", "±", "0.14", "-0.22", "to", "+0.42", "undecided"],
    ]
    assert "1 of 2 differences holds, all of them at once, at the 5 % level" in text
    assert "noise makes any interval or verdict wrong with a probability of at most 5 %" in text
    assert "± is of the noise: how far other voters would differ is no part of it" in text
    assert "each has a release of its own" in text


def test_many_societies_are_in_the_table_and_one_without_reports_is_named() -> None:
    outcome = of_societies(*[(1.0, 0.4)] * 7, None)
    page = shown(outcome)
    assert "s4" in page.text
    assert "s5" not in page.text
    assert "… and 3 more, with fewer voters, in estimates.csv" in page.text
    assert "s7: nobody reported" in page.text
    rows = rows_of(outcome, truth=None)
    assert [row["society"] for row in rows][::2] == ["all voters", *(f"s{place}" for place in range(8))]
    assert rows[-1] == {"society": "s7", "feature": "law", "preference": None, "standard_error": None}


def test_societies_without_errors_have_no_differences() -> None:
    page = shown(of_societies((1.0, 0.4), (0.2, 0.5), errors=None))
    assert "no differences between societies: the errors of 'laplace' have no closed form" in page.text


def test_where_no_test_is_known_differences_have_no_verdict_and_the_reason_is_said() -> None:
    moved = msgspec.structs.replace(of_societies((1.0, 0.4), (0.2, 0.5)), is_projected=True)
    page = shown(moved)
    assert "1 of 2 differences is larger than 2 standard errors" in page.text
    assert "no verdict: a projection moved the preferences" in page.text
    close = verdict_of(msgspec.structs.replace(of_societies((1.0, 0.4), (1.1, 0.5)), is_projected=True))
    assert close.endswith("No difference between societies is larger than 2 standard errors.")


def test_of_many_differences_the_clearest_are_shown_and_a_command_has_the_others() -> None:
    page = shown(of_societies(*[(1.0 - place / 5, 0.4) for place in range(5)]))
    assert "of 20 differences hold, all of them at once" in page.text
    assert "all of them: psephos decide RUN --differences" in page.text
    assert len([line for line in page.text.splitlines() if re.search(r" s[0-4] +s[0-4] +", line)]) == 9  # with names


def test_a_picture_has_all_societies_in_one_panel(tmp_path: Path) -> None:
    text = drawn(of_societies((1.0, 0.4), (0.2, 0.5)), tmp_path)
    assert all(said in text for said in ("s0", "s1", "lives", "law", "± 2 standard errors"))
