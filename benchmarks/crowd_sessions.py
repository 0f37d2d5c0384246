"""The truth discovery that is measured as a session: so many workers, twenty answers each, one layer at ε = 1."""

from typing import Final

from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from psephos.scenarios.truth_discovery.data.parties import as_parties
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd
from sessions import Session

__all__ = ["ANSWERS_OF_EACH", "CrowdSession"]

ANSWERS_OF_EACH: Final = 20
_ANSWERS_A_TASK: Final = 10
_EPSILON: Final = 1.0
_SEED: Final = 1


class CrowdSession(Session):
    """Workers and their answers to binary tasks, ten answers a task on average.

    Args:
        num_workers: how many.
    """

    def __init__(self, num_workers: int) -> None:
        spec = SyntheticCrowd(
            tasks=num_workers * ANSWERS_OF_EACH // _ANSWERS_A_TASK,
            workers=num_workers,
            answers_per_worker=ANSWERS_OF_EACH,
            seed=_SEED,
        )
        loaded = as_parties(make_crowd(spec), is_generated=True)
        tasks, sets = loaded.parameters["tasks"], loaded.parameters["answer_sets"]
        protocol = TruthDiscovery(
            Parameters(
                tasks=tuple(tasks),
                answer_sets=tuple(map(tuple, sets)),
                max_answers=loaded.parameters["max_answers"],
                epsilon=_EPSILON,
            )
        )
        super().__init__(protocol, loaded.names, protocol.encode(loaded.table))
