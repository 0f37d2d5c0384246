"""A paper whose experiments are run again: what the command line may be asked of it, and says of it.

The rule that holds here: nothing heavy is imported, since the command line's help is made of this alone.
"""

import dataclasses
from collections.abc import Mapping

__all__ = ["OwnData", "Paper"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnData:
    """What of a paper's experiments can be run on somebody's own data.

    Args:
        options: the files that may be named, each a line of help by its option's name; the first is the data.
        experiments: "module:name" of an `Experiments`, as a `Paper` has it.
    """

    options: Mapping[str, str]
    experiments: str


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
        own: what can be run on somebody's own data, where a figure has a data set.
    """

    help: str
    experiments: str
    trials: int
    about_trials: str
    least_trials: int
    most_trials: int
    takes_data: bool = False
    takes_workers: bool = False
    own: OwnData | None = None
