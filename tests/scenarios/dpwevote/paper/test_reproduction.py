"""DPWeVote's paper, run again: what is written, and that every verdict follows from the numbers."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.dpwevote.signed import make_report
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import UnbiasedReport
from psephos.scenarios.dpwevote.paper import PAPER
from psephos.scenarios.dpwevote.paper import runs as module
from psephos.scenarios.dpwevote.paper.claims import findings_on_dpwevote
from psephos.scenarios.dpwevote.paper.runs import EXPERIMENTS, certificate_of
from psephos.scenarios.dpwevote.paper.workloads import make_vote
from psephos.scenarios.experiments.comparing import Row
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.reproductions import page_of
from rerun_papers import (
    Change,
    Flip,
    Reproduced,
    check_flip,
    check_folder,
    check_pictures,
    finding_of,
    replace_rows,
    run_small,
    shown,
)

TABLES = ("table-3", "table-4", "figure-4", "skewed", "gaps", "facts", "power", "mechanisms", "costs")
LINE = "share of the variation that a line explains"
ALIKE = "correlation of the errors' logarithms"
BALANCE = "margin in balance, printed"
MEASURES = ("mse_w", "mse_q", "mse_phi")
PICTURES = ("figure-4", "variants", "skewed", "power", "costs")
pytestmark = pytest.mark.full("ten seconds of trials; reproductions of other papers are quick")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """A small reproduction, its folder, and what it said as it went on."""
    return run_small(PAPER, tmp_path_factory.mktemp("reproduction") / "run", trials=100, seed=3)


def test_the_folder_holds_a_csv_for_each_table_the_whole_and_the_summary(reproduced: Reproduced) -> None:
    check_folder(PAPER, reproduced, TABLES)
    assert reproduced[2][0][0] == "Table 3"


def test_every_published_cell_is_there_once(reproduction: Any) -> None:
    def place(cell: Row) -> tuple[Any, ...]:
        return cell["variant"], cell["num_partners"], cell["epsilon"]

    for table in (reproduction.table_3, reproduction.table_4):
        assert len({place(cell) for cell in table}) == len(table) == 60
    accuracies = {place(cell): cell["ours"] for cell in reproduction.table_3}
    shared = [cell for cell in reproduction.figure_4 if place(cell) in accuracies]
    assert len(shared) == 40
    assert all(cell["accuracy"] == accuracies[place(cell)] for cell in shared)


def test_figure_4_has_all_measures_that_the_reports_tell(reproduction: Any) -> None:
    for cell in (*reproduction.figure_4, *reproduction.skewed):
        measures = {"printed": MEASURES, "joint": MEASURES, "laplace": ("mse_q",), "optimal": ()}[cell["variant"]]
        assert tuple(name for name in MEASURES if cell[name] is not None) == measures
    assert {cell["num_partners"] for cell in reproduction.figure_4} == {10, 100, 500}
    epsilons = [cell["epsilon"] for cell in reproduction.figure_4]
    assert (min(epsilons), max(epsilons)) == (0.1, 5.0)


def test_what_is_not_drawn_is_right_whatever_the_seed(reproduction: Any) -> None:
    """Reading W8's second moments to three digits, the certificates, and the paper's prices."""
    found = {row["epsilon"]: row for row in reproduction.mechanisms if row["mechanism"] == "optimal, uniform prior"}
    prototypes = {0.5: 148.4, 1.0: 40.07, 2.0: 12.07, 3.0: 7.20, 5.0: 5.054}
    for epsilon, moment in prototypes.items():
        assert found[epsilon]["second_moment"] == pytest.approx(moment, rel=5e-4)
    assert all(row["gap"] is None or row["gap"] <= 1e-6 for row in reproduction.mechanisms)
    at_one = {row["mechanism"]: row for row in reproduction.mechanisms if row["epsilon"] == 1.0}
    assert at_one["optimal"]["worst_variance"] == pytest.approx(35.8, abs=0.05)
    assert at_one["two_point"]["worst_variance"] == pytest.approx(41.1, abs=0.05)
    assert at_one["joint, best split"]["second_moment"] == pytest.approx(417, abs=0.5)
    for cost in reproduction.costs:
        again = cost["variant"] == "printed, weights again"
        rounds = cost["num_candidates"] if again else 1
        paid = rounds * cost["epsilon_weight"] + cost["num_candidates"] * cost["epsilon_opinion"]
        assert paid == pytest.approx(cost["price"])
        assert (cost["worst_bias"] > 0) == cost["variant"].startswith("printed")
        (optimal,) = (
            other["worst_variance"]
            for other in reproduction.costs
            if (other["price"], other["num_candidates"], other["variant"])
            == (cost["price"], cost["num_candidates"], "optimal")
        )
        assert cost["ratio"] == cost["worst_variance"] / optimal


def test_the_bias_outweighs_from_some_number_of_partners_on(reproduction: Any) -> None:
    """At n partners of the worst pair n·Var + (n·bias)² equals n·least; one more and it is greater."""
    costs = [row for row in reproduction.costs if (row["price"], row["num_candidates"]) == (5.0, 20)]
    (cost,) = (row for row in costs if row["variant"] == "printed")
    least = min(row["worst_variance"] for row in costs if row["worst_bias"] == 0)
    lower = (least - cost["worst_variance"]) / cost["worst_bias"] ** 2
    assert lower - 1e-9 <= cost["partners_until_worse"] <= least / cost["worst_bias"] ** 2


@pytest.mark.full("seven seconds of drawing")
@pytest.mark.usefixtures("unmeasured_drawing")
def test_all_pictures_are_drawn(reproduction: Any, tmp_path: Path) -> None:
    check_pictures(EXPERIMENTS.pictures(reproduction), PICTURES, tmp_path)
    text = (tmp_path / "figure-4.svg").read_text(encoding="utf-8")
    for words in ("(a) Accuracy", "MSE_w", "MSE_q", "MSE_φ", "n = 500", "published", "100 trials a point"):
        assert words in text


def test_the_terminal_shows_everything_in_a_hundred_columns(reproduction: Any) -> None:
    text = shown(PAPER, reproduction, width=100)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    for words in (
        "Table 3, accuracy in percent: n = 10",
        "What the paper says",
        "What we add",
        "W1 to W13 are readings",
        "56.8",
        "15.83",
        "Table 4",
        "holds: ",
        "100 trials a cell, seed 3",
    ):
        assert words in text


def test_no_cell_is_cut_however_many_trials_there_are(reproduction: Any) -> None:
    """A million trials have standard errors with seven decimals."""

    def change(cell: Row) -> dict[str, Any]:
        return {"ours": Measurement(cell["ours"].value, 3e-7)}

    precise = replace_rows(replace_rows(reproduction, "table_4", change), "table_3", change)
    for width in (100, 110):
        text = shown(PAPER, precise, width=width)
        assert "…" not in text
        assert "± 0.0000003" in text


def test_the_words_of_the_tables_are_explained_where_they_are_read(reproduction: Any) -> None:
    """Readings and their prototype are known by number and by nobody else."""
    page = page_of(PAPER, reproduction)
    assert page.index("W1 to W13 are readings") < page.index("reading W2")
    assert "W8's prototype" not in page
    sheets = {sheet.caption: sheet for sheet in EXPERIMENTS.sheets(reproduction)}
    of_moments = next(sheet for title, sheet in sheets.items() if title.startswith("Second moment"))
    assert "printed is biased, the others are not" in of_moments.note
    skewed = [sheet.note for title, sheet in sheets.items() if title.startswith("Skewed")]
    assert len(skewed) == 2
    assert all("approximated by the normal law" in note and "at n = 10" in note for note in skewed)


def test_the_lower_bound_is_proven_over_all_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that claims too much is worth what its subsets prove."""
    vote = make_vote("optimal", epsilon=1.0)
    report = make_report(vote.parameters)
    assert report.certificate is not None
    false = dataclasses.replace(
        report.certificate, masses=tuple(mass - Fraction(1, 10) for mass in report.certificate.masses)
    )
    claiming = dataclasses.replace(report, certificate=false)

    def claim(_parameters: Parameters) -> UnbiasedReport:
        return claiming

    monkeypatch.setattr(module, "make_report", claim)
    bound, gap = certificate_of(vote)
    assert bound is not None
    assert bound == pytest.approx(4 * float(false.proven_bound()))
    assert 0 < bound < 4 * report.worst_variance < 4 * float(false.claimed_bound)
    assert gap == pytest.approx(4 * report.worst_variance / bound - 1)


def fact(what: str, found: float) -> Change:
    return lambda row: {"found": found} if row["what"] == what else {}


def only(variant: str, **changes: Any) -> Change:
    return lambda row: changes if row["variant"] == variant else {}


def apart(variant: str, errors: float, part: float = 0.0) -> Change:
    """Make a variant's numbers differ from the published ones: in joint standard errors, and by a part of them."""

    def change(row: Row) -> dict[str, Any]:
        value, error = row["published"].value, 1e-4 * row["published"].value
        ours = Measurement(value * (1 + part) + errors * error * math.sqrt(2), error)
        return {"ours": ours, "published": Measurement(value, error)} if row["variant"] == variant else {}

    return change


def scaled(name: str, factor: float, *, variant: str, many: bool) -> Change:
    """Multiply a measure of the largest votes."""

    def change(cell: Row) -> dict[str, Any]:
        measured: Measurement | None = cell[name]
        if cell["variant"] != variant or (cell["num_partners"] == 500) != many or measured is None:
            return {}
        return {name: Measurement(measured.value * factor, measured.standard_error)}

    return change


def as_the_prototype(errors: float) -> Change:
    """Give all mechanisms the prototype's accuracies, which are so many joint standard errors away."""

    def change(row: Row) -> dict[str, Any]:
        if row["prototype_accuracy"] is None:
            return {}
        known = Measurement(row["prototype_accuracy"].value, 1e-4)
        ours = Measurement(known.value + errors * 1e-4 * math.sqrt(2), 1e-4)
        return {"accuracy": ours, "prototype_accuracy": known}

    return change


def sure(variant: str, share: float) -> Change:
    """Make one variant's accuracies this share, nearly without error; the others a coin's."""
    return lambda row: {
        "accuracy": Measurement(share if row["variant"] == variant else 0.5, 0.001),
        # A trace of ε, since a constant has no correlation with anything.
        "normal_law": (share if row["variant"] == variant else 0.5) + 1e-9 * row["epsilon"],
    }


def grows_with_n(row: Row) -> dict[str, Any]:
    share = {10: 0.5, 100: 0.7, 500: 0.9}[row["num_partners"]]
    return {"accuracy": Measurement(share, 0.001), "normal_law": share + 1e-9 * row["epsilon"]}


def falls_with_n(row: Row) -> dict[str, Any]:
    share = {10: 0.5, 100: 0.3, 500: 0.2}[row["num_partners"]]
    return {"accuracy": Measurement(share, 0.001), "normal_law": share}


def all_measures(number: Callable[[Row], float]) -> Change:
    return lambda row: {name: Measurement(number(row), 1e-6) for name in MEASURES}


WRONG = "At ε = 2 more partners make the printed rule wrong more often"
FLIPS: Sequence[Flip] = (
    ("DPWeVote's accuracies come", "table_3", apart("printed", 1.0), apart("printed", 9.0)),
    ("The baseline's accuracies come", "table_3", apart("laplace", 1.0), apart("laplace", -3.0)),
    ("DPWeVote's MSE_q come", "table_4", apart("printed", 0.0), apart("printed", -9.0)),
    ("The baseline's MSE_q come", "table_4", apart("laplace", 0.1), apart("laplace", 0.1, part=0.1)),
    ("DPWeVote is more accurate than the Laplace baseline at", "figure_4", sure("printed", 0.7), sure("laplace", 0.7)),
    ("DPWeVote's lead over the Laplace baseline", "skewed", sure("printed", 0.9), sure("laplace", 0.9)),
    ("The published accuracies are of", "table_3", lambda _: {}, lambda _: {"decisions": 1_000}),
    (
        "The published accuracies scatter",
        "table_3",
        lambda cell: {"expected": cell["published"].value + 0.003},
        lambda cell: {"expected": cell["published"].value + 0.03},
    ),
    ("Accuracy grows linearly", "facts", fact(LINE, 0.991), fact(LINE, 0.989)),
    ("On uniform votes the number", "figure_4", sure("printed", 0.7), grows_with_n),
    (
        "With many partners, accuracy on uniform votes is ½",
        "figure_4",
        lambda cell: {"normal_law": cell["accuracy"].value},
        lambda cell: {"normal_law": cell["accuracy"].value + 0.05},
    ),
    (
        "More partners make all three",
        "figure_4",
        all_measures(lambda cell: 1 / cell["epsilon"] / cell["num_partners"]),
        scaled("mse_w", 1e4, variant="printed", many=True),
    ),
    (
        "The differences between numbers",
        "gaps",
        all_measures(lambda row: 1 / row["epsilon"]),
        all_measures(lambda row: row["epsilon"]),
    ),
    ("MSE_q and MSE_φ vary alike", "facts", fact(ALIKE, 0.991), fact(ALIKE, 0.989)),
    (f"{WRONG}, where all", "skewed", falls_with_n, grows_with_n),
    (f"{WRONG}, where nine", "skewed", falls_with_n, sure("printed", 0.2)),
    ("There the consistent rule", "skewed", sure("joint", 0.7), sure("printed", 0.7)),
    ("On the paper's own data the biased", "figure_4", sure("printed", 0.7), sure("joint", 0.7)),
    ("Where all weights are 3, the printed rule rejects", "facts", fact(BALANCE, 0.1), fact(BALANCE, 0.01)),
    (
        "The optimal mechanism has the second",
        "mechanisms",
        lambda _: {},
        lambda row: {"second_moment": 1.002 * row["second_moment"]},
    ),
    ("Its accuracies", "mechanisms", as_the_prototype(0.5), as_the_prototype(-9.0)),
    ("No unbiased mechanism", "mechanisms", lambda _: {}, lambda row: {"gap": None if row["gap"] is None else 1e-3}),
    ("One report of the signed", "costs", lambda _: {}, only("joint", worst_variance=1e-12)),
    (
        "With 500 partners",
        "costs",
        only("printed", partners_until_worse=499.0),
        only("printed", partners_until_worse=501.0),
    ),
)


@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip[0])
def test_a_verdict_follows_the_numbers(reproduction: Any, flip: Flip) -> None:
    check_flip(flip, reproduction, functools.partial(finding_of, EXPERIMENTS, claim=flip[0]), None)


def test_every_finding_can_flip(reproduction: Any) -> None:
    claims = [finding.claim for findings in reproduction.findings.values() for finding in findings]
    judged = [claim for claim in claims if any(claim.startswith(flip[0]) for flip in FLIPS)]
    assert len(judged) == len(FLIPS)
    laws = [finding.to_finding.claim for finding in findings_on_dpwevote()]
    assert [claim for claim in claims if claim not in judged] == laws


def test_the_numbers_of_a_verdict_say_where_they_are(reproduction: Any) -> None:
    changed = replace_rows(reproduction, "figure_4", sure("printed", 0.7))
    numbers = finding_of(EXPERIMENTS, changed, "DPWeVote is more accurate").numbers
    assert numbers.startswith("By the law the difference is +0.2000 at least. It is so in 54 of 54. ")
    assert numbers.endswith("The difference is +0.2 (n = 10, ε = 0.1), +141.4 to +141.4 standard errors.")
    optimal = finding_of(EXPERIMENTS, reproduction, "With 500 partners").numbers
    assert "The number is 0 (price = 2, k = 1) to 243.5 (price = 2, k = 20), beside 500." in optimal


def again(path: Path, *, settings: Sequence[str] = (), only: Sequence[str] = ()) -> Any:
    return run_small(PAPER, path, trials=100, settings=settings, only=only)[0]


def test_a_table_is_made_with_those_that_it_is_made_of(tmp_path: Path) -> None:
    found = again(
        tmp_path / "run", settings=["figure_4.partners=[10, 20]", "figure_4.epsilons=[1.0, 2.0]"], only=["gaps"]
    )
    assert {path.stem for path in (tmp_path / "run").glob("*.csv")} == {"claims", "gaps", "figure-4"}
    assert [row["epsilon"] for row in found.gaps] == [1.0, 2.0]
    assert {row["num_partners"] for row in found.figure_4} == {10, 20}
    assert not found.table_3
    page = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert "--set figure_4.partners=[10, 20], --set figure_4.epsilons=[1.0, 2.0], --table gaps." in page
    assert "Accuracy grows linearly" not in page
    assert "come out as published" not in page
    kept = msgspec.json.decode((tmp_path / "run" / "reproduction.json").read_bytes())
    assert (kept["settings"][0], kept["only"]) == ("figure_4.partners=[10, 20]", ["gaps"])


@pytest.mark.parametrize(
    ("settings", "only", "words"),
    [
        ([], ["cost"], "--table 'cost' is unknown: did you mean 'costs'"),
        (["figure_4.partner=[10]"], [], "--set 'figure_4.partner' is unknown: did you mean 'figure_4.partners'"),
        (["figure_4=3"], [], "--set is 'figure_4': use one of"),
        (["figure_4.partners=3"], [], "figure_4.partners is 3: use a list"),
        (["figure_4.epsilons=[0]"], [], "figure_4.epsilons is .0.: use a number >= 0.001"),
    ],
)
def test_what_the_paper_does_not_have_is_refused(
    tmp_path: Path, settings: Sequence[str], only: Sequence[str], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        again(tmp_path / "run", settings=settings, only=only)


def test_progress_comes_to_its_end_and_never_goes_back(tmp_path: Path) -> None:
    settings = ["skewed.epsilons=[1.0]", "skewed.partners=[10]"]
    *_, told = run_small(PAPER, tmp_path / "run", trials=100, settings=settings, only=["skewed", "mechanisms"])
    assert [each for each in told if each[1] in {0, 1}] == [
        ("skewed votes", 0, 8),
        ("skewed votes", 1.0, 8),
        ("better mechanisms", 1, 8),
    ]
    done = [each[1] for each in told]
    assert done == sorted(done)
    assert done[-1] == 2.0


def test_rows_are_not_compared_with_themselves(tmp_path: Path) -> None:
    """Of 10 and 100 partners only 10 have more beside them: then nothing is said, rather than of 100 against 100."""
    again(tmp_path / "run", settings=["figure_4.partners=[10, 100]", "figure_4.epsilons=[1.0, 2.0]"], only=["figure-4"])
    page = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    assert "DPWeVote is more accurate than the Laplace baseline" in page
    assert "More partners make all three" not in page


def test_what_was_made_before_it_was_stopped_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "chance_of_passing", stop)
    with pytest.raises(KeyboardInterrupt):
        again(tmp_path / "run", only=["power", "costs", "table-3"], settings=["power.variants=['joint']"])
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"table-3.csv"}
