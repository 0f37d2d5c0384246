"""The crowds of the experiments: the stand-in for the peer grading data, and the published ones of a folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ...experiments.comparing import Row
from ...experiments.paper_files import rows_beside
from ..crowd_reports import Layout
from ..data.published import CROWDS, load_crowd
from ..data.synthetic import PEER_GRADING_STAND_IN, make_peer_grading
from .trials import OF_PAPER, clean_accuracy

DUCHENNE: Final = "duchenne"
PEER_GRADING: Final = "peer-grading"
"""The stand-in's name."""


def load_layouts(folder: str, names: Sequence[str]) -> tuple[dict[str, Layout], dict[str, str]]:
    """Return the stand-in and what the folder has of published crowds, by name, and why the others are not there.

    The folder is empty where nobody has named it; ConfigurationError where a data set is not what it should be.
    """
    layouts = {PEER_GRADING: Layout.of(make_peer_grading(PEER_GRADING_STAND_IN))}
    if not folder:
        return layouts, dict.fromkeys(names, "no folder of data sets was named")
    there = [name for name in names if (Path(folder) / name).is_dir()]
    layouts |= {name: Layout.of(load_crowd(name, Path(folder))) for name in there}
    return layouts, {name: "not in the folder of data sets" for name in names if name not in there}


def crowd_row(name: str, layout: Layout) -> Row:
    """Return what a crowd is, and what estimators find in its clean answers."""
    answers = layout.crowd.answers
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    truths = layout.crowd.truth[layout.is_gold]
    is_made_up = name == PEER_GRADING
    title = "Is the group's presentation satisfactory? (made up)" if is_made_up else name
    return {
        "crowd": name,
        "title": CROWDS[name].title if name in CROWDS else title,
        "is_made_up": is_made_up,
        "tasks": answers.num_tasks,
        "workers": answers.num_workers,
        "answers": len(answers),
        "gold": len(truths),
        "labels": answers.num_classes,
        "most_answers": int(counts.max()),
        "median_answers": float(np.median(counts)),
        "largest_class": float(np.bincount(truths).max() / len(truths)),
        **{estimator: clean_accuracy(layout, estimator) for estimator in (*OF_PAPER, "auto")},
    }


def table_1(crowds: Mapping[str, Row]) -> Iterator[Row]:
    """Yield Table 1's numbers beside ours, and the accuracy that Section 7.2 gives without saying of what."""
    for known in rows_beside(__name__, "crowds.csv"):
        for what, printed in list(known.items())[1:] if known["crowd"] in crowds else ():
            names = OF_PAPER if what == "accuracy" else (what,)
            for name in names:
                ours = crowds[known["crowd"]][name]
                distance = abs(ours - float(printed))
                yield {
                    "crowd": known["crowd"],
                    "what": name,
                    "ours": ours,
                    "printed": float(printed),
                    "distance": distance,
                }
