"""A truth discovery session with all parties in one function, in the order of the paper's Algorithms 1 and 2.

Tests check that agents, the array path and replays equal it bit for bit.
"""

import numpy as np

from ..mechanisms import NO_ANSWER
from ..phases import Inputs
from ..population import PopulationResult
from ..randomness import SimulatedNoise
from ..tally import Tally
from .codes import NO_TASK
from .outcome import Outcome
from .protocol import TruthDiscovery


def reference_run(protocol: TruthDiscovery, inputs: Inputs, *, noise: SimulatedNoise) -> PopulationResult[Outcome]:
    """Run a session of any mechanism and estimator in which every worker answers.

    Source:
        Li et al. (2018), Algorithm 1 (`one_layer`) and Algorithm 2 (`two_layer`); `fresh_two_layer` is Algorithm 2 with
        a draw for each answer (reading T3).

    Examples:
        >>> from psephos.protocol.truth_discovery import Parameters
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, epsilon=4.0)
        >>> survey = TruthDiscovery(parameters)
        >>> inputs = survey.encode({"tasks": ["bridge"] * 3, "answers": ["yes", "yes", "no"]})
        >>> reference_run(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome.truths
        ('yes',)
    """
    codes, phase = protocol.codes, protocol.phase
    reports: list[list[int]] = []
    # Line 1, the server distributes the questions: a worker's public row has its index and its tasks.
    # Line 2, workers have their candidate answers: a private row has an answer to each of these tasks, or none.
    for place, answers in enumerate(inputs.private.tolist()):
        # Each worker has secret randomness: a uniform for each answer, and before each, or before all of them, the
        # uniforms with which its flip probability is drawn.
        mechanism = phase.mechanism_of(inputs.public[place].tolist())
        slots = mechanism.slots_of(len(answers))
        (uniforms,) = noise.uniforms(
            protocol=protocol.name, phase=phase.name, start=place, stop=place + 1, slots=slots
        ).tolist()
        # It perturbs its answers by Definition 5.1 and submits them: with the session's flip probability (Algorithm 1,
        # line 3), or with one that it first draws from the hyper-distribution (Algorithm 2, lines 3 and 4).
        reports.append(mechanism.randomize_row(answers, uniforms))
    # The server counts the submitted answers to each task, and stores which worker gave which.
    counts = np.zeros((len(phase.mechanisms), len(codes.tasks), max(codes.sizes)), dtype=np.int64)
    rows_kept: list[tuple[int, ...]] = []
    for (worker, *public), report in zip(inputs.public.tolist(), reports, strict=True):
        level_place = public[len(report) :]  # the index of its level of ε, if there are levels
        for task, code in zip(public, report, strict=False):
            if task == NO_TASK or code == NO_ANSWER:
                continue
            label = code - int(codes.offset_of_task[task])
            counts[level_place[0] if level_place else 0, task, label] += 1
            rows_kept.append((worker, task, label, *level_place))
    counts = counts if phase.is_personal else counts[0]
    tally = Tally(len(reports), counts, np.array(sorted(rows_kept), dtype=np.int64).reshape(-1, 3 + phase.is_personal))
    if phase.tally_mechanism is not None:
        # In the central model, the server has the exact answers, and keeps only noisy counts; for two labels, only that
        # of the second.
        exact = [
            int(counts_of_task[label])
            for counts_of_task, size in zip(counts, codes.size_of_task.tolist(), strict=True)
            for label in (range(size) if size > 2 else (1,))  # noqa: PLR2004  two labels
        ]
        stream = f"release of {phase.name}"
        noisy = noise.randomize(phase.tally_mechanism, exact, protocol=protocol.name, phase=stream, place=0)
        tally = Tally(len(reports), np.array([*noisy, *counts.sum(axis=1)], dtype=np.int64))
    # The last two lines: it applies truth discovery, releases the aggregated answers, and sends each worker its weight.
    return PopulationResult(protocol.outcome([tally]), (tally,), protocol.own_outcomes([tally]))
