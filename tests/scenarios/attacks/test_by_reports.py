"""A coalition with the server against any protocol: Bayes by hand, the same on every path, refusals."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from helpers import make_inputs, make_vote
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, SimulatedNoise
from psephos.protocol.mechanisms import RowMechanism, VectorLaplace
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.adversaries import AttackReport
from psephos.scenarios.attacks import (
    NO_CANDIDATE,
    Coalition,
    CoalitionView,
    ReportAttack,
    evaluate,
    find_attack,
    view_by_arrays,
    view_by_server,
)
from strangers import Approvals, Ballot, BoundedMean, Bounds, Lawless, TrustedSums, register

ROW = "row"
COALITION = {"role": "coalition", "members": ["server"]}
VOTERS = [{"voter": f"v{n}", "tea": n % 2, "coffee": int(n < 2)} for n in range(5)]
SERVER = Coalition((), has_server=True)


def seen_of(protocol: Any, reports: list[list[int]]) -> CoalitionView:
    """Return what a server sees to which these reports come."""
    return CoalitionView(
        protocol=protocol,
        coalition=SERVER,
        rows=np.empty((0, len(reports[0])), dtype=np.int64),
        public=np.empty((len(reports), 0), dtype=np.int64),
        reports=(np.array(reports, dtype=np.int64),),
        told=(np.ones(len(reports), dtype=np.bool_),),
    )


def test_a_posterior_of_approvals_is_bayes_rule_by_hand() -> None:
    vote = Approvals(Ballot(epsilon=math.log(3)))  # p = 3/4
    attack = find_attack(vote)
    assert isinstance(attack, ReportAttack)
    found = attack.posteriors([seen_of(vote, [[1, 0]])], np.array([0]), secret=ROW)
    assert found.labels == ("tea 0, coffee 0", "tea 0, coffee 1", "tea 1, coffee 0", "tea 1, coffee 1")
    # Of four equally likely ballots each gives (1, 0) with 3/4 or 1/4 for each approval.
    assert found.probabilities[0] == pytest.approx([3 / 16, 1 / 16, 9 / 16, 3 / 16], rel=1e-12)
    assert found.log_odds_ratios[0] == pytest.approx(2 * math.log(3), rel=1e-12)
    assert attack.loss(ROW, np.empty((1, 0), dtype=np.int64), np.array([0]), SERVER) == pytest.approx(math.log(9))


def test_a_posterior_of_the_bounds_is_bayes_rule_by_hand() -> None:
    mean = BoundedMean(Bounds(epsilon=2.0))
    found = find_attack(mean).posteriors(
        [seen_of(mean, [[round(25 / mean.step)], [-10_000]])], np.array([0, 1]), secret=ROW
    )
    assert found.labels == ("0", "100")
    # Laplace noise of scale 100/2: 25 is 25 away from 0, and 75 from 100; what is below both is e^2 apart.
    assert found.probabilities[0, 0] == pytest.approx(1 / (1 + math.exp(-2 * (75 - 25) / 100)), abs=1e-3)
    assert found.probabilities[1, 0] == pytest.approx(1 / (1 + math.exp(-2)), rel=1e-9)
    assert found.log_odds_ratios[1] == pytest.approx(2, rel=1e-9)


def test_a_row_that_is_no_candidate_is_never_guessed() -> None:
    mean = BoundedMean(Bounds())
    inputs = mean.encode({"value": [0.0, 40.0, 100.0]})
    attack = find_attack(mean).against(inputs)
    assert attack.truths(ROW, inputs).tolist() == [0, NO_CANDIDATE, 1]
    seen = view_by_server(mean, inputs, noise=SimulatedNoise(1, session="s"))
    found = attack.posteriors([seen], np.arange(3), secret=ROW)
    assert evaluate(found, attack.truths(ROW, inputs)).success <= 2 / 3


class WithAge(Approvals):
    """Whose voters have an age too, at which no phase looks."""

    def columns(self) -> tuple[Column, ...]:
        """Return a column for each candidate, and the age's."""
        return (*super().columns(), Column("age", private=True, description="0 or 1"))

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Read approvals and ages."""
        inputs = super().encode(table)
        return Inputs(np.column_stack([inputs.private, np.array(table["age"])]), inputs.public)

    def possible_entries(self) -> Mapping[str, Entries] | None:
        """Return two ballots, at two ages each."""
        return {"tea": [0, 0, 1, 1], "coffee": [0, 0, 0, 0], "age": [0, 1, 0, 1]}


def test_a_row_is_itself_among_candidates_that_no_phase_tells_apart() -> None:
    vote = WithAge(Ballot())
    inputs = vote.encode(vote.possible_entries() or {})
    assert find_attack(vote).truths(ROW, inputs).tolist() == [0, 1, 2, 3]
    older = Inputs(inputs.private + np.array([0, 0, 5]), inputs.public)
    assert find_attack(vote).truths(ROW, older).tolist() == [0, 0, 2, 2]


def lesson_of(
    tmp_path: Path, path: Path, transport: str, *settings: str, table: Mapping[str, Any] = COALITION
) -> AttackReport:
    scenario = load_scenario(str(path), [f"transport={transport}", *settings])
    resolved = resolve(msgspec.structs.replace(scenario, adversary=[dict(table)]))
    finished = run_in_folder(resolved, RunFolder(tmp_path / f"run-{transport}"), pictures=False)
    (attack_report,) = finished.attack_reports
    return attack_report


@pytest.fixture
def tea(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[str, str], Path]) -> Path:
    """The scenario of an approval vote of somebody else's."""
    register(tmp_path / "site", monkeypatch, Approvals, BoundedMean)
    lines = "\n".join(
        f'[[voters]]\nvoter = "{own["voter"]}"\ntea = {own["tea"]}\ncoffee = {own["coffee"]}' for own in VOTERS
    )
    return write(
        "tea.toml", f"protocol = 'approvals'\nseed = 5\nsynthetic = true\n[parameters]\nepsilon = 1.0\n{lines}\n"
    )


def test_a_lesson_is_the_same_on_arrays_over_memory_and_over_tcp(tmp_path: Path, tea: Path) -> None:
    arrays, memory, tcp = (lesson_of(tmp_path, tea, transport) for transport in ("array", "memory", "tcp"))
    assert arrays == memory == tcp
    # p = e/(e + 1) for each of two approvals: right in p², guessing in 1/4.
    right = (math.e / (1 + math.e)) ** 2
    said = f"It guesses the row right {100 * right:.1f} % of the time (exact); blind guessing: 25.0 %."
    assert arrays.sentences[0] == said
    assert f"advantage of {(right - 0.25) / 0.75:.3f}" in arrays.sentences[1]
    assert "the proven bound is e^2." in arrays.sentences[2]
    assert [row["truth"] for row in arrays.rows][:2] == ["tea 0, coffee 1", "tea 1, coffee 1"]
    vote = Approvals(Ballot(epsilon=1.0))
    inputs = vote.encode({name: [own[name] for own in VOTERS] for name in ("tea", "coffee")})
    seen = view_by_arrays(vote, inputs, noise=SimulatedNoise(5, session="tea"), coalition=SERVER)
    reports: list[list[int]] = seen.reports[0].tolist()
    assert [row["guess"] for row in arrays.rows] == [f"tea {tea}, coffee {coffee}" for tea, coffee in reports]
    assert [row["probability"] for row in arrays.rows] == pytest.approx([right] * 5)


def test_values_between_the_candidates_are_none_of_these(tmp_path: Path, tea: Path) -> None:
    del tea
    path = tmp_path / "mean.toml"
    voters = "\n".join(f'[[voters]]\nvoter = "v{n}"\nvalue = {20 * n}' for n in range(4))
    path.write_text(f"protocol = 'bounded-mean'\nseed = 5\nsynthetic = true\n{voters}\n", encoding="utf-8")
    attack_report = lesson_of(tmp_path, path, "array")
    assert [row["truth"] for row in attack_report.rows] == ["0", "none of these", "none of these", "none of these"]
    # Laplace noise of scale 100 is beyond the middle of 0 and 100 with probability e^(-1/2)/2.
    assert f"It guesses the row right {100 * (1 - math.exp(-0.5) / 2):.1f} % of the time" in attack_report.sentences[0]


@pytest.mark.parametrize("role", ["averaging-attacker", "network-observer"])
def test_other_roles_infer_by_the_same_attack(tmp_path: Path, tea: Path, role: str) -> None:
    table = {"role": role, **({"votes": 2} if role == "averaging-attacker" else {})}
    assert "row" in " ".join(lesson_of(tmp_path, tea, "memory", table=table).sentences)


def test_selective_abort_takes_the_server_into_the_coalition(tmp_path: Path, tea: Path) -> None:
    table = {"role": "selective-abort", "target": "v1", "members": ["server"], "trials": 20}
    settings = ("quorum=1", "deadline_seconds=1")
    attack_report = lesson_of(tmp_path, tea, "memory", *settings, table=table)
    assert "names the row rightly" in " ".join(attack_report.sentences)


class Unwritten(Approvals):
    """Whose mechanism says no law."""

    def make_mechanism(self) -> RowMechanism:
        """Return one that does not."""
        return Lawless(self.parameters.epsilon, 2)


class Other(BoundedMean):
    """Which names other candidates."""

    table: ClassVar[Mapping[str, Entries] | None]

    def possible_entries(self) -> Mapping[str, Entries] | None:
        """Return them."""
        return self.table


class Trusting(Other):
    """A mean whose server is trusted."""

    def make_phases(self) -> Iterable[Phase]:
        """Return the one phase."""
        greatest = self.mechanism.value_range[1]
        noise = VectorLaplace(scale=greatest, sensitivity=greatest, bound=2**40)
        loss = PrivacyLoss(
            mechanism="discrete Laplace",
            event=noise.event_of(1),
            claimed=1.0,
            unit="value",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.CENTRAL,
        )
        yield TrustedSums("sum", columns=range(1), bound=greatest, tally_mechanism=noise, losses=[loss])


def refusal(protocol: Any, values: list[float], coalition: Coalition = SERVER) -> ConfigurationError:
    """Return why an attack on parties with these values is refused."""
    names = [column.name for column in protocol.columns()]
    inputs = protocol.encode(dict.fromkeys(names, values))
    noise = SimulatedNoise(1, session="s")
    seen = view_by_arrays(protocol, inputs, noise=noise, coalition=coalition)
    with pytest.raises(ConfigurationError) as caught:
        find_attack(protocol).against(inputs).posteriors([seen], np.array([0]), secret=ROW)
    return caught.value


def mean_with(kind: type[Other], table: Mapping[str, Entries] | None, **bounds: float) -> Other:
    """Return a mean that names these candidates."""
    kind.table = table
    return kind(Bounds(**bounds))


def test_what_cannot_be_inferred_is_refused_by_field() -> None:
    found = refusal(Unwritten(Ballot()), [0, 1])
    assert (found.field, found.value) == ("protocol", "approvals")
    assert "the law of Lawless is not written down" in found.allowed
    found = refusal(Approvals(Ballot()), [0, 1], Coalition((1,), has_server=False))
    assert (found.field, found.value) == ("members", "1 without the server")
    assert "with 'server' among them" in found.allowed
    of_mean = "possible rows of protocol 'bounded-mean'"
    found = refusal(mean_with(Other, None, epsilon=8.0), [0.0, 50.0])  # on a grid of 1/8: 1,025 rows or so
    assert found.field == of_mean
    assert "given by its method possible_entries(), or at most 1,024 in all" in found.allowed
    found = refusal(mean_with(Other, {"value": [0.0, 0.001]}), [0.0, 50.0])
    assert (found.field, found.value, found.allowed) == (of_mean, "1 rows", "at least two rows that differ")
    found = refusal(mean_with(Other, {"value": [0.0, 101.0]}), [0.0, 50.0])
    assert (found.field, found.value) == (f"{of_mean}: value in row 2", 101.0)
    found = refusal(mean_with(Trusting, {"value": [0.0, 100.0]}), [0.0, 50.0])
    assert (found.field, found.value) == (of_mean, "others")
    assert "among them each party's row" in found.allowed
    with pytest.raises(ConfigurationError, match="secret is 'opinions': use one of row"):
        find_attack(Approvals(Ballot())).check_secret("opinions")


def test_a_trusted_server_knows_the_row_and_no_loss_is_proven_against_it() -> None:
    mean = mean_with(Trusting, {"value": [0.0, 50.0, 100.0]})
    inputs = mean.encode({"value": [0.0, 50.0]})
    attack = find_attack(mean).against(inputs)
    seen = view_by_arrays(mean, inputs, noise=SimulatedNoise(1, session="s"), coalition=SERVER)
    found = attack.posteriors([seen], np.arange(2), secret=ROW)
    assert found.probabilities.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert math.isinf(attack.loss(ROW, inputs.public, np.arange(2), SERVER))


def test_without_candidates_all_values_of_few_are_listed() -> None:
    mean = mean_with(Other, None)
    low, high = mean.mechanism.value_range
    found = find_attack(mean).candidates(ROW)
    assert found.rows.tolist() == [[value] for value in range(low, high + 1)]
    assert found.labels[:2] == ("0", "1")


def test_a_coalition_that_cannot_infer_is_refused_on_the_command_line(tea: Path, psephos: Callable[..., Any]) -> None:
    ended = psephos("run", tea, "--set", "adversary=[{role='coalition', members=['v1']}]", "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: adversary 1: members is")
    assert len(ended.err.splitlines()) == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("variant", ["joint", "printed"])
def test_of_a_system_with_its_own_attack_the_reports_tell_the_same(variant: Any) -> None:
    vote = make_vote(variant=variant)
    inputs, targets = make_inputs(vote, 20), np.arange(20)
    seen = view_by_server(vote, inputs, noise=SimulatedNoise(1, session="s"))
    own, general = find_attack(vote), ReportAttack(vote).against(inputs)
    rows = general.candidates(ROW).rows
    width = rows.shape[1]
    places = {tuple(row): place for place, row in enumerate(rows.tolist())}
    order = [places[tuple(row[:width])] for row in own.candidates(own.default_secret).rows.tolist()]
    assert sorted(order) == list(range(len(rows)))
    found = general.posteriors([seen], targets, secret=ROW).probabilities
    expected = own.posteriors([seen], targets, secret=own.default_secret).probabilities
    assert np.allclose(found[:, order], expected, rtol=1e-12, atol=0)
    truths, others = (each.truths(secret, inputs).tolist() for each, secret in ((general, ROW), (own, own.secrets[0])))
    assert truths == [order[place] for place in others]
    drawn = general.redraw(ROW, inputs, targets, prior=None, uniforms=np.linspace(0, 0.99, 20))
    assert drawn.private.shape == inputs.private.shape


class Ranked(TrustedSums):
    """A trusted server adds up rankings of three, and refuses what is none."""

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        del public
        if sorted(report) != [-1, 0, 1]:
            raise ValueError("it is no ranking")


class Rankings(Approvals):
    """Three candidates are ranked."""

    def make_phases(self) -> Iterable[Phase]:
        """Return the one phase."""
        noise = VectorLaplace(4.0, sensitivity=4, bound=100)
        loss = PrivacyLoss(
            mechanism="noise",
            event=noise.event,
            claimed=1.0,
            unit="ranking",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.CENTRAL,
        )
        yield Ranked("rankings", columns=range(3), bound=1, tally_mechanism=noise, losses=[loss])


def test_rows_that_the_server_refuses_are_no_candidates() -> None:
    ranked = Rankings(Ballot(candidates=("tea", "coffee", "water")))
    found = find_attack(ranked).candidates(ROW).rows.tolist()
    assert sorted(found) == sorted(map(list, itertools.permutations((-1, 0, 1))))
    ranked.check_loss_groups(np.empty((5, 0), dtype=np.int64))  # nor does the guard compare them
