"""A paper whose experiments are run again: its options on the command line, and its help.

The rule that holds here: nothing heavy is imported, since the command line's help is made of this alone.
"""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's experiments, as they are asked for: a system's part `reproduction`.

    Args:
        help: of its command, `psephos reproduce SYSTEM`: a line, and paragraphs.
        experiments: "module:name" of an `Experiments`: what is run, and how it is told.
        trials: of each cell, by default.
        about_trials: a line of help.
        least_trials: fewer are refused.
        most_trials: more are refused.
        takes_data: whether it can have a folder of data sets.
        takes_workers: whether it can have several processes.
        own: files that may be named, by their options, each a line of help; the first is somebody's own data, on which
            figures are run that have a data set.
        own_words: what may be said of that file, by options, each a line of help.
        own_experiments: "module:name" of the `Experiments` that are run then.
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
