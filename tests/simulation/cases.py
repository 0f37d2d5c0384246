"""Small sessions of all systems, in which a report that is counted twice, or is another's, shows."""

import functools
from typing import Any, Final

from helpers import make_fair_inputs, make_fair_vote, make_preference_inputs, make_preferences
from psephos.protocol import Inputs, PhasedProtocol
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.moral_preferences import Paradigm
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.truth_discovery import Parameters as TruthDiscoveryParameters
from psephos.protocol.truth_discovery import TruthDiscovery
from quiz import Parameters as QuizParameters
from quiz import Quiz, make_quiz_inputs

__all__ = ["LEVELS", "make_case"]

_EPSILON = 1.0
"""Small, so that a report that is drawn again is another one."""
LEVELS: Final = (0.5, 1.0, 2.0)
"""Of ε, where voters choose theirs."""


def sizes_for(num_parties: int) -> dict[str, int]:
    """Return T and c of a masked session of so many: as few as can be have to stay."""
    return {"threshold": num_parties // 2 + 1, "colluders": 0}


@functools.cache
def make_case(case: str, num_parties: int) -> tuple[PhasedProtocol[Any, Any], Inputs]:
    """Return a protocol of `plans.CASES`, of `plans.MODELS` or of `plans.GAME`, with the rows of all parties."""
    match case:
        case "dpwevote" | "dpwevote-laplace" | "dpwevote-game" | "dpwevote-central" | "dpwevote-masked":
            variant: Any = case.partition("-")[2]
            variant = variant if variant in {"laplace", "central", "masked"} else "joint"
            own: dict[str, Any] = {"game": "board"} if case == "dpwevote-game" else {}
            own |= sizes_for(num_parties) if case == "dpwevote-masked" else {}
            weights = (1.0, 2.0, 4.0, 8.0)
            vote = DPWeVote(
                Parameters(
                    candidates=("ada", "bob"), weights=weights, variant=variant, epsilon=_EPSILON, quota=7.0, **own
                )
            )
            held = [weights[place % 4] for place in range(num_parties)]
            table = {"weight": held, "ada": [1] * num_parties, "bob": [1 - place % 2 for place in range(num_parties)]}
            return vote, vote.encode(table)
        case "truth-discovery" | "truth-discovery-central" | "truth-discovery-masked":
            masked: dict[str, Any] = {"mechanism": "central"} if case == "truth-discovery-central" else {}
            if case == "truth-discovery-masked":
                masked = {"mechanism": "masked", **sizes_for(num_parties)}
            discovery = TruthDiscovery(
                TruthDiscoveryParameters(
                    tasks=("t0", "t1"),
                    answer_sets=(("a", "b"),),
                    answer_set_of_task=(0, 0),
                    max_answers=2,
                    epsilon_answer=_EPSILON / 2,
                    **masked,
                )
            )
            tasks = [[["t0", "t1"], ["t0"], ["t1", "t0"], ["t1"]][place % 4] for place in range(num_parties)]
            answers = [[["a", "b"], ["a"], ["b", "a"], ["a"]][place % 4] for place in range(num_parties)]
            return discovery, discovery.encode({"tasks": tasks, "answers": answers})
        case "moral-preferences" | "moral-preferences-central":
            paradigm = Paradigm.VLDP if case == "moral-preferences" else Paradigm.VLCP
            preferences = make_preferences(2, paradigm=paradigm, epsilon=2.0)
            return preferences, make_preference_inputs(preferences, num_parties)
        case "moral-preferences-masked":
            given: dict[str, Any] = {"paradigm": Paradigm.VLMP, "epsilon": 8.0, **sizes_for(num_parties)}
            summed = make_preferences(2, **given)
            return summed, make_preference_inputs(summed, num_parties)
        case "moral-preferences-chosen":
            chosen = make_preferences(2, epsilons=LEVELS, chosen_by="voter")
            return chosen, make_preference_inputs(chosen, num_parties)
        case "quiz":
            quiz = Quiz(QuizParameters(num_tasks=2, epsilon=_EPSILON))
            return quiz, make_quiz_inputs(quiz, num_parties)
        case _:
            sizes = (1, num_parties - 1)
            given = {"epsilon": _EPSILON}
            match case:
                case "fair-voting":
                    given["mechanism"] = "whole_ranking"
                case "fair-voting-central":
                    given["mechanism"] = "laplace"
                case "fair-voting-masked":
                    given |= {"mechanism": "masked", **sizes_for(num_parties)}
                case _:
                    given |= {"mechanism": "laplace", "relation": NeighboringRelation.ADD_OR_REMOVE_ONE}
            fair = make_fair_vote(*sizes, **given)
            return fair, make_fair_inputs(fair)
