"""The estimates that poisoners push in a survey: the number of workers with a label, for each task and in total."""

from collections.abc import Sequence

import numpy as np

from ....protocol.estimators import Estimate
from ....protocol.tally import Tally
from ....protocol.truth_discovery import TruthDiscovery


def estimates_of(protocol: TruthDiscovery, tallies: Sequence[Tally], aim: str) -> dict[str, Estimate]:
    """Return the estimated numbers of answers "LABEL" over all tasks, and "TASK=LABEL" for each; only `aim`, if given.

    A report of the label adds (1 − μ)/λ, any other report −μ/λ, where an answer is reported correctly with probability
    λ + μ, and as each other label with probability μ.
    """
    (tally,), parameters, sizes = tallies, protocol.parameters, protocol.codes.size_of_task[:, None]
    counts, _ = protocol.counts_of(tally)
    values, variances = np.zeros(counts.shape), np.zeros(counts.shape)
    if (noise_variance := protocol.noise.count_noise(tally.num_reports)) is not None:
        values += counts / [[noise_variance.parts_of(size)] for (size,) in sizes.tolist()]
        variances += [[noise_variance.error_of(size) ** 2] for (size,) in sizes.tolist()]
    else:
        of_levels = tally.totals.reshape(len(protocol.noises), *counts.shape)
        for cell_counts, noise in zip(of_levels, protocol.noises, strict=True):
            flips = np.array(noise.flip_probabilities)[protocol.codes.set_of_task][:, None]
            lies, answers = flips / (sizes - 1), cell_counts.sum(axis=-1, keepdims=True)
            keep_chance = 1 - flips - lies
            estimate = (cell_counts - lies * answers) / keep_chance
            of_own, of_others = flips * (1 - flips), lies * (1 - lies)
            spread = np.maximum(
                estimate * of_own + (answers - estimate) * of_others, answers * np.minimum(of_own, of_others)
            )
            values, variances = values + estimate, variances + spread / keep_chance**2
    cells: dict[str, list[tuple[int, int]]] = {}
    for task, (name, kind) in enumerate(zip(parameters.tasks, parameters.set_of_task, strict=True)):
        for column, label in enumerate(parameters.answer_sets[kind]):
            for cell_name in (label, f"{name}={label}"):
                if aim in {"", cell_name}:
                    cells.setdefault(cell_name, []).append((task, column))
    return {
        cell_name: Estimate(values[*places].sum(), np.sqrt(variances[*places].sum()))
        for cell_name, cell_counts in sorted(cells.items(), key=lambda each: "=" in each[0])
        for places in [np.transpose(cell_counts)]
    }
