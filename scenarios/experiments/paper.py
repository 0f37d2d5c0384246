"""Options and help of the command that repeats a paper's experiments.

This module imports nothing heavy, since the command line's help needs only this.
"""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paper:
    """The options of a paper's reproduction; a system's part `reproduction`.

    Args:
        help: help of its command `psephos reproduce SYSTEM`: a line, and paragraphs.
        experiments: "module:name" of its `Experiments`.
        trials: default number of trials of each cell.
        about_trials: a line of help on trials.
        least_trials: the least allowed number of trials.
        most_trials: the greatest allowed number of trials.
        takes_data: whether it has the option of a folder of data sets.
        takes_workers: whether it has the option of several processes.
        own: maps options for files to lines of help. The first file is the user's data, which replaces the paper's in
            experiments on data sets.
        own_words: maps further options for that file to lines of help.
        own_experiments: "module:name" of the `Experiments` on the user's data.
    """

    help: str
    experiments: str
    trials: int
    about_trials: str
    least_trials: int
    most_trials: int
    takes_data: bool = False
    takes_workers: bool = False
    own: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    own_words: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    own_experiments: str = ""
