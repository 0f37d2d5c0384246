"""The Moral Machine's dilemmas as numbers: twenty characters and three circumstances for each alternative.

One side of a dilemma is spared and the other one dies. An alternative is to spare one side, and its features describe
that side, the one which lives:

- how many of each of the twenty characters are on it;
- `intervention`: 1 if the car must swerve to spare them, that is, if they die when it stays in its lane; else 0;
- `passengers`: 1 if they are in the car, 0 if they are pedestrians;
- `legality`: +1 if they cross legally, -1 if illegally, 0 if no signal is in play (as for passengers).

The alternative that a voter chose is therefore the side that was spared, a positive preference for a feature means to
spare those who have it, and a negative one for `intervention` means to let the car stay in its lane. To describe those
who die instead would turn all signs around and change nothing else.

In the published files each row is one side: `Intervention` is 1 if the row's characters die when the car swerves, so
the feature is 1 - `Intervention`; `passengers` is `Barrier`; `CrossingSignal` is 0 for none, 1 for legal and 2 for
illegal; `Saved` is 1 on the side that was spared. `PedPed` says no more than the two sides' `Barrier`.

Source: Awad et al. (2018) for the columns; Noothigattu et al. (2018) for the 23 features by name. How these code the
three circumstances is not known to us; the code above is Psephos's own.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray

CHARACTERS: Final = (
    "Man",
    "Woman",
    "Pregnant",
    "Stroller",
    "OldMan",
    "OldWoman",
    "Boy",
    "Girl",
    "Homeless",
    "LargeWoman",
    "LargeMan",
    "Criminal",
    "MaleExecutive",
    "FemaleExecutive",
    "FemaleAthlete",
    "MaleAthlete",
    "FemaleDoctor",
    "MaleDoctor",
    "Dog",
    "Cat",
)
"""The columns of the published files that count characters, in their order."""
CIRCUMSTANCES: Final = ("Intervention", "Barrier", "CrossingSignal")
"""The columns from which the other three features come."""
FEATURES: Final[Sequence[str]] = (*CHARACTERS, "intervention", "passengers", "legality")
"""What each of the 23 numbers of an alternative is."""

_LEGALITY: Final = np.array([0.0, 1.0, -1.0])  # by CrossingSignal


def features_of_rows(entries: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> FloatArray:
    """Return the alternatives to spare the characters of these rows: float64, shape (rows, 23).

    Entries are uint8, shape (rows, at least 23): the counts of characters, then the circumstances, all allowed.
    """
    num_counts = len(CHARACTERS)
    features = np.empty((len(entries), len(FEATURES)))
    features[:, :num_counts] = entries[:, :num_counts]
    features[:, num_counts] = 1.0 - entries[:, num_counts]
    features[:, num_counts + 1] = entries[:, num_counts + 1]
    features[:, num_counts + 2] = _LEGALITY[entries[:, num_counts + 2]]
    return features
