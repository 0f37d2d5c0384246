"""What coalitions learn of workers' answers: exact against enumeration, within R and J, and the same for agents."""

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError, SimulatedNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.phases import Inputs
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import Coalition, CoalitionView, Ending, view_by_arrays
from psephos.scenarios.truth_discovery.attack.inference import Anchors, TruthDiscoveryAttack
from psephos.scenarios.truth_discovery.variants import CrowdVariants

SERVER = Coalition((), has_server=True)
NOTHING = Anchors(members=False, agreement=None)
TRUTHS = Anchors(members=False)
ANSWERS, ANSWER, ROW = TruthDiscoveryAttack.secrets
MADE_UP = "weight"


@dataclasses.dataclass(frozen=True)
class Crowd:
    """A protocol, and everybody's answers, of which seven in ten are the task's truth."""

    protocol: TruthDiscovery
    inputs: Inputs

    def seen(self, coalition: Coalition = SERVER, *, session: str = "s") -> CoalitionView:
        return view_by_arrays(self.protocol, self.inputs, noise=SimulatedNoise(4, session=session), coalition=coalition)

    def all_but(self, place: int) -> Coalition:
        """Return all workers but one, without the server."""
        return Coalition(tuple(other for other in range(len(self.inputs)) if other != place), has_server=False)


def crowd(
    num_workers: int, num_answers: int, num_tasks: int | None = None, *, labels: int = 2, **settings: Any
) -> Crowd:
    generator = np.random.default_rng(7)
    number = num_tasks or num_answers
    noise: dict[str, Any] = {
        "mechanism": "two_layer",
        **({} if "epsilons" in settings else {"epsilon": 1.0}),
        **settings,
    }
    parameters = Parameters(
        tasks=tuple(f"t{task}" for task in range(number)),
        answer_sets=(tuple("abcdef"[:labels]),),
        max_answers=num_answers,
        **noise,
    )
    truths = generator.integers(0, labels, number)
    tasks = np.argsort(generator.random((num_workers, number)), axis=1)[:, :num_answers].astype(np.int64)
    shifts = generator.integers(1, labels, tasks.shape) * (generator.random(tasks.shape) > 0.7)
    protocol = TruthDiscovery(parameters)
    own = {column.name: np.resize(parameters.own_levels.epsilons, num_workers) for column in protocol.columns()[1:-1]}
    return Crowd(protocol, protocol.encode({"tasks": tasks, "answers": (truths[tasks] + shifts) % labels, **own}))


def places(number: int) -> IntArray:
    """Return the first places of a roster."""
    return np.arange(number, dtype=np.int64)


# The same for agents and arrays


# Exact


@pytest.mark.parametrize(
    "settings",
    [{}, {"mechanism": "one_layer"}, {"mechanism": "fresh_two_layer"}, {"epsilons": (0.5, 3.0)}],
    ids=repr,
)
@pytest.mark.parametrize("labels", [2, 3])
def test_single_answers_are_the_marginals_of_whole_vectors(labels: int, settings: dict[str, Any]) -> None:
    made = crowd(12, 4, labels=labels, **settings)
    attack = TruthDiscoveryAttack(made.protocol)
    seen, targets = made.seen(Coalition((0, 1), has_server=True)), places(12)[2:]
    guesses = attack.posteriors([made.seen()], places(12), secret=ANSWERS).guesses
    assert guesses.shape == attack.truths(ANSWERS, made.inputs).shape
    whole = attack.posteriors([seen], targets, secret=ROW)
    single = attack.posteriors([seen], targets, secret=ANSWERS).probabilities.reshape(10, 4, labels)
    rows = attack.candidates("row").rows
    for place in range(4):
        for label in range(labels):
            of_rows = whole.probabilities[:, rows[:, place] == label].sum(axis=1)
            np.testing.assert_allclose(of_rows, single[:, place, label], rtol=1e-9)


def test_a_prior_of_labels_takes_the_place_of_all_anchors() -> None:
    made = crowd(7, 3)
    attack = TruthDiscoveryAttack(made.protocol)
    prior = np.array([0.9, 0.1])
    seen = made.seen(Coalition((6,), has_server=True))  # whose answers say nothing either
    found = attack.posteriors([seen], places(6), secret=ANSWERS, prior=prior)
    np.testing.assert_array_equal(found.prior, np.tile(prior, (18, 1)))
    with pytest.raises(ConfigurationError, match="2 probabilities"):
        attack.posteriors([made.seen()], places(6), secret=ANSWERS, prior=np.full(3, 1 / 3))


def test_anchors_are_laplace_s_rule_over_members_and_truths() -> None:
    made = crowd(5, 3, epsilon=8.0)
    seen = made.seen(Coalition((0, 1), has_server=True))
    codes = made.inputs.private[:2]
    order = np.argsort(made.inputs.public[:2, 1:], axis=1)
    votes = (np.take_along_axis(codes, order, axis=1) == 1).sum(axis=0)
    alone = TruthDiscoveryAttack(made.protocol, anchors=Anchors(agreement=None)).task_priors([seen])
    np.testing.assert_allclose(alone[:, 1], (votes + 1) / 4)
    truths = np.array([truth == "b" for truth in getattr(seen.release, "truths")])  # noqa: B009  any protocol's
    anchored = TruthDiscoveryAttack(made.protocol, anchors=Anchors(agreement=0.8)).task_priors([seen])
    np.testing.assert_allclose(anchored[:, 1], (votes + 2 * np.where(truths, 0.8, 0.2)) / 4)
    nothing = TruthDiscoveryAttack(made.protocol, anchors=NOTHING).task_priors([seen])
    np.testing.assert_array_equal(nothing, np.full((3, 2), 0.5))


def test_a_task_without_answers_has_no_anchor() -> None:
    sets = (("a", "b"), ("a", "b", "c"))
    protocol = TruthDiscovery(Parameters(tasks=("q", "r"), answer_sets=sets, answer_set_of_task=(0, 1), max_answers=2))
    inputs = protocol.encode({"tasks": [["q", "r"]] * 3, "answers": [["a", ""]] * 3})
    seen = view_by_arrays(protocol, inputs, noise=SimulatedNoise(1, session="s"), coalition=SERVER)
    attack = TruthDiscoveryAttack(protocol)
    np.testing.assert_allclose(attack.task_priors([seen])[1], 1 / 3)
    assert attack.labels == ("label 1", "label 2", "label 3")
    found = attack.posteriors([seen], places(3), secret=ANSWERS)
    np.testing.assert_array_equal(found.probabilities[::2, 2], 0.0)  # q has two labels
    np.testing.assert_allclose(found.probabilities[1::2], 1 / 3)  # r was skipped
    # What was skipped is no secret that could be named.
    assert attack.evaluate(found, inputs, places(3), secret=ANSWERS).num_targets == 3
    np.testing.assert_array_equal(attack.owners("answers", inputs.public, np.array([2])), [2, 2])


# How much is learnt


def test_the_more_is_known_of_other_answers_the_more_is_learnt_and_never_more_than_r() -> None:
    """Fixed seed; at 4,000 answers each success has a standard error of .007."""
    made = crowd(200, 20)
    claimed, proven = made.protocol.losses[0].part, made.protocol.losses[0]
    assert claimed is not None
    seen, targets = made.seen(), places(200)
    success: list[float] = []
    odds: list[float] = []
    for secret, anchors in ((ANSWERS, NOTHING), (ANSWERS, TRUTHS), (ANSWER, TRUTHS)):
        attack = TruthDiscoveryAttack(made.protocol, anchors=anchors, background=made.inputs.private)
        found = attack.evaluate(attack.posteriors([seen], targets, secret=secret), made.inputs, targets, secret=secret)
        success.append(found.success)
        odds.append(found.greatest_log_odds_ratio)
        assert attack.loss(secret, made.inputs.public, targets, SERVER) == claimed.proven
    assert success[0] + 0.01 < success[1] < success[2] - 0.01
    assert odds[0] == pytest.approx(claimed.claimed, rel=1e-9)  # Theorem 6.3 is right where nothing is known
    assert claimed.claimed + 0.5 < odds[1] <= odds[2] <= claimed.proven
    assert TruthDiscoveryAttack(made.protocol).loss("row", made.inputs.public, targets, SERVER) == proven.proven


def test_whole_vectors_stay_within_j() -> None:
    made = crowd(300, 5, epsilon=0.0)
    attack = TruthDiscoveryAttack(made.protocol)
    odds = attack.posteriors([made.seen()], places(300), secret=ROW).log_odds_ratios
    bound = attack.loss("row", made.inputs.public, places(300), SERVER)
    assert odds.max() <= bound
    assert odds.max() == pytest.approx(np.log(10), rel=1e-6)  # ln C(5, 2), where the paper has 0


def test_fresh_noise_in_every_session_is_averaged_away() -> None:
    made = crowd(150, 8)
    sessions = [made.seen(session=f"s{number}") for number in range(8)]
    attack = TruthDiscoveryAttack(made.protocol, anchors=TRUTHS).against(made.inputs)
    for secret in attack.secrets:
        first, last = (
            attack.evaluate(
                attack.posteriors(sessions[:number], places(150), secret=secret),
                made.inputs,
                places(150),
                secret=secret,
            )
            for number in (1, 8)
        )
        assert last.success > first.success + 0.1
        assert last.greatest_log_odds_ratio <= 8 * attack.loss(secret, made.inputs.public, places(150), SERVER)


# Without the server


@pytest.mark.parametrize("settings", [{}, {"epsilons": (0.5, 3.0)}], ids=repr)
def test_all_workers_but_one_know_the_last_one_s_reports(settings: dict[str, Any]) -> None:
    made = crowd(6, 3, labels=3, **settings)
    attack = TruthDiscoveryAttack(made.protocol).against(made.inputs)
    colluding = made.all_but(5)
    sees_all = Coalition(colluding.members, has_server=True)
    for secret in attack.secrets:
        without, with_server = (
            attack.posteriors([made.seen(who)], np.array([5]), secret=secret) for who in (colluding, sees_all)
        )
        np.testing.assert_allclose(without.probabilities, with_server.probabilities, rtol=1e-12)
        assert np.all(without.log_odds_ratios > 0)


def test_fewer_workers_have_the_honest_ones_counts() -> None:
    """Of n honest reports of which a say "a", the odds are (a·e^ε + n − a)/(a + (n − a)·e^ε): e^ε where all agree."""
    made = crowd(8, 4, mechanism="one_layer", epsilon=1.0)
    attack = TruthDiscoveryAttack(made.protocol, anchors=NOTHING)
    honest = np.array([5, 6, 7])
    order = np.argsort(made.inputs.public[honest, 1:], axis=1)
    votes = np.take_along_axis(made.seen().reports[0][honest], order, axis=1)
    zeros = (votes == 0).sum(axis=0)
    assert {0, 3} & set(zeros.tolist())  # all alike, and not, so that both are tried
    assert {1, 2} & set(zeros.tolist())
    expected = np.abs(np.log((zeros * np.e + 3 - zeros) / (zeros + (3 - zeros) * np.e)))
    found = attack.posteriors([made.seen(Coalition((0, 1, 2, 3, 4), has_server=False))], honest, secret=ANSWERS)
    tasks = made.inputs.public[honest, 1:].reshape(-1)
    np.testing.assert_allclose(found.log_odds_ratios, expected[tasks], rtol=1e-6)
    names = np.argmax(found.probabilities, axis=1)
    np.testing.assert_array_equal(names, (zeros[tasks] < 2).astype(np.int64))


def test_of_workers_with_their_own_epsilon_the_counts_of_each_level_are_known() -> None:
    """Who is alone at its level among the honest ones is known by its report; two others hide behind each other."""
    made = crowd(8, 4, mechanism="one_layer", epsilons=(0.5, 3.0))  # in turn: 6 has 0.5, 5 and 7 have 3
    attack = TruthDiscoveryAttack(made.protocol, anchors=NOTHING)
    found = attack.posteriors([made.seen(Coalition((0, 1, 2, 3, 4), has_server=False))], places(8)[5:], secret=ANSWERS)
    odds = found.log_odds_ratios.reshape(3, 4)
    np.testing.assert_allclose(odds[1], 0.5, rtol=1e-6)
    order = np.argsort(made.inputs.public[[5, 7], 1:-1], axis=1)
    agree = np.ptp(np.take_along_axis(made.seen().reports[0][[5, 7]], order, axis=1), axis=0) == 0
    assert {*agree.tolist()} == {True, False}
    for own, tasks in zip(odds[[0, 2]], made.inputs.public[[5, 7], 1:-1], strict=True):
        np.testing.assert_allclose(own, np.where(agree[tasks], 3.0, 0.0), atol=1e-6)


def test_who_skipped_a_task_is_not_known_without_the_server() -> None:
    protocol = TruthDiscovery(Parameters(tasks=("q", "r"), answer_sets=(("a", "b"),), max_answers=2))
    inputs = protocol.encode({"tasks": [["q", "r"]] * 3, "answers": [["a", "b"], ["a", ""], ["a", "b"]]})
    coalition = Coalition((0,), has_server=False)
    seen = view_by_arrays(protocol, inputs, noise=SimulatedNoise(1, session="s"), coalition=coalition)
    odds = (
        TruthDiscoveryAttack(protocol)
        .posteriors([seen], np.array([1, 2]), secret=ANSWERS)
        .log_odds_ratios.reshape(2, 2)
    )
    assert odds[:, 1].tolist() == [0.0, 0.0]


def test_without_published_counts_nothing_is_learnt() -> None:
    made = crowd(4, 2)
    seen = dataclasses.replace(made.seen(made.all_but(3)), totals=(), find_ending=Ending)
    attack = TruthDiscoveryAttack(made.protocol)
    found = attack.posteriors([seen], np.array([3]), secret=ANSWERS)
    np.testing.assert_allclose(found.probabilities, found.prior)
    assert not found.log_odds_ratios.any()


# Many, and what is refused


def test_ten_thousand_targets_take_seconds() -> None:
    made = crowd(10_000, 20, 200)
    reports = made.protocol.phase.mechanism.randomize_rows(
        made.inputs.private, np.random.default_rng(1).random((10_000, 21))
    )
    seen = CoalitionView(
        protocol=made.protocol,
        coalition=SERVER,
        rows=np.empty((0, 20), dtype=np.int64),
        public=made.inputs.public,
        reports=(reports,),
        told=(np.ones(10_000, dtype=np.bool_),),
    )
    began = time.process_time()
    found = TruthDiscoveryAttack(made.protocol).posteriors([seen], places(10_000), secret=ANSWERS)
    assert time.process_time() - began < 10
    assert found.probabilities.shape == (200_000, 2)


def test_synthetic_targets_have_answers_of_the_prior_or_their_own() -> None:
    made = crowd(5, 3)
    attack = TruthDiscoveryAttack(made.protocol)
    targets, uniforms = np.array([1, 2]), np.array([0.2, 0.7])
    drawn = attack.redraw("answers", made.inputs, targets, prior=np.array([0.0, 1.0]), uniforms=uniforms)
    np.testing.assert_array_equal(drawn.private[1:3], 1)
    np.testing.assert_array_equal(drawn.private[3:], made.inputs.private[3:])
    assert attack.redraw("answers", made.inputs, targets, prior=None, uniforms=uniforms) is made.inputs
    whole = attack.redraw("row", made.inputs, targets, prior=np.full(8, 1 / 8), uniforms=uniforms)
    np.testing.assert_array_equal(attack.truths("row", whole)[1:3], [1, 5])  # the second and the sixth of eight vectors
    assert attack.draws_from_prior("answers", prior=np.full(2, 0.5))
    assert not attack.draws_from_prior("row", prior=None)
    found = attack.posteriors([made.seen()], targets, secret=ROW)
    assert attack.evaluate_redrawn(found, made.inputs, targets, secret=ROW) == attack.evaluate(
        found, made.inputs, targets, secret=ROW
    )
    assert attack.candidates("answers").labels == ("a", "b")


def test_what_is_no_attack_is_refused() -> None:
    made = crowd(5, 3)
    attack = TruthDiscoveryAttack(made.protocol)
    seen = made.seen(Coalition((0,), has_server=True))
    with pytest.raises(ConfigurationError, match="no member of the coalition"):
        attack.posteriors([seen], places(2), secret=ANSWERS)
    with pytest.raises(ConfigurationError, match="each is taken as unknown in turn"):
        attack.posteriors([seen], np.array([1]), secret=ANSWER)
    with pytest.raises(ConfigurationError, match="one of answers, answer, row"):
        attack.posteriors([seen], np.array([1]), secret=MADE_UP)
    with pytest.raises(ConfigurationError, match="above 0 and below 1"):
        Anchors(agreement=1.0)
    sparse = TruthDiscovery(Parameters(tasks=("q", "r"), answer_sets=(("a", "b"),), max_answers=2))
    inputs = sparse.encode({"tasks": [["q", "r"], ["q"]], "answers": [["a", "b"], ["a"]]})
    session = view_by_arrays(sparse, inputs, noise=SimulatedNoise(1, session="s"), coalition=SERVER)
    with pytest.raises(ConfigurationError, match="asked as many tasks"):
        TruthDiscoveryAttack(sparse).posteriors([session], places(2), secret=ROW)
    with pytest.raises(ConfigurationError, match="who answer all tasks"):
        TruthDiscoveryAttack(sparse).truths("row", inputs)
    sets = (("a", "b"), ("c", "d"))
    mixed = TruthDiscovery(Parameters(tasks=("q", "r"), answer_sets=sets, answer_set_of_task=(0, 1), max_answers=2))
    with pytest.raises(ConfigurationError, match="one answer set for whole vectors"):
        TruthDiscoveryAttack(mixed).candidates("row")


def test_variants_are_of_one_epsilon_of_all() -> None:
    resolved = resolve(load_scenario("crowd", ["epsilons=[0.5, 3]", "workers.tasks=4", "workers.answers_per_task=2"]))
    with pytest.raises(ConfigurationError, match="variants are compared at one ε of all"):
        CrowdVariants(resolved, trials=2)
