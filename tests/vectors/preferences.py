"""Vectors of moral preferences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from helpers import SERVER, Session, hello
from psephos.protocol import JOIN, Inputs, SessionRules
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm, Parameters

from .recorder import Recorder, all_goes_well, with_a_forged_report

PAIRS: Final = (
    (((3.0, 0.0), (1.0, 1.0)), ((0.0, 2.0), (0.0, 0.0))),
    (((1.0, 1.0), (2.0, 0.0)),),
    (((0.0, 0.5), (1.0, 0.0)), ((2.0, 1.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 0.0))),
    (((5.0, -1.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 1.0))),
)
"""Each voter's records: for each the features of what it chose and of what it rejected."""
FITTED: Final = ((1 << 20, 0), (300_000, -200_000), (-500_001, 77), (0, 0))
"""Each voter's preference vector, in steps of 2**-19; a solver's last bits are no matter of the wire."""


def _preferences(*, quorum: float = 1.0, epsilon_of_voters: Sequence[float] = (), **given: Any) -> Session:
    """Return a session on moral preferences.

    Args:
        quorum: how many must take part.
        epsilon_of_voters: each voter's own ε, where they have one.
        given: parameters.
    """
    if epsilon_of_voters:
        given["epsilons"] = tuple(sorted(set(epsilon_of_voters)))
    protocol = MoralPreferences(Parameters(features=("young", "many"), max_records=3, **given))
    if protocol.parameters.mechanism == "laplace":
        table = {"epsilon": epsilon_of_voters, "society": ("north", "south", "south", "north")}
        public = protocol.encode_public(table, num_parties=len(FITTED))
        inputs = Inputs(np.array(FITTED, dtype=np.int64), public)
    else:
        inputs = protocol.encode({"records": PAIRS})
    return Session(protocol, inputs, seed=2019, rules=SessionRules(quorum=quorum))


def _good_preferences(about: str, **given: Any) -> Recorder:
    return all_goes_well(_preferences(**given), about)


def _forged_preferences(about: str, report: Sequence[int], *, width: int = 0) -> Recorder:
    """Let p2 disclose these numbers to an aggregator that voters trust, while three of four are enough."""
    session = _preferences(quorum=3, paradigm=Paradigm.VLCP)
    return with_a_forged_report(session, about, "p2", report, width=width)


def _chosen_outside() -> Recorder:
    """Let p2 say in its Hello that it chooses the fourth of three levels, while three of four are enough."""
    levels = (1.0, 0.25, 1.0, 4.0)
    session = _preferences(quorum=3, epsilon_of_voters=levels, chosen_by="voter")
    recorder = Recorder(session, "A voter chooses an ε that is no level, and is refused; the others go on.")
    recorder.start("p0", "p1", "p3")
    recorder.forge("p2", SERVER, hello("p2", protocol="moral-preferences", chosen=(3,)))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_preferences_local": lambda: _good_preferences("VLDP: each voter perturbs its own preference vector."),
    "good_preferences_central": lambda: _good_preferences(
        "VLCP: reports are the voters' own vectors as they are, and the server perturbs their sum.",
        paradigm=Paradigm.VLCP,
        project=True,
    ),
    "good_preferences_personal": lambda: _good_preferences(
        "RLDP: voters have an ε of their own, which is public, and the mean is weighted.",
        paradigm=Paradigm.RLDP,
        epsilon_of_voters=(1.0, 0.25, 1.0, 4.0),
    ),
    "good_preferences_chosen": lambda: _good_preferences(
        "VLDP: voters choose their own ε as they join; the server knows it by their Hellos alone.",
        epsilon_of_voters=(1.0, 0.25, 1.0, 4.0),
        chosen_by="voter",
    ),
    "good_preferences_societies": lambda: _good_preferences(
        "VLCP: two societies; the server draws noise for the sum of each, and the second one's from another stream.",
        paradigm=Paradigm.VLCP,
        societies=("north", "south"),
    ),
    "bad_preferences_chosen_outside_the_levels": _chosen_outside,
    "good_preferences_direction": lambda: _good_preferences(
        "RLDP: each voter perturbs the sum of its records' directions, whitened by a public covariance.",
        paradigm=Paradigm.RLDP,
        mechanism="direction",
        covariance=((4.0, 2.0), (2.0, 5.0)),
    ),
    "bad_preferences_outside_the_ball": lambda: _forged_preferences(
        "A voter discloses a vector that is one step of the grid outside of the ball; the others go on.",
        [1 << 20, 1],
    ),
    "bad_preferences_of_another_width": lambda: _forged_preferences(
        "A voter discloses three numbers where there are two features; the others go on.", [0, 0, 0]
    ),
    "bad_preferences_in_fewer_bytes": lambda: _forged_preferences(
        "A voter discloses numbers that fit into 1 byte in 1 byte each, where each has 5; the others go on.",
        [1, 1],
        width=1,
    ),
}
