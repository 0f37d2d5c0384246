"""The crowds of the experiments: the stand-in for the peer grading data, and the published ones of a folder."""

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ..crowd_reports import Layout
from ..data.published import CROWDS, load_crowd
from ..data.synthetic import PEER_GRADING_STAND_IN, make_peer_grading
from .published import GRIDS
from .rows import CrowdRow
from .trials import clean_accuracy

DUCHENNE: Final = "duchenne"
PEER_GRADING: Final = "peer-grading"
"""The stand-in's name."""


def load_layouts(folder: str) -> tuple[dict[str, Layout], dict[str, str]]:
    """Return the stand-in and what the folder has of the published crowds, by name, and why the others are not there.

    The folder is empty where nobody has named it; ConfigurationError where a data set is not what it should be.
    """
    layouts = {PEER_GRADING: Layout.of(make_peer_grading(PEER_GRADING_STAND_IN))}
    if not folder:
        return layouts, dict.fromkeys(GRIDS.compared, "no folder of data sets was named")
    path = Path(folder)
    missing: dict[str, str] = {}
    for name in GRIDS.compared:
        if (path / name).is_dir():
            layouts[name] = Layout.of(load_crowd(name, path))
        else:
            missing[name] = "not in the folder of data sets"
    return layouts, missing


def crowd_row(name: str, layout: Layout) -> CrowdRow:
    """Return what a crowd is, and what estimators find in its clean answers."""
    answers = layout.crowd.answers
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    truths = layout.crowd.truth[layout.is_gold]
    is_made_up = name == PEER_GRADING
    found = {
        estimator: clean_accuracy(layout, msgspec.structs.replace(layout.parameters, estimator=estimator))
        for estimator in ("majority", "truth_discovery", "auto")
    }
    return CrowdRow(
        crowd=name,
        title="Is the group's presentation satisfactory? (made up)"
        if is_made_up
        else CROWDS[name].title
        if name in CROWDS
        else name,
        is_made_up=is_made_up,
        tasks=answers.num_tasks,
        workers=answers.num_workers,
        answers=len(answers),
        gold=len(truths),
        labels=answers.num_classes,
        most_answers=int(counts.max()),
        median_answers=float(np.median(counts)),
        largest_class=float(np.bincount(truths).max() / len(truths)),
        **found,
    )
