"""Hypothesis strategies for sessions: parameters of every variant, inputs, sizes, seeds, orders of delivery.

Import these together with `CHECKED`, which makes every run draw the same examples.
"""

from typing import Any

from helpers import Chooser, Session, make_names
from hypothesis import settings
from hypothesis import strategies as st
from psephos.protocol import Inputs, PhaseRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.estimators import Estimate

__all__ = ["CHECKED", "choosers", "inputs_of", "parameters", "seeds", "sessions", "sizes", "told", "votes"]

CHECKED = settings(deadline=None, derandomize=True, max_examples=40)
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


def told(estimate: Estimate | None) -> Estimate:
    """Return an estimate that this variant's outcome has."""
    assert estimate is not None
    return estimate


def sizes(largest: int = 9) -> st.SearchStrategy[int]:
    """Return numbers of parties."""
    return st.integers(1, largest)


def seeds() -> st.SearchStrategy[int]:
    """Return seeds, large ones too."""
    return st.integers(0, 2**70)


@st.composite
def parameters(draw: st.DrawFn) -> Parameters:
    """Return the parameters of some DPWeVote session; every variant and option occurs."""
    if draw(st.booleans()):
        return draw(_signed_parameters())
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
    return Parameters(weights=weights, **given)


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
def sessions(draw: st.DrawFn, *, largest: int = 9, default_rules: PhaseRules | None = None) -> Session:
    """Return sessions of all variants, with their parties."""
    vote = draw(votes())
    num_parties = draw(sizes(largest))
    inputs = draw(inputs_of(vote, num_parties))
    return Session(vote, inputs, seed=draw(seeds()), names=make_names(num_parties), default_rules=default_rules)


@st.composite
def choosers(draw: st.DrawFn) -> Chooser:
    """Return orders of delivery: which of the queues is next."""
    generator = draw(st.randoms(use_true_random=False))
    return lambda available: generator.randrange(len(available))
