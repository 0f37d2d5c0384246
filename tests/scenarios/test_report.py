"""What a terminal shows: every number that a reader decides by, and plain text where nobody watches."""

import io
import re
from typing import Any

import msgspec
import pytest
from psephos.protocol import Phase, SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters, make_offers
from psephos.protocol.effects import Closed
from psephos.protocol.estimators import Estimate
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios import simulate
from psephos.scenarios.report import (
    make_console,
    show_heading,
    show_ledger,
    show_outcome,
    show_phase,
    show_privacy,
    show_scenarios,
    show_variants,
)
from rich.console import Console
from strategies import told

PARTIES = {f"p{n}": (1 + n % 3, n % 2, int(n % 5 > 0)) for n in range(60)}
TRUTH = {"rail": 60.0, "[fish]": 96.0, "total weight": 120.0, "quota": 60.0}


def vote(**options: Any) -> DPWeVote:
    """Return a vote on two candidates."""
    return DPWeVote(Parameters(candidates=("rail", "[fish]"), **options))


def outcome(**options: Any) -> Outcome:
    """Return what that vote released."""
    return simulate(vote(**options), PARTIES, seed=8)


ESTIMATE = re.compile(r"([+−-]?[\d,.]+) ± ([\d,.]+)")


def is_shown(estimate: Estimate, numbers: tuple[str, str]) -> bool:
    """Whether two numbers on a page are an estimate and its error, rounded for readers."""
    value, error = (float(number.replace(",", "").replace("−", "-")) for number in numbers)
    return abs(value - estimate.value) <= 0.51 and abs(error - estimate.standard_error) <= 0.51


class Page:
    """A console that writes plain text, and what it wrote."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        self.console = Console(file=self._file, width=120, highlight=False)

    @property
    def text(self) -> str:
        """What was written so far."""
        return self._file.getvalue()


def test_a_console_into_a_pipe_is_plain_and_wide(capsys: pytest.CaptureFixture[str]) -> None:
    console = make_console()
    console.print("[bold red]word[/] :smile:", style="bold")
    assert capsys.readouterr().out == "[bold red]word[/] :smile:\n"
    assert console.width == 110
    make_console(stderr=True).print("to the other stream")
    assert capsys.readouterr().err == "to the other stream\n"


def test_a_heading_says_who_trusts_whom() -> None:
    page = Page()
    facts = ["27 partners", "protocol dpwevote"]
    show_heading(page.console, title="A [vote]", facts=facts, description="Made\nup.", trust="  Nobody\nis trusted.")
    assert "A [vote]" in page.text
    assert "27 partners · protocol dpwevote" in page.text
    assert "Made up." in page.text
    assert "Trust: Nobody is trusted." in page.text


def test_a_heading_leaves_out_what_is_not_said() -> None:
    page = Page()
    show_heading(page.console, title="A vote", facts=["one"], description="", trust=" ")
    assert page.text.split() == ["A", "vote", "one"]


def test_a_phase_says_how_many_came_and_what_it_publishes() -> None:
    page = Page()
    show_phase(page.console, Closed("join", 60, 0, None), num_parties=60)
    show_phase(page.console, Closed("opinions", 1200, 40, None), num_parties=1240)
    joined, reported = page.text.splitlines()
    assert joined.split() == ["join", "60", "joined"]
    assert reported.split() == ["opinions", "1,200", "of", "1,240", "reported"]


def test_a_weights_phase_shows_the_quota_that_it_publishes() -> None:
    ballot = vote()
    columns = zip(*PARTIES.values(), strict=True)
    table: dict[str, Entries] = dict(zip(("weight", "rail", "[fish]"), map(list, columns), strict=True))
    lines: list[str] = []

    def show(phase: Phase, tally: Tally, published: msgspec.Struct | None) -> None:
        page = Page()
        show_phase(page.console, Closed(phase.name, tally.num_reports, 0, published), num_parties=60)
        lines.append(page.text)

    run_population(ballot, ballot.encode(table), noise=SimulatedNoise(8, session="s"), on_phase=show)
    assert "quota" in lines[0]
    assert ESTIMATE.search(lines[0])
    assert "quota" not in lines[1]


def test_an_outcome_shows_decision_estimates_errors_and_risk() -> None:
    page = Page()
    released = outcome()
    show_outcome(page.console, released, truth=None)
    for candidate in released.candidates:
        (line,) = [line for line in page.text.splitlines() if line.startswith(candidate.name)]
        assert ("passes" if candidate.passed else "fails") in line
        for estimate in (told(candidate.support), told(candidate.quota), candidate.margin):
            assert any(is_shown(estimate, numbers) for numbers in ESTIMATE.findall(line)), line
        assert f"{100 * candidate.error_probability:.2f} %" in line
    assert "True margin" not in page.text
    assert "Weight" in page.text
    assert "possible" not in page.text


def test_the_truth_stands_beside_the_estimates_where_it_may_be_shown() -> None:
    page = Page()
    show_outcome(page.console, outcome(), truth=TRUTH)
    assert "True margin" in page.text
    (line,) = [line for line in page.text.splitlines() if line.startswith("[fish]")]
    assert line.split()[-1] == "+36"


def test_what_is_biased_and_what_was_projected_is_said() -> None:
    page = Page()
    show_outcome(page.console, outcome(variant="printed", project_counts=True), truth=None)
    assert "the printed margin is off by" in page.text
    assert "(nearest possible " in page.text


def test_weights_that_differ_inside_a_group_are_said_to() -> None:
    page = Page()
    show_outcome(page.console, outcome(groups=((1.0, 2.0), (3.0,))), truth=None)
    assert re.search(r"move a margin by up to 15\b", page.text)


def test_a_quota_without_an_error_has_none() -> None:
    page = Page()
    released = outcome(public_weights=True, quota=70.0)
    show_outcome(page.console, released, truth=None)
    assert all(" 70 " in line for line in page.text.splitlines() if line.startswith(("rail", "[fish]")))


def test_large_numbers_have_no_decimals_and_small_risks_a_bound() -> None:
    page = Page()
    many = {f"p{n}": (3, 1, 1) for n in range(3000)}
    show_outcome(page.console, simulate(vote(epsilon=8.0), many, seed=8), truth=None)
    (line,) = [line for line in page.text.splitlines() if line.startswith("rail")]
    assert "< 0.01 %" in line
    assert "." not in line.replace("< 0.01 %", "")


class Answer(msgspec.Struct):
    """What some other protocol releases."""

    mean: float
    name: str


def test_another_protocols_outcome_is_a_table_of_its_fields() -> None:
    page = Page()
    show_outcome(page.console, Answer(1234.5, "plain"), truth={"mean": 1200.0})
    assert ["mean", "1,234.5"] in [line.split() for line in page.text.splitlines()]
    assert "mean (true)" in page.text


def test_the_price_is_shown_by_phase_and_in_all() -> None:
    page = Page()
    show_privacy(page.console, vote(epsilon=2.0))
    lines = [line.split() for line in page.text.splitlines()]
    assert ["weights", "k-RR", "weight", "1", "1", "1"] in lines
    assert ["opinions", "randomized", "response", "opinion", "2", "2", "2"] in lines
    assert ["in", "all", "3", "3", "3"] in lines
    assert "replace-one neighbors, local model" in page.text


def entries(num_persons: int = 1) -> list[LedgerEntry]:
    """Return the ledger of two partners, or of arrays."""
    ballot = vote()
    persons = ["ann", "bob"] if num_persons == 1 else [f"each of {num_persons} partners"]
    return [
        LedgerEntry.of(loss, person=person, session="s", phase=phase.name, num_persons=num_persons)
        for person in persons
        for phase in ballot.phases
        for loss in phase.losses
    ]


def test_a_ledger_is_shown_by_phase_with_what_each_paid_at_most() -> None:
    page = Page()
    show_ledger(page.console, entries(), party=None, delta=None)
    lines = [line.split() for line in page.text.splitlines()]
    assert ["weights", "k-RR", "weight", "2", "0.5", "0.5"] in lines
    assert ["opinions", "randomized", "response", "opinion", "2", "1", "1"] in lines
    assert "each of 2 at most: ε proven = 1.5" in page.text
    assert "parallel composition" in page.text
    assert "session s\n" in page.text
    assert page.text.count("replace-one neighbors, local model") == 1
    assert "δ" not in page.text


def test_a_ledger_of_one_party_is_that_partys() -> None:
    page = Page()
    show_ledger(page.console, entries(), party="bob", delta=1e-6)
    assert "bob in all: ε proven = 1.5, or ε = 1.5 at δ = 1e-06" in page.text
    assert "parallel" not in page.text


def test_a_ledger_of_arrays_counts_everybody() -> None:
    page = Page()
    show_ledger(page.console, entries(num_persons=5000), party=None, delta=0.3)
    assert "each of 5,000 at most: ε proven = 1.5, or ε = " in page.text
    tighter = float(page.text.partition("or ε = ")[2].split()[0])
    assert 0 < tighter < 1.5


def test_scenarios_are_listed_with_what_they_decide() -> None:
    page = Page()
    show_scenarios(page.console, [("council", "dpwevote", "A vote"), ("survey", "mean", "Salaries")])
    assert ["survey", "mean", "Salaries"] in [line.split() for line in page.text.splitlines()]


def test_long_names_give_way_to_the_numbers() -> None:
    page = Page()
    name = "a candidate whose name goes on " * 4
    ballot = DPWeVote(Parameters(candidates=(name.strip(),)))
    parties = {f"p{n}": (1 + n % 3, n % 2) for n in range(60)}
    released = simulate(ballot, parties, seed=8)
    show_outcome(page.console, released, truth=None)
    (candidate,) = released.candidates
    numbers = ESTIMATE.findall(page.text)
    assert all(any(is_shown(each, pair) for pair in numbers) for each in (told(candidate.support), candidate.margin))
    assert "…" not in page.text
    assert page.text.count("goes on") == 4


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_words(width: int) -> None:
    page = Page()
    page.console.width = width
    show_outcome(page.console, outcome(), truth=TRUTH)
    show_privacy(page.console, vote())
    show_ledger(page.console, entries(), party=None, delta=None)
    assert {"Candidate", "Decision", "Margin", "Mechanism", "randomized", "response"} <= set(page.text.split())
    assert "True margin" not in page.text
    assert "…" not in page.text
    assert max(map(len, page.text.splitlines())) <= width


def test_a_vote_that_tells_the_margin_alone_has_no_column_for_support_and_quota() -> None:
    page, released = Page(), outcome(variant="optimal")
    show_outcome(page.console, released, truth=TRUTH)
    header = next(line for line in page.text.splitlines() if line.startswith("Candidate"))
    assert header.split() == ["Candidate", "Decision", "Margin", "P(wrong)", "True", "margin"]
    margins = ESTIMATE.findall(page.text)
    assert all(is_shown(candidate.margin, shown) for candidate, shown in zip(released.candidates, margins, strict=True))


def test_variants_are_compared_at_one_price_and_the_best_is_bold() -> None:
    console = Console(file=io.StringIO(), width=120, highlight=False, force_terminal=True, color_system="standard")
    parameters = vote(epsilon=1.5).parameters
    show_variants(console, parameters, num_partners=400)
    assert isinstance(console.file, io.StringIO)
    lines = {line.split()[0]: line for line in console.file.getvalue().splitlines() if line.strip()}
    offers = {offer.variant: offer for offer in make_offers(parameters)}
    bold = [name for name, line in lines.items() if line.startswith("\x1b[1;32m")]
    assert len(bold) == 1
    assert "optimal" in bold[0]
    for name in ("two_point", "signed_rr"):
        *_, epsilon, total, variance, error = lines[name].split()
        assert (float(epsilon), float(total)) == (1.5, 3.0)  # two candidates
        assert float(variance) == pytest.approx(offers[name].worst_variance, rel=1e-4)
        assert float(error.replace(",", "")) == pytest.approx((400 * offers[name].worst_variance) ** 0.5, rel=1e-3)
