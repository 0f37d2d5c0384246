"""Extreme reports against any protocol: the shift by hand, and what is searched."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from psephos.protocol import ConfigurationError, SimulatedNoise, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.phases import Phase
from psephos.protocol.population import draw_reports
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.adversaries import SessionTrace
from psephos.scenarios.adversaries.poisoner import PoisonerRole
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.attacks.extreme_reports import ExtremeReports
from psephos.scenarios.outcomes import estimates_in
from strangers import Approvals, Ballot, BoundedMean, Bounds, Candidate, Elected, Sums, register

NOISE = SimulatedNoise(5, session="tea")
EPSILON = math.log(3)  # p = 3/4: a count moves by 1/(p − q) = 2 for each report that is turned
SIGNAL = 0.5
NUMBER = 30
MEMBERS = np.array([0, 3, 4], dtype=np.int64)


def session_of(vote: Approvals, **given: Any) -> ExtremeReports:
    entries = {name: [place % 2 for place in range(NUMBER)] for name in vote.parameters.candidates}
    return ExtremeReports(vote, vote.encode(entries), NOISE, **given)


def drawn_in(session: ExtremeReports) -> IntArray:
    (phase,) = session.protocol.phases
    return draw_reports(phase, session.inputs, noise=NOISE, protocol=session.protocol.name, start=0)


@pytest.mark.parametrize(("sign", "wanted"), [(1, 1), (-1, 0)])
@pytest.mark.parametrize("aim", ["tea", "coffee"])
def test_approvals_are_all_pushed_one_way_and_move_by_two_for_each_that_is_turned(
    sign: int, wanted: int, aim: str
) -> None:
    session = session_of(Approvals(Ballot(epsilon=EPSILON)), aim=aim, sign=sign)
    drawn, (chosen,) = drawn_in(session), session.reports(MEMBERS)
    column = ["tea", "coffee"].index(aim)
    assert chosen[MEMBERS, column].tolist() == [wanted] * 3
    expected = drawn.copy()
    expected[MEMBERS, column] = wanted
    assert np.array_equal(chosen, expected)  # and nothing else is changed
    turned = int(np.count_nonzero(drawn[MEMBERS, column] != wanted))
    assert turned > 0
    before, after = session.estimates(), session.estimates(session.reports(MEMBERS))
    assert after[aim].value - before[aim].value == pytest.approx(sign * turned / SIGNAL)


def test_a_mean_moves_by_the_end_of_the_range_of_reports() -> None:
    mean = BoundedMean(Bounds(epsilon=1.0))
    inputs = mean.encode({"value": [50.0] * NUMBER})
    session = ExtremeReports(mean, inputs, NOISE)
    (phase,) = mean.phases
    drawn = draw_reports(phase, inputs, noise=NOISE, protocol=mean.name, start=0)
    greatest = mean.mechanism.report_range[1]
    moved = mean.step * int((greatest - drawn[MEMBERS]).sum()) / NUMBER
    before, after = session.estimates(), session.estimates(session.reports(MEMBERS))
    assert (session.name_of_aim, list(before)) == ("mean", ["mean"])
    assert after["mean"].value - before["mean"].value == pytest.approx(moved)


class Picked(Approvals):
    """Whose voters may report one approval, and of which tea's counts heavily against coffee."""

    name: ClassVar[str] = "picked"

    def make_phases(self) -> Any:
        """Return a phase that refuses two approvals."""
        (phase,) = super().make_phases()

        class OfOne(Sums):
            def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
                del public
                if sum(report) > 1:
                    raise ValueError("two approvals")

        yield OfOne(phase.name, columns=range(2), mechanism=phase.mechanism, losses=phase.losses)

    def outcome(self, tallies: Sequence[Tally]) -> Elected:
        """Return the two counts, the second one minus a hundred times the first."""
        tea, coffee = tallies[0].totals.tolist()
        return Elected((Candidate("tea", Estimate(tea, 1)), Candidate("coffee", Estimate(coffee - 100 * tea, 0))))


def test_refused_reports_are_not_sent_and_beginnings_at_the_ends_are_tried() -> None:
    vote = Picked(Ballot(epsilon=4.0))
    inputs = vote.encode({"tea": [0, 1, 0, 0], "coffee": [1, 0, 0, 0]})
    places = np.array([1], dtype=np.int64)
    (chosen,) = ExtremeReports(vote, inputs, NOISE, "coffee").reports(places)
    assert chosen[1].tolist() == [0, 1]


def test_reports_of_which_no_outcome_is_computed_are_not_sent() -> None:
    class Rooted(Approvals):
        def outcome(self, tallies: Sequence[Tally]) -> Elected:
            tea, coffee = tallies[0].totals.tolist()
            if coffee > limit:
                raise ValueError("math domain error")
            return Elected((Candidate("tea", Estimate(tea + coffee, 1)), Candidate("none", Estimate(math.nan, 1))))

    limit = NUMBER
    vote = Rooted(Ballot(epsilon=EPSILON))
    limit = int(drawn_in(session_of(vote))[:, 1].sum())
    session = session_of(vote)
    drawn, (chosen,) = drawn_in(session), session.reports(MEMBERS)
    assert chosen[MEMBERS, 0].tolist() == [1, 1, 1]
    assert chosen[:, 1].sum() <= limit
    assert session.value_with(MEMBERS) == chosen.sum() > drawn.sum()
    assert math.isnan(session_of(vote, aim="none").value_with(MEMBERS))
    limit = -1
    assert math.isnan(session.value_with(MEMBERS))


def test_of_several_kinds_whose_reports_break_the_outcome_together_the_lesson_says_so() -> None:
    class Fragile(Approvals):
        def outcome(self, tallies: Sequence[Tally]) -> Elected:
            tea = int(tallies[0].totals[0])
            return Elected((Candidate("tea", Estimate(tea / (tea < limit), 1)),))

    limit = NUMBER
    vote = Fragile(Ballot(epsilon=EPSILON))
    drawn = drawn_in(session_of(vote))[:, 0]
    zeros: list[int] = np.flatnonzero(drawn == 0)[:2].tolist()
    limit = int(drawn.sum()) + 2
    inputs = session_of(vote).inputs
    public = np.arange(NUMBER, dtype=np.int64)[:, None]
    names = [f"v{place}" for place in range(NUMBER)]
    context = AttackContext(vote, names, type(inputs)(inputs.private, public), session="tea", seed=5)
    rows, _ = PoisonerRole(members=(names[zeros[0]],)).shifts(context, SessionTrace())
    assert len(rows) == 1
    rows, (said,) = PoisonerRole(members=tuple(names[place] for place in zeros)).shifts(context, SessionTrace())
    assert rows == []
    assert said == "Of their reports together the protocol computes no outcome: they end the session."


class Silent(Approvals):
    """Which releases no estimate."""

    name: ClassVar[str] = "silent"

    def outcome(self, tallies: Sequence[Tally]) -> Elected:
        """Release nothing."""
        del tallies
        return Elected(())


def test_what_cannot_be_pushed_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"protocol (is|are) .*one whose outcome has estimates") as caught:
        session_of(Silent(Ballot()))
    assert caught.value.value == "silent"
    with pytest.raises(ConfigurationError, match="aim is 'milk': use one of tea, coffee"):
        session_of(Approvals(Ballot()), aim="milk")


VOTERS = "\n".join(f"[[voters]]\nvoter = 'v{n}'\ntea = {n % 2}\ncoffee = {n % 2}" for n in range(NUMBER))
SCENARIO = f"protocol = 'approvals'\nseed = 5\nsynthetic = true\n[parameters]\nepsilon = {EPSILON!r}\n{VOTERS}\n"
POISONER = {"role": "poisoner", "members": ["v0", "v3", "v4"], "aim": "coffee", "direction": "down"}


@pytest.fixture
def tea(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[str, str], Path]) -> Path:
    register(tmp_path / "site", monkeypatch, Approvals, Silent)
    return write("tea.toml", SCENARIO)


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_agents_release_what_the_lesson_says(tmp_path: Path, tea: Path, transport: str) -> None:
    scenario = load_scenario(str(tea), [f"transport={transport}"])
    resolved = resolve(msgspec.structs.replace(scenario, adversary=[POISONER]))
    finished = run_in_folder(resolved, RunFolder(tmp_path / "run"), pictures=False)
    session = session_of(Approvals(Ballot(epsilon=EPSILON)), aim="coffee", sign=-1)
    turned = int(drawn_in(session)[MEMBERS, 1].sum())
    (attack_report,) = finished.attack_reports
    tea_row, coffee_row = attack_report.rows
    assert estimates_in(finished.record.outcome)["coffee"].value == pytest.approx(float(coffee_row["with them"]))
    # Of 30 reports with p = 3/4 a count has the standard error √(30·3/16)/½.
    error = math.sqrt(NUMBER * 3 / 16) / SIGNAL
    assert coffee_row["shift"] == pytest.approx(-2 * turned)
    assert coffee_row["in standard errors"] == pytest.approx(-2 * turned / error)
    assert tea_row["shift"] == 0
    assert f"a shift of {-2 * turned:.4g}, {2 * turned / error:.1f} standard errors" in attack_report.sentences[1]
    assert "between pushed down and up their reports move it by 6." in attack_report.sentences[1]  # 2 for each of them
    assert "nothing is proven" in attack_report.sentences[2]


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ("{role='poisoner', members=['v0'], aim='milk'}", "adversary 1: aim is 'milk': use one of tea, coffee"),
        ("{role='sybils', members=['v0'], aim='milk'}", "adversary 1: aim is 'milk': use one of tea, coffee"),
    ],
)
def test_what_the_role_cannot_do_is_refused_in_a_line(
    tea: Path, psephos: Callable[..., Any], table: str, error: str
) -> None:
    assert error in psephos("run", tea, "--set", f"adversary=[{table}]", "--out", "out").refusal
    assert not Path("out").exists()


@pytest.mark.full("a picture more")
def test_a_run_on_the_command_line_has_its_table_and_its_picture(tea: Path, psephos: Callable[..., Any]) -> None:
    table = "{role='poisoner', members=['v0', 'v3', 'v4']}"
    ended = psephos("run", tea, "--set", f"adversary=[{table}]", "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    assert "They push the estimate 'tea' up." in " ".join(ended.out.split())
    assert Path("out/adversary-1.csv").read_text(encoding="utf-8").startswith("estimate,without them,standard error,")


def test_each_kind_of_public_row_has_its_own_reports() -> None:
    class Weighted(Sums):
        def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
            del earlier
            return Tally(len(reports), (reports * public).sum(axis=0, dtype=np.int64))

    class WeightedVote(Approvals):
        def make_phases(self) -> Any:
            phase: Phase
            (phase,) = super().make_phases()
            yield Weighted(phase.name, columns=range(2), mechanism=phase.mechanism, losses=phase.losses)

    vote = WeightedVote(Ballot(epsilon=EPSILON))
    inputs = vote.encode({"tea": [0] * 4, "coffee": [1] * 4})
    signs = np.array([[1], [-1], [1], [-1]], dtype=np.int64)
    session = ExtremeReports(vote, type(inputs)(inputs.private, signs), NOISE)
    (chosen,) = session.reports(np.arange(4))
    assert chosen[:, 0].tolist() == [1, 0, 1, 0]
