"""Hypothesis strategies for sessions: parameters of every variant, inputs, sizes, seeds, orders of delivery.

Import these together with `CHECKED`, which makes every run draw the same examples.
"""

from typing import Any, TypeVar

from helpers import Chooser, Session, make_names
from hypothesis import settings
from hypothesis import strategies as st
from psephos.protocol import Inputs, SessionRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.fair_voting import FairVoting, Feature
from psephos.protocol.fair_voting import Parameters as FairVotingParameters
from psephos.protocol.fair_voting.kinds import JOINT, LOCAL
from psephos.protocol.fair_voting.parameters import DEFAULT_GAMMA
from psephos.protocol.mechanisms import Beta, Discrete, Uniform
from psephos.protocol.moral_preferences import Level, MoralPreferences, Paradigm
from psephos.protocol.moral_preferences import Parameters as PreferenceParameters
from psephos.protocol.moral_preferences.parameters import PAPERS
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.truth_discovery import NO_TASK, TruthDiscovery
from psephos.protocol.truth_discovery import Parameters as TruthDiscoveryParameters
from quiz import Parameters as QuizParameters
from quiz import Quiz, make_quiz_inputs
from thoroughness import draws

ToldT = TypeVar("ToldT")

CHECKED = settings(deadline=None, derandomize=True, max_examples=draws(4, full=40))
"""No deadline, since machines are shared; the same examples every time, since a test passes or it does not."""

_EPSILONS = st.floats(0.01, 30.0, allow_nan=False)
_CANDIDATES = st.lists(
    st.text("abcdefgh ÄΨ-'", min_size=1, max_size=6).filter(lambda name: name.strip() == name),
    min_size=1,
    max_size=4,
    unique=True,
)
# Quarters, so that groups and means are exact; not many, so that an example stays readable.
_WEIGHTS = st.lists(st.integers(1, 40).map(lambda quarters: quarters / 4), min_size=1, max_size=5, unique=True)


# The optimal mechanism takes a tenth of a second, and equal ones are found once.
_FEW_EPSILONS = st.sampled_from([0.5, 2.0, 9.0])
_FEW_WEIGHTS = st.sampled_from([[1.0, 2.0, 3.0], [0.25, 4.0]])


def told(entry: ToldT | None) -> ToldT:
    assert entry is not None
    return entry


def sizes(largest: int = 9) -> st.SearchStrategy[int]:
    """Return numbers of parties."""
    return st.integers(1, largest)


def seeds() -> st.SearchStrategy[int]:
    """Return seeds, large ones too."""
    return st.integers(0, 2**70)


@st.composite
def parameters(draw: st.DrawFn) -> Parameters:
    """Return the parameters of some DPWeVote session; every variant and option occurs."""
    trust = draw(st.sampled_from(["signed", "apart", "apart", "central"]))
    if trust != "apart":
        return draw(_signed_parameters() if trust == "signed" else _central_parameters())
    public = draw(st.booleans())
    variant = draw(st.sampled_from(["joint", "printed", "laplace"]))
    weights: tuple[float, ...] = tuple(sorted(draw(_WEIGHTS)))
    given: dict[str, Any] = {
        "candidates": tuple(draw(_CANDIDATES)),
        "variant": variant,
        "public_weights": public,
        "epsilon": draw(_EPSILONS),
        "epsilon_opinion": draw(st.none() | _EPSILONS),
        "passes": draw(st.sampled_from(["at_least", "more_than"])),
        "project_counts": draw(st.booleans()),
    }
    if draw(st.booleans()):
        given["quota"] = draw(st.floats(0.25, 50.0))
    else:
        given["quota_fraction"] = draw(st.none() | st.floats(0.01, 1.0))
    if not public:
        if len(weights) == 1:
            weights = (weights[0], weights[0] + 1)
        given["epsilon_weight"] = draw(st.none() | _EPSILONS)
        given["weight_collection"] = draw(st.sampled_from(["once", "per_candidate"]))
        if variant != "laplace" and len(weights) > 2 and draw(st.booleans()):
            cut = draw(st.integers(1, len(weights) - 1))
            given["groups"] = (weights[:cut], weights[cut:])
    if variant != "laplace" and draw(st.integers(0, 3)) == 0:
        given |= {"epsilon_opinion": None, "opinion_matrix": draw(_matrices(2))}
        del given["epsilon"]
        if not public:
            given |= {"epsilon_weight": None, "weight_matrix": draw(_matrices(len(given.get("groups", weights))))}
    return Parameters(weights=weights, **given)


@st.composite
def _matrices(draw: st.DrawFn, size: int) -> tuple[tuple[str, ...], ...]:
    """Return a matrix of one's own: fractions, with so much more on the diagonal that it has an inverse."""
    parts = [draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)) for _ in range(size)]
    for place, row in enumerate(parts):
        row[place] += 10 * size
    return tuple(tuple(f"{part}/{sum(row)}" for part in row) for row in parts)


@st.composite
def _central_parameters(draw: st.DrawFn) -> Parameters:
    """Return the parameters of a session whose server is trusted."""
    public, weights = draw(st.booleans()), tuple(sorted(draw(_WEIGHTS)))
    given: dict[str, Any] = {
        "candidates": tuple(draw(_CANDIDATES)),
        "public_weights": public,
        "epsilon": draw(_EPSILONS),
        "passes": draw(st.sampled_from(["at_least", "more_than"])),
    }
    if draw(st.booleans()):
        given["quota"] = draw(st.floats(0.25, 50.0))
    else:
        given["quota_fraction"] = draw(st.none() | st.sampled_from([0.5, 2 / 3, 1.0]) | st.floats(0.01, 1.0))
    if len(weights) == 1 and not public:
        weights = (weights[0], weights[0] + 1)
    return Parameters(weights=weights, variant="central", **given)


@st.composite
def _signed_parameters(draw: st.DrawFn) -> Parameters:
    """Return the parameters of a session in which signed weights are reported, or of the best at the price."""
    variant = draw(st.sampled_from(["two_point", "signed_rr", "optimal", "auto"]))
    solved = variant in {"optimal", "auto"}
    weights: tuple[float, ...] = tuple(sorted(draw(_FEW_WEIGHTS if solved else _WEIGHTS)))
    given: dict[str, Any] = {
        "candidates": tuple(draw(_CANDIDATES)),
        "variant": variant,
        "epsilon": draw(_FEW_EPSILONS if solved else _EPSILONS),
        "passes": draw(st.sampled_from(["at_least", "more_than"])),
    }
    if len(weights) == 1:
        weights = (weights[0], weights[0] + 1)
    if variant == "optimal":
        given["prior"] = draw(st.sampled_from([None, "uniform"]))
    if draw(st.booleans()):
        given["quota"] = draw(st.floats(0.25, 50.0))
    elif draw(st.booleans()):
        given["quota_fraction"] = draw(st.sampled_from([0.5, 2 / 3, 1.0] if solved else [0.01, 0.5, 0.7, 1.0]))
    if len(weights) > 2 and draw(st.booleans()):
        given["groups"] = (weights[:1], weights[1:])
    return Parameters(weights=weights, **given)


def votes() -> st.SearchStrategy[DPWeVote]:
    """Return DPWeVote protocols of all variants."""
    return parameters().map(DPWeVote)


@st.composite
def inputs_of(draw: st.DrawFn, vote: DPWeVote, num_parties: int) -> Inputs:
    """Return rows for so many parties, made from a table as users fill it in."""
    weights = st.lists(st.sampled_from(vote.parameters.weights), min_size=num_parties, max_size=num_parties)
    opinions = st.lists(st.sampled_from([0, 1]), min_size=num_parties, max_size=num_parties)
    table: dict[str, list[float] | list[int]] = {"weight": draw(weights)}
    for candidate in vote.parameters.candidates:
        table[candidate] = draw(opinions)
    return vote.encode(table)


@st.composite
def sessions(draw: st.DrawFn, *, largest: int = 9, rules: SessionRules | None = None) -> Session:
    """Return sessions of all variants, with their parties."""
    vote = draw(votes())
    num_parties = draw(sizes(largest))
    inputs = draw(inputs_of(vote, num_parties))
    return Session(vote, inputs, seed=draw(seeds()), names=make_names(num_parties), rules=rules)


@st.composite
def quizzes(draw: st.DrawFn, *, largest: int = 9, rules: SessionRules | None = None) -> Session:
    """Return sessions of the protocol in which public rows matter; their clients know the rows, or ask."""
    quiz = Quiz(QuizParameters(num_tasks=draw(st.integers(1, 4)), epsilon=draw(_EPSILONS)))
    inputs = make_quiz_inputs(quiz, draw(sizes(largest)), seed=draw(st.integers(0, 2**32)))
    knows = draw(st.booleans())
    return Session(quiz, inputs, seed=draw(seeds()), rules=rules, clients_know=knows)


# Prices of perturbation that every set of two to four labels can have, for every mechanism.
_PRICES: list[dict[str, Any]] = [
    {},
    {"epsilon": 0.7},
    {"epsilon": 5.0},
    {"flip_probability": 0.3},
    {"epsilon_answer": 1.5},
    {"epsilon_worker": 12.0},
]
_HYPERS = [Uniform(0.0, 0.6), Uniform(0.2, 0.4), Beta(2, 3, 0.0, 0.9), Discrete((0.1, 0.45), (0.5, 0.5))]
_ESTIMATORS = [
    "majority",
    "truth_discovery",
    "one_coin",
    "dawid_skene",
    "noise_aware",
    "noise_aware_dawid_skene",
    "auto",
]


@st.composite
def truth_discoveries(draw: st.DrawFn, *, with_levels: bool = False) -> TruthDiscovery:
    """Return truth discovery protocols with few tasks; every mechanism, price and estimator occurs, and levels of ε."""
    num_tasks = draw(st.integers(1, 5))
    set_sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    shared = draw(st.booleans())  # names of labels may be those of another set's
    answer_sets = [
        tuple(f"{'' if shared and size != other else number}l{label}" for label in range(size))
        for number, (size, other) in enumerate(zip(set_sizes, [0, *set_sizes], strict=False))
    ]
    distinct = list(dict.fromkeys(answer_sets))
    mechanism = draw(st.sampled_from(["one_layer", "two_layer", "fresh_two_layer", "auto", "central"]))
    price = dict(draw(st.sampled_from(_PRICES)))
    is_mixed = len(set(map(len, distinct))) > 1
    if mechanism in {"auto", "central"} and "flip_probability" in price:
        price = {"epsilon_answer": 3.0}
    if mechanism in {"two_layer", "fresh_two_layer"}:
        if draw(st.booleans()):
            price = {"hyper": draw(st.sampled_from(_HYPERS))}
        elif mechanism == "two_layer" and is_mixed and {"epsilon_answer", "epsilon_worker"} & price.keys():
            price = {"epsilon": 2.0}
        elif is_mixed and "flip_probability" not in price:
            price = {"epsilon": draw(st.sampled_from([1.2, 3.0]))}  # below ln 3 sets of two would be turned round
    if mechanism in {"one_layer", "two_layer", "fresh_two_layer"} and with_levels and draw(st.booleans()):
        price = {"epsilons": draw(st.sampled_from([(1.2,), (1.5, 3.0), (1.2, 2.0, 6.0)]))}
    given: dict[str, Any] = {
        "tasks": tuple(f"task {number}" for number in range(num_tasks)),
        "answer_sets": tuple(distinct),
        "answer_set_of_task": tuple(draw(st.integers(0, len(distinct) - 1)) for _ in range(num_tasks)),
        "max_answers": draw(st.integers(1, num_tasks)),
        "mechanism": mechanism,
        "estimator": draw(st.sampled_from(_ESTIMATORS if mechanism != "central" else ["majority", "auto"])),
        "ties": draw(st.sampled_from(["first", "last"])),
        "max_iterations": draw(st.sampled_from([1, 2, 50])),
        **price,
    }
    return TruthDiscovery(TruthDiscoveryParameters(**given))


@st.composite
def crowds(draw: st.DrawFn, protocol: TruthDiscovery, num_workers: int) -> Inputs:
    """Return rows of so many workers, who are asked some tasks, or none, and skip some; somebody is asked."""
    parameters = protocol.parameters
    tasks: list[list[str]] = []
    answers: list[list[str]] = []
    for worker in range(num_workers):
        least = 1 if worker == num_workers - 1 and not any(tasks) else 0
        some = st.lists(
            st.integers(0, len(parameters.tasks) - 1), min_size=least, max_size=parameters.max_answers, unique=True
        )
        asked = draw(some)
        labels = [parameters.answer_sets[parameters.set_of_task[task]] for task in asked]
        tasks.append([parameters.tasks[task] for task in asked])
        answers.append([draw(st.sampled_from(["", *of_task, *of_task])) for of_task in labels])
    levels = st.sampled_from(parameters.own_levels.epsilons or (0.0,))
    own = {column.name: [draw(levels) for _ in tasks] for column in parameters.own_levels.columns}
    return protocol.encode({"tasks": tasks, "answers": answers, **own})


@st.composite
def crowd_sessions(draw: st.DrawFn, *, largest: int = 9, rules: SessionRules | None = None) -> Session:
    """Return truth discovery sessions; their clients know their public rows, or ask."""
    protocol = draw(truth_discoveries(with_levels=True))
    inputs = draw(crowds(protocol, draw(sizes(largest))))
    assert bool((inputs.public[:, protocol.parameters.asked_columns] != NO_TASK).any())
    knows = draw(st.booleans())
    return Session(protocol, inputs, seed=draw(seeds()), rules=rules, clients_know=knows)


# Symmetric and positive definite, whatever the number of features.
_VARIANCES = [1.0, 4.0, 0.25]
_LEVELS = [(0.5,), (0.2, 1.0), (0.01, 0.3, 2.0)]


@st.composite
def moral_preferences(draw: st.DrawFn) -> MoralPreferences:
    """Return moral preferences with few features; every paradigm, mechanism and option occurs."""
    num_features = draw(st.integers(1, 4))
    paradigm = draw(st.sampled_from(PAPERS))
    is_local = paradigm in {Paradigm.VLDP, Paradigm.RLDP}
    mechanisms = ["laplace", "direction"]
    if paradigm.level is Level.RECORD:
        mechanisms += ["functional", "pooled"] if is_local else ["pooled"]
    mechanism = draw(st.sampled_from(mechanisms))
    given: dict[str, Any] = {
        "paradigm": paradigm,
        "mechanism": mechanism,
        "bound": draw(st.sampled_from([0.3, 1.0, 2.0])),
        "max_records": draw(st.sampled_from([3, 10])),
        "mean": draw(st.sampled_from(["weighted", "plain"])),
        "project": draw(st.booleans()),
        "remedy": draw(st.sampled_from(["project", "trim", "nonconvex"])),
        "sensitivity": draw(st.sampled_from(["tight", "printed"])),
        "clipping": draw(st.sampled_from(["items", "difference"])),
    }
    if is_local and draw(st.booleans()):
        given["epsilons"] = draw(st.sampled_from(_LEVELS))
    else:
        given["epsilon"] = draw(st.none() | _EPSILONS)
    if mechanism == "direction" and draw(st.booleans()):
        variance = draw(st.sampled_from(_VARIANCES))
        given["covariance"] = tuple(
            tuple(variance if row == column else variance / 4 for column in range(num_features))
            for row in range(num_features)
        )
    features = tuple(f"feature {number}" for number in range(num_features))
    return MoralPreferences(PreferenceParameters(features=features, **given))


@st.composite
def preference_sessions(draw: st.DrawFn, *, largest: int = 7, rules: SessionRules | None = None) -> Session:
    """Return sessions on moral preferences; their clients know their public rows, or ask.

    Features are small integers, so that alternatives which do not differ, records twice and voters whose records pull
    apart occur.
    """
    protocol = draw(moral_preferences())
    parameters = protocol.parameters
    features = st.lists(
        st.integers(-2, 2).map(float), min_size=parameters.num_features, max_size=parameters.num_features
    )
    voter = st.lists(st.tuples(features, features), min_size=1, max_size=3)
    num_voters = draw(sizes(largest))
    table: dict[str, list[Any]] = {"records": draw(st.lists(voter, min_size=num_voters, max_size=num_voters))}
    if parameters.is_personal:
        levels = st.sampled_from(parameters.epsilons)
        table["epsilon"] = draw(st.lists(levels, min_size=num_voters, max_size=num_voters))
    knows = draw(st.booleans())
    inputs = protocol.encode(table)
    return Session(protocol, inputs, seed=draw(seeds()), rules=rules, clients_know=knows)


_FAIR_MECHANISMS = [
    "laplace",
    "sampling",
    "exponential",
    "permute_and_flip",
    "local",
    "sampled_pair",
    "sampled_position",
    "whole_ranking",
    "noisy_scores",
    "joint",
    *JOINT,
]


@st.composite
def fair_votes(draw: st.DrawFn, *, largest: int = 9) -> FairVoting:
    """Return fair votes of two or three small groups; every mechanism and option occurs.

    Args:
        draw: hypothesis's.
        largest: how many voters there are at most, and at least two.
    """
    mechanism = draw(st.sampled_from(_FAIR_MECHANISMS))
    num_groups = draw(st.integers(2, min(3, largest)))
    group_sizes = draw(
        st.lists(st.integers(1, largest // num_groups), min_size=num_groups, max_size=num_groups).map(tuple)
    )
    num_alternatives = draw(st.integers(2, 4))
    equal_gaps = tuple(float(5 - 2 * place) for place in range(num_alternatives))
    scores: list[Any] = ["borda", equal_gaps]
    if mechanism not in {"sampled_pair", "joint_pair"}:
        scores += ["plurality", "veto", (4.0, *equal_gaps[1:])]
    given: dict[str, Any] = {
        "mechanism": mechanism,
        "epsilon": draw(_EPSILONS),
        "scores": draw(st.sampled_from(scores)),
        "objective": draw(st.sampled_from(["parity", "constrained", "penalized", "welfare_constrained"])),
        "max_disparity": draw(st.sampled_from([0.0, 0.5, 2.0])),
        "fairness_weight": draw(st.sampled_from([0.0, 0.5, 3.0])),
    }
    if mechanism in {"laplace", "exponential", "permute_and_flip"}:
        given["relation"] = draw(st.sampled_from(NeighboringRelation))
    if mechanism == "laplace":
        given["calibration"] = draw(st.sampled_from(["tight", "printed"]))
    if mechanism == "sampling":
        given |= {
            "reading": draw(st.sampled_from(["group", "subsample"])),
            "scale": draw(st.sampled_from(["unbiased", "printed"])),
            "gamma": draw(st.sampled_from([0.05, 0.5, 0.95])),
            "num_samples": draw(st.integers(1, min(group_sizes))),
        }
        if draw(st.booleans()):  # with γ = ½ less than ln(1 + m) is proven for the smallest groups
            given |= {"calibration": "proven", "epsilon": max(given["epsilon"], 2.0), "gamma": DEFAULT_GAMMA}
    if mechanism in {"local", *LOCAL} and draw(st.booleans()):
        given = {**given, "epsilons": draw(st.sampled_from(_LEVELS))}
        del given["epsilon"]
    if given["objective"] == "welfare_constrained":
        given["welfare_share"] = draw(st.sampled_from([0.25, 0.9, 1.0]))
    if num_groups == 3 and draw(st.booleans()):
        given["features"] = (Feature(name="one", of=("a", "a", "b")), Feature(name="other", of=("c", "d", "d")))
    return FairVoting(
        FairVotingParameters(
            alternatives=tuple(f"alternative {number}" for number in range(num_alternatives)),
            groups=tuple(f"group {number}" for number in range(num_groups)),
            group_sizes=group_sizes,
            **given,
        )
    )


@st.composite
def fair_sessions(draw: st.DrawFn, *, largest: int = 9, rules: SessionRules | None = None) -> Session:
    """Return fair votes with their voters, in any order of the groups; clients know their public rows, or ask."""
    protocol = draw(fair_votes(largest=largest))
    parameters = protocol.parameters
    members = [name for name, size in zip(parameters.groups, parameters.group_sizes, strict=True) for _ in range(size)]
    orders = st.permutations(parameters.alternatives).map(list)
    table: dict[str, list[Any]] = {
        "group": draw(st.permutations(members)),
        "ranking": draw(st.lists(orders, min_size=len(members), max_size=len(members))),
    }
    if levels := parameters.own_levels.epsilons:
        table["epsilon"] = draw(st.lists(st.sampled_from(levels), min_size=len(members), max_size=len(members)))
    knows = draw(st.booleans())
    inputs = protocol.encode(table)
    return Session(protocol, inputs, seed=draw(seeds()), rules=rules, clients_know=knows)


@st.composite
def choosers(draw: st.DrawFn) -> Chooser:
    """Return orders of delivery: which of the queues is next."""
    generator = draw(st.randoms(use_true_random=False))
    return lambda available: generator.randrange(len(available))
