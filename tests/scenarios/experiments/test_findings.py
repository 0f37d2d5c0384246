"""The papers' claims: every number against a small computation of its own, and every verdict by hand."""

import csv
import io
import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from psephos.scenarios.cli.group import cli
from psephos.scenarios.experiments.findings import BoundedFinding, Certainty, findings_on_papers, sentences
from psephos.scenarios.experiments.findings_shown import (
    bounded_finding_to_dict,
    sentences_as_rows,
    show_bounded_findings,
)
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

# Of which the command audits each by itself, beside the claims.
GROUPS = {"dpwevote", "truth-discovery", "moral-preferences", "fair-voting"}
WIDTH = 110
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def found() -> Mapping[str, BoundedFinding]:
    all_findings = findings_on_papers()
    by_key = {finding.key: finding for finding in all_findings}
    assert len(by_key) == len(all_findings)
    return by_key


def moment(num_flips: int, num_answers: int, high: Fraction) -> float:
    """Return E[P^k·(1 − P)^(m − k)], P ~ U(0, b), term by term."""
    rest = num_answers - num_flips
    terms = ((-1) ** j * math.comb(rest, j) * high ** (num_flips + j) / (num_flips + j + 1) for j in range(rest + 1))
    return float(sum(terms, Fraction(0)))


@pytest.mark.full("two seconds of findings")
def test_numbers_of_dpwevote(found: Mapping[str, BoundedFinding]) -> None:
    keep = math.e**0.5 / (math.e**0.5 + 2)
    right = math.e**0.5 / (math.e**0.5 + 1)
    assert found["W10"].found == pytest.approx(keep * right)
    assert found["W1"].found == math.inf
    assert found["W11"].found == pytest.approx(1)
    assert found["W5"].found == pytest.approx(3)
    assert found["W13"].found == pytest.approx(1)
    # c = (3p − 1)/2 at ε₁ = 1: E[w̃] = c·3 + 2(1 − c).
    signal = (3 * math.e / (math.e + 2) - 1) / 2
    assert found["W2"].found == pytest.approx(3 * signal + 2 * (1 - signal))
    assert found["W2b"].found == pytest.approx(0.233, abs=0.005)  # 200,000 draws gave 0.2331
    assert found["W12"].found == found["W2b"].found
    assert found["W12"].claimed == pytest.approx(0.868, abs=0.01)  # the reproduction's 2,000 votes gave 0.864
    assert found["W3"].found == pytest.approx(0.211, abs=5e-4)
    law = {0: Fraction(1)}
    for _ in range(10):
        law = {
            total: sum((law.get(total - vote, Fraction(0)) for vote in (-3, -2, -1, 1, 2, 3)), Fraction(0)) / 6
            for total in range(min(law) - 3, max(law) + 4)
        }
    assert found["W4"].found == pytest.approx(float(law[0]))


def test_numbers_of_truth_discovery(found: Mapping[str, BoundedFinding]) -> None:
    assert found["T10"].found == pytest.approx(1)
    assert found["T11"].found == pytest.approx(math.log(9))
    assert found["T12"].found == pytest.approx(5)
    high = Fraction(2 / (math.e + 1))
    chances = [moment(flips, 5, high) for flips in range(6)]
    steps = [abs(math.log(one / other)) for one, other in itertools.pairwise(chances)]
    assert found["T3"].found == pytest.approx(math.log(max(chances) / min(chances)), rel=1e-6)
    assert found["T3b"].found == pytest.approx(max(steps), rel=1e-6)
    assert found["T3c"].found == pytest.approx(math.log(math.comb(5, 2)))
    assert found["T3d"].found == pytest.approx(5 / 6)
    assert found["T4"].claimed == pytest.approx(5)
    assert found["T4"].found == found["T3"].found
    assert found["T13"].found == pytest.approx(math.log(3))
    assert found["T9"].claimed == pytest.approx(1)
    assert found["T9"].found == pytest.approx(max(steps), rel=1e-6)
    wrong = math.fsum(math.comb(11, right) * 0.25**right * 0.75 ** (11 - right) for right in range(6, 12))
    assert found["T8"].found == pytest.approx(wrong)  # a log-odds vote takes the minority
    assert found["T8"].claimed == pytest.approx(1.1e-4, rel=0.05)
    assert (found["T8b"].claimed, found["T8b"].found) == pytest.approx((0.44, 0.95), abs=0.005)
    assert found["T14"].found == pytest.approx((0.01 / math.e + 0.99 * math.e) ** math.log(1 / 99) / 0.02)
    assert found["T15"].found == pytest.approx(0.837, abs=5e-4)
    assert found["T5"].found == 0.5


def test_numbers_of_moral_preferences(found: Mapping[str, BoundedFinding]) -> None:
    assert found["M15"].found == pytest.approx(1)
    assert found["M16"].found == pytest.approx(1)
    assert found["M18"].found == pytest.approx((1 - 0.05 / 10) ** 10)
    root, half = math.sqrt(2 * 10 / math.pi), 10 / math.pi
    assert found["M6"].claimed == pytest.approx(2 * (root + half))
    angles = np.linspace(0, math.pi / 2, 100_001)
    greatest = float(np.max(2 * root * np.sin(angles) + math.sqrt(2) * half * np.sin(2 * angles)))
    assert found["M6"].found == pytest.approx(greatest, rel=1e-6)
    assert found["M19"].found == pytest.approx(greatest / (2 * (root + half)), rel=1e-4)
    # 14 records' linear coefficients and 12 records' quadratic ones, each of norm √(2d/π) and d/π.
    assert found["M4"].found == pytest.approx((14 * root + 12 * half) / (2 * (root + half)))
    assert found["M7"].found == found["M19"].found
    assert found["M3"].found > 0.95
    assert found["M2"].found < 0.924
    assert found["M5"].found < 0.9
    assert found["M17"].found == pytest.approx(1)


def test_numbers_of_fair_voting(found: Mapping[str, BoundedFinding]) -> None:
    assert found["F7"].found == pytest.approx(1)
    assert found["F1"].found == pytest.approx(4 / 3)
    generator = np.random.default_rng(1)
    draws = generator.laplace(scale=0.02, size=200_000) - generator.laplace(scale=0.04, size=200_000)
    assert found["F3"].found == pytest.approx(float(np.abs(draws).mean()), abs=5e-4)  # five standard errors
    assert found["F4"].found == pytest.approx(0.837, abs=0.001)
    assert found["F4b"].found == pytest.approx(0.69, abs=0.01)
    assert found["F4c"].found == pytest.approx(1.83, abs=0.01)
    assert found["F4d"].found < 0.6 < found["F4e"].found == pytest.approx(0.74, abs=0.005)
    assert found["F8"].found == math.inf
    # Reading F2: with δ = 1/min n every constant from 9.05 to 9.86 has just the nine cells of Table 1.
    assert found["F2"].found == pytest.approx(300 / (4 * math.log(4_000)))
    assert "up to 9.87" in found["F2"].note
    assert found["F9"].found == pytest.approx(found["F4"].found)
    assert found["F5"].found < 0.5


def test_verdicts(found: Mapping[str, BoundedFinding]) -> None:
    by_verdict: dict[Judgement, set[str]] = {verdict: set() for verdict in Judgement}
    for key, finding in found.items():
        by_verdict[finding.judgement].add(key)
    assert by_verdict[Judgement.REFUTED] == {
        *("W2", "T8", "T9", "T14"),
        *("M3", "F9"),
    }
    assert by_verdict[Judgement.HOLDS] == {
        *("W3", "W11", "W13", "T5", "T10", "T15"),
        *("M6", "M7", "M15", "M16", "M18", "M19", "F7"),
    }
    # All but the first three have no number in the paper.
    assert by_verdict[Judgement.OPEN] == {"F3", "F4d", "M2", "W10", "W4", "F2", "F4e", "F5"}
    in_part = by_verdict[Judgement.IN_PART]
    assert in_part == {key for key, finding in found.items() if finding.only}


def test_each_sentence_of_a_paper_has_one_verdict_and_some_of_its_own_words(
    found: Mapping[str, BoundedFinding],
) -> None:
    """The table in the manual is that of the entries, to the letter; and each line of the papers' tables is judged."""
    judged = sentences(found.values())
    assert len(judged) == 43
    by_keys = {tuple(each.key for each in one.findings): one.judgement for one in judged}
    assert by_keys["F7", "F1"] is by_keys["F4", "F4b", "F4c", "F4d"] is by_keys["T3", "T3b"] is Judgement.IN_PART
    lines = (ROOT / "docs/tables/papers/sentences.csv").read_text(encoding="utf-8").splitlines()
    assert list(csv.DictReader(lines)) == sentences_as_rows(list(found.values()))
    for finding in found.values():
        assert 0 < len(finding.words.split()) <= 12, finding.key  # a phrase, and no sentence that is copied
        assert finding.place, finding.key


@pytest.mark.parametrize(
    ("entries", "verdict"),
    [
        ("hh", Judgement.HOLDS),
        ("hr", Judgement.IN_PART),
        ("hp", Judgement.IN_PART),
        ("po", Judgement.IN_PART),
        ("ho", Judgement.OPEN),
        ("ro", Judgement.REFUTED),
    ],
)
def test_a_sentence_has_the_verdict_of_all_of_its_entries(entries: str, verdict: Judgement) -> None:
    of: Mapping[str, dict[str, Any]] = {
        "h": {},
        "r": {"found": 2.0},
        "p": {"found": 2.0, "only": "here"},
        "o": {"undecided": "It is another thing."},
    }
    (sentence,) = sentences([finding(**of[entry]) for entry in entries])
    assert sentence.judgement is verdict


def test_every_command_exists(found: Mapping[str, BoundedFinding]) -> None:
    reproduce: Any = cli.commands["reproduce"]
    for finding in found.values():
        program, command, *targets = finding.command.split()
        assert program == "psephos"
        (target,) = targets
        assert target in (
            GROUPS | {"papers"} if command == "audit" else reproduce.list_commands(click.Context(reproduce))
        ), finding.key


def test_every_reading_is_explained_where_its_finding_says(found: Mapping[str, BoundedFinding]) -> None:
    for finding in found.values():
        page, _, anchor = finding.reading.partition("#")
        assert f"### {anchor.upper()}\n" in (ROOT / page).read_text(encoding="utf-8"), finding.key


def test_every_entry_says_what_is_claimed_and_what_is_true_in_sentences(found: Mapping[str, BoundedFinding]) -> None:
    for finding in found.values():
        assert finding.claim[0].isupper(), finding.key
        assert finding.claim[-1] not in ".…", finding.key
        assert finding.note[0].isupper(), finding.key
        assert finding.note.endswith("."), finding.key
        assert "claimed:" not in finding.quantity, finding.key


def test_a_sentence_is_told_once_with_all_that_judges_it(found: Mapping[str, BoundedFinding]) -> None:
    by_source = {each.to_finding.source: each for each in sentences(found[key] for key in ("F7", "F1", "F4", "F4b"))}
    assert set(by_source) == {"readings F1 and F7", "reading F4"}
    told = by_source["readings F1 and F7"].to_finding
    assert (told.judgement, told.claim) == (Judgement.IN_PART, found["F1"].to_finding.claim)
    assert told.numbers == f"{found['F7'].to_finding.numbers} {found['F1'].to_finding.numbers}"
    (alone,) = sentences([found["T3b"]])
    assert alone.to_finding == found["T3b"].to_finding


def test_a_program_is_given_the_verdict_and_the_place_of_the_reading(found: Mapping[str, BoundedFinding]) -> None:
    data = bounded_finding_to_dict(found["T3b"])
    assert (data["key"], data["judgement"], data["reading"]) == ("T3b", "holds in part", "docs/readings.md#t3")


def test_findings_fit_a_terminal(found: Mapping[str, BoundedFinding]) -> None:
    text = io.StringIO()
    show_bounded_findings(Console(file=text, width=WIDTH), list(found.values()))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "…" not in text.getvalue()
    first_words = {line.split()[0] for line in lines if line and not line.startswith(" ")}
    assert found.keys() <= first_words
    told = "holds 12, holds in part 18, does not hold 6, cannot tell 7"
    assert lines[0] == f"43 sentences of papers, by {len(found)} entries: {told}."
    assert "docs/readings.md" in text.getvalue()
    assert text.getvalue().count("\npaper ") == text.getvalue().count("\nnumbers ") == len(found)
    assert text.getvalue().count("\ncommand  psephos ") == len(found)


def finding(**given: Any) -> BoundedFinding:
    values: dict[str, Any] = {"key": "X", "paper": "P", "claim": "C", "quantity": "q", "claimed": 1.0, "found": 1.0}
    return BoundedFinding(**values | given)


@pytest.mark.parametrize(
    ("bound", "certainty", "number", "verdict"),
    [
        ("≤", Certainty.EXACT, 1.0, Judgement.HOLDS),
        ("≤", Certainty.EXACT, 1.1, Judgement.REFUTED),
        ("≤", Certainty.FOUND, 1.1, Judgement.REFUTED),
        ("≤", Certainty.FOUND, 0.9, Judgement.OPEN),
        ("≤", Certainty.PROVEN, 1.1, Judgement.OPEN),
        ("≤", Certainty.PROVEN, 0.9, Judgement.HOLDS),
        ("≤", Certainty.SAMPLED, 1.1, Judgement.REFUTED),
        ("<", Certainty.EXACT, 1.0, Judgement.REFUTED),
        ("<", Certainty.EXACT, 0.9, Judgement.HOLDS),
        (">", Certainty.EXACT, 1.0, Judgement.REFUTED),
        (">", Certainty.EXACT, 1.1, Judgement.HOLDS),
        ("≥", Certainty.SAMPLED, 0.9, Judgement.REFUTED),
        ("≥", Certainty.SAMPLED, 1.1, Judgement.OPEN),
        ("≥", Certainty.NORMAL, 1.1, Judgement.HOLDS),
        ("=", Certainty.EXACT, 0.9, Judgement.REFUTED),
        ("=", Certainty.SAMPLED, 1.1, Judgement.REFUTED),
        ("=", Certainty.SAMPLED, 0.9, Judgement.OPEN),
        ("≤", Certainty.EXACT, math.inf, Judgement.REFUTED),
    ],
)
def test_verdict_follows_from_the_numbers(bound: str, certainty: Certainty, number: float, verdict: Judgement) -> None:
    assert finding(bound=bound, certainty=certainty, found=number).judgement is verdict


def test_verdict_of_claims_without_a_number_and_with_a_domain() -> None:
    assert finding(claimed=None).judgement is Judgement.OPEN
    assert finding(claimed=None).claimed_text == "-"
    assert finding(found=2.0, only="for one answer").judgement is Judgement.IN_PART
    assert finding(claimed=math.inf, bound="=", certainty=Certainty.PROVEN).judgement is Judgement.REFUTED
    assert finding(claimed=0.2, bound="=", found=0.21, tolerance=0.05).judgement is Judgement.HOLDS
    assert finding(claimed=0.2, bound="=", found=0.27, tolerance=0.05).judgement is Judgement.REFUTED


def test_numbers_are_shown_as_the_bounds_they_are() -> None:
    assert finding(certainty=Certainty.PROVEN, found=2.0).found_text == "≤ 2"
    assert finding(certainty=Certainty.FOUND, found=math.inf).found_text == "≥ ∞"
    assert finding(certainty=Certainty.NORMAL).found_text == "≈ 1"
    assert finding(certainty=Certainty.SAMPLED, bound="≥").found_text == "≤ 1"
    assert finding(bound="=").claimed_text == "1"


def test_finding_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finding X has no number"):
        finding(found=math.nan)
