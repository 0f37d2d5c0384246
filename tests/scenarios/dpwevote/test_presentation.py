"""Votes as readers see them: every number that they decide by, in a terminal, a table and a picture."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from makers import as_usual, vote_of
from pages import ESTIMATE, drawn, is_shown, shown
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.parameters import VariantName
from psephos.protocol.estimators import Verdict
from psephos.scenarios import simulate
from psephos.scenarios.presentation import briefs_of, rows_of, verdict_of
from strategies import told
from vote_margins import margin_of

PARTIES = {f"p{n}": (1 + n % 3, n % 2, int(n % 5 > 0)) for n in range(60)}
TRUTH = {"rail": 60.0, "[fish]": 96.0, "total weight": 120.0, "quota": 60.0}


vote = as_usual(vote_of, candidates=("rail", "[fish]"))


def outcome(**options: Any) -> Outcome:
    """Return what that vote released."""
    return simulate(vote(**options), PARTIES, seed=8)


def on(*candidates: str, variant: VariantName = "joint") -> Outcome:
    """Return the outcome of a vote on these candidates."""
    parties = {f"p{n}": (1 + n % 3, *(n % 2 for _ in candidates)) for n in range(30)}
    return simulate(DPWeVote(Parameters(candidates=candidates, variant=variant)), parties, seed=2)


def test_an_outcome_shows_decision_estimates_and_errors() -> None:
    released = outcome()
    page = shown(released)
    for candidate in released.candidates:
        (line,) = [line for line in page.text.splitlines() if line.startswith(candidate.name)]
        assert candidate.decision in line
        for estimate in (told(candidate.support), told(candidate.quota), margin_of(candidate)):
            assert any(is_shown(estimate, numbers) for numbers in ESTIMATE.findall(line)), line
    assert "True margin" not in page.text
    assert "Weight" in page.text
    assert "Verdict: wrong in at most 5 % of such votes, whatever the truth is." in " ".join(page.text.split())
    assert "P(wrong)" not in page.text
    assert "nearest possible" not in page.text


def test_what_is_needed_is_more_than_the_quota_where_that_alone_passes(tmp_path: Path) -> None:
    for passes, words in (("at_least", "quota"), ("more_than", "more than")):
        released = outcome(passes=passes)
        other = {"quota": "more than", "more than": "quota"}[words]
        for text in (shown(released).text, briefs_of(released)[0].told, drawn(released, tmp_path)):
            assert words in text.casefold(), text
            assert other not in text.casefold().replace("quota, band", ""), text


def test_the_truth_stands_beside_the_estimates_where_it_may_be_shown() -> None:
    page = shown(outcome(), truth=TRUTH)
    assert "True margin" in page.text
    (line,) = [line for line in page.text.splitlines() if line.startswith("[fish]")]
    assert line.split()[-1] == "+36"


def test_what_is_biased_and_what_was_projected_is_said() -> None:
    page = shown(outcome(variant="printed", project_counts=True))
    assert "the printed margin is off by" in page.text
    assert "(nearest possible " in page.text


def test_an_estimate_that_cannot_be_true_stands_beside_what_can_be_and_is_called_noise() -> None:
    """Ten partners of weights up to 3: no support exceeds 30, and no quota is below 5."""
    released = simulate(vote(epsilon=0.1), {f"p{n}": (3, 1, 1) for n in range(10)}, seed=3)
    page = shown(released)
    beyond = [each for each in released.candidates if not 0 <= told(each.support).value <= 30]
    assert beyond
    assert released.possible.support == (0.0, 30.0)
    assert released.possible.quota == (5.0, 15.0)
    for candidate in beyond:
        support = f"{told(candidate.support).value:,.1f}".removesuffix(".0")
        assert f"{candidate.name}, support {support}: only 0 to 30 is possible; the excess is noise" in page.text


def test_many_estimates_that_cannot_be_true_are_counted() -> None:
    names = tuple(f"c{n}" for n in range(9))
    parties = {f"p{n}": (3, *(1 for _ in names)) for n in range(3)}
    page = shown(simulate(DPWeVote(Parameters(candidates=names, epsilon=0.1)), parties, seed=3))
    assert page.text.count("the excess is noise") == 6
    assert re.search(r"and \d+ more estimates beyond what is possible", page.text)


def test_weights_that_differ_inside_a_group_are_said_to() -> None:
    page = shown(outcome(groups=((1.0, 2.0), (3.0,))))
    assert re.search(r"move a margin by up to 15\b", page.text)


def test_a_quota_without_an_error_has_none() -> None:
    released = outcome(public_weights=True, quota=70.0)
    page = shown(released)
    assert all(" 70 " in line for line in page.text.splitlines() if line.startswith(("rail", "[fish]")))


def test_large_numbers_have_no_decimals() -> None:
    many = {f"p{n}": (3, 1, 1) for n in range(3000)}
    page = shown(simulate(vote(epsilon=8.0), many, seed=8))
    (line,) = [line for line in page.text.splitlines() if line.startswith("rail")]
    assert "." not in line


def test_long_names_give_way_to_the_numbers() -> None:
    name = "a candidate whose name goes on " * 4
    ballot = DPWeVote(Parameters(candidates=(name.strip(),)))
    parties = {f"p{n}": (1 + n % 3, n % 2) for n in range(60)}
    released = simulate(ballot, parties, seed=8)
    page = shown(released)
    (candidate,) = released.candidates
    numbers = ESTIMATE.findall(page.text)
    assert all(
        any(is_shown(each, pair) for pair in numbers) for each in (told(candidate.support), margin_of(candidate))
    )
    assert "…" not in page.text
    assert page.text.count("goes on") == 4


def test_a_vote_that_tells_the_margin_alone_has_no_column_for_support_and_quota() -> None:
    released = outcome(variant="optimal")
    page = shown(released, truth=TRUTH)
    header = next(line for line in page.text.splitlines() if line.startswith("Candidate"))
    assert header.split() == ["Candidate", "Verdict", "Margin", "True", "margin"]
    margins = ESTIMATE.findall(page.text)
    assert all(
        is_shown(margin_of(candidate), pair) for candidate, pair in zip(released.candidates, margins, strict=True)
    )


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_words(width: int) -> None:
    page = shown(outcome(), width=width, truth=TRUTH)
    assert {"Candidate", "Verdict", "Margin"} <= set(page.text.split())
    words = " ".join(page.text.split())
    assert any(f"alone: True margin{more}" in words for more in (",", " and")) == (width < 80)
    assert "…" not in page.text
    assert max(map(len, page.text.splitlines())) <= width


def test_rows_hold_the_numbers_to_their_last_bit() -> None:
    released = outcome()
    rows = rows_of(released, truth=TRUTH)
    assert [row["candidate"] for row in rows] == ["rail", "[fish]"]
    for row, candidate in zip(rows, released.candidates, strict=True):
        assert row["support"] == told(candidate.support).value
        assert row["margin_standard_error"] == margin_of(candidate).standard_error
        assert (row["true_support"], row["true_quota"]) == (TRUTH[candidate.name], 60.0)


def test_without_a_truth_no_row_has_one() -> None:
    assert not any("true" in column for row in rows_of(outcome(), truth=None) for column in row)


def test_an_outcome_that_tells_the_margin_alone_has_no_column_for_the_rest() -> None:
    rows = rows_of(outcome(variant="two_point"), truth=TRUTH)
    assert not any(column.startswith(("support", "quota")) for row in rows for column in row)
    assert [row["true_margin"] for row in rows] == [0.0, 36.0]
    with_support = rows_of(outcome(variant="two_point", quota=60), truth=TRUTH)
    assert [row["quota"] for row in with_support] == [60.0, 60.0]
    assert all("support_standard_error" in row for row in with_support)


def test_a_picture_is_an_svg_and_a_png(tmp_path: Path) -> None:
    released = on("rail", "fish & <chips>")
    text = drawn(released, tmp_path)
    for words in ("A vote", "rail", "fish & <chips>", "estimate, whiskers: 2 standard errors", "quota"):
        assert words in text
    for candidate in released.candidates:
        assert f">{candidate.decision}<" in text
    assert "P(wrong)" not in text
    assert "truth" not in text


def test_the_truth_is_drawn_where_it_may_be_shown(tmp_path: Path) -> None:
    truth = {"rail": 30.0, "total weight": 60.0, "quota": 30.0}
    assert "truth" in drawn(on("rail"), tmp_path, truth=truth)


def test_where_the_margin_alone_is_told_it_is_drawn_beside_0(tmp_path: Path) -> None:
    truth = {"rail": 40.0, "total weight": 60.0, "quota": 30.0}
    released = on("rail", variant="two_point")
    text = drawn(released, tmp_path, truth=truth)
    assert "margin: weight of the yes votes less the quota" in text
    assert "truth" in text
    assert "less the quota" not in drawn(on("rail"), tmp_path, truth=truth)


@pytest.mark.full("a picture more")
def test_of_many_candidates_those_with_the_greatest_margins_are_drawn_and_winners_first(tmp_path: Path) -> None:
    released = on(*(f"c{n}" for n in range(41)))
    text = drawn(released, tmp_path)
    assert ">A vote (the 40 of 41 with the greatest margins)<" in text
    ordered = sorted(released.candidates, key=lambda candidate: -margin_of(candidate).value)
    places = [text.index(f">{candidate.name}<") for candidate in ordered[:40]]
    assert places == sorted(places)
    assert f">{ordered[40].name}<" not in text
    assert ordered[0].leans_yes
    assert not ordered[39].leans_yes


def test_one_quota_is_one_line_with_its_number_beside_it(tmp_path: Path) -> None:
    text = drawn(on("rail", "fish", variant="joint"), tmp_path)
    (quota,) = {told(candidate.quota).value for candidate in on("rail", "fish").candidates}
    assert text.count(">quota ") == 1
    assert f">quota {quota:,.1f}".removesuffix(".0") in text
    assert ">quota, band: 2 standard errors<" in text


def decided(**verdicts: tuple[Verdict, bool]) -> Outcome:
    """Return an outcome with these verdicts and decisions."""
    released = on(*verdicts)
    candidates = tuple(
        msgspec.structs.replace(
            own,
            leans_yes=passed,
            verdict=msgspec.structs.replace(own.verdict, verdict=verdict, level=0.05),
        )
        for own, (verdict, passed) in zip(released.candidates, verdicts.values(), strict=True)
    )
    return msgspec.structs.replace(released, candidates=candidates, joint_level=0.05 * len(candidates))


NO_VERDICT = "A leaning decides nothing: if it was nearly a tie, it is a coin toss."
PASSES, FAILS, CLOSE = Verdict.PASSES, Verdict.FAILS, Verdict.TOO_CLOSE


def test_a_verdict_says_what_passes_and_what_fails_and_how_rarely_that_is_wrong() -> None:
    said = verdict_of(decided(rail=(PASSES, True), data=(PASSES, True), fish=(FAILS, False)))
    assert said == (
        "rail and data pass; fish fails. Each verdict is wrong in at most 5 % of such votes, whatever the truth is; "
        "one or more of the 3 in at most 15 %."
    )
    alone = verdict_of(decided(rail=(PASSES, True)))
    assert alone == "rail passes. Wrong in at most 5 % of such votes, whatever the truth is."


def test_a_verdict_declines_where_the_test_does_and_says_which_way_it_leans() -> None:
    assert verdict_of(decided(rail=(CLOSE, True))) == (
        "rail is undecided, leaning yes. A leaning decides nothing: if it was nearly a tie, it is a coin toss."
    )
    two = verdict_of(decided(rail=(CLOSE, True), fish=(CLOSE, False)))
    assert two == f"rail is undecided, leaning yes; fish is undecided, leaning no. {NO_VERDICT}"


def test_a_verdict_on_many_candidates_counts_them() -> None:
    names = {f"c{place}": (PASSES if place % 2 else FAILS, place % 2 > 0) for place in range(20)}
    said = verdict_of(decided(**names))
    assert said.startswith("10 candidates pass; 10 candidates fail. ")
    assert "one or more" not in said  # which says nothing: in at most all votes
