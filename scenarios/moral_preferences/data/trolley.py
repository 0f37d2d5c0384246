"""Three trolley dilemmas as records: Switch, Loop and Footbridge, each answered by many people.

In each of them five people die unless somebody intervenes, and then one other person dies. An alternative is to
intervene or not to, and is described by what happens:

- `deaths`: 5 if nobody intervenes, else 1;
- `intervention`: 1 for the alternative to intervene, else 0;
- `means`: 1 if the one who dies stops the trolley, and so is used as a means (Loop, Footbridge);
- `personal_force`: 1 if that one is pushed by hand (Footbridge).

The last two are 0 where nobody intervenes. A negative preference for `deaths` is to save the many. Three dilemmas tell
four features of one voter apart only together with other voters'.

Source: Awad et al. (2020) for the data; Greene et al. (2009) for the difference between means and personal force. The
numbers are Psephos's own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.errors import ConfigurationError, list_choices, refuse, require
from ....protocol.moral_preferences.records import Records
from ...reading.batches import TableFiles
from .numbers import read_numbers
from .survey import Reading, Survey

TROLLEY_FEATURES: Final = ("deaths", "intervention", "means", "personal_force")
"""What each of the four numbers of an alternative is."""
DILEMMAS: Final[Mapping[str, Sequence[float]]] = {
    "Switch": (1.0, 1.0, 0.0, 0.0),
    "Loop": (1.0, 1.0, 1.0, 0.0),
    "Footbridge": (1.0, 1.0, 1.0, 1.0),
}
"""The alternative to intervene, by the dilemma's name."""

_INACTION: Final = (5.0, 0.0, 0.0, 0.0)
RESPONDENT: Final = "UserIP_Anonymized"  # the column that names respondents
_SCENARIO: Final = "Scenario"
_OUTCOME: Final = "Outcome"


def read_trolley(path: Path, *, min_records: int = 1, field: str = "file") -> Survey:
    """Return the survey of a file with the columns UserIP_Anonymized, Scenario and Outcome (1: intervene).

    Voters are respondents in the order in which they appear, under running numbers in place of their network addresses.
    Those with fewer dilemmas are dropped and counted. If one answers a dilemma again, the first answer counts and the
    others are counted as dropped. Other columns are ignored.
    """
    require(1 <= min_records <= len(DILEMMAS), "min_records", min_records, "1, 2 or 3")
    names = (RESPONDENT, _SCENARIO, _OUTCOME)
    files = TableFiles(path, field=field, wanted=names)
    missing = [name for name in names if name not in files.names]
    refuse(missing, f"{path.name} line 1", files.names, f"a header with {', '.join(missing)}")
    rows, numbers = read_numbers(files, names[:2], names[2:])
    outcomes = numbers[:, 0]
    is_fault = (outcomes != 0) & (outcomes != 1)
    if np.any(is_fault):
        row = int(np.argmax(is_fault))
        value = f"{outcomes[row]:g}"
        raise ConfigurationError(field=f"{_OUTCOME} ({rows.where(row + 1)})", value=value, allowed="1 (intervene) or 0")
    scenario_of_row, scenarios = rows.column(_SCENARIO).codes, rows.column(_SCENARIO).names
    for code, name in enumerate(scenarios):
        if name not in DILEMMAS:
            row = int(np.argmax(scenario_of_row == code))
            field = f"{_SCENARIO} ({rows.where(row + 1)})"
            raise ConfigurationError(field=field, value=name, allowed=list_choices(DILEMMAS, name))
    voter_of_row, respondents = rows.column(RESPONDENT).codes.astype(np.int64), rows.column(RESPONDENT).names
    if "" in respondents:
        row = int(np.argmax(voter_of_row == respondents.index("")))
        raise ConfigurationError(field=rows.where(row + 1), value="no respondent", allowed=f"a row with {RESPONDENT}")
    _, firsts = np.unique(voter_of_row * len(scenarios) + scenario_of_row, return_index=True)
    firsts = np.sort(firsts)
    row_order = firsts[np.argsort(voter_of_row[firsts], kind="stable")]
    counts = np.bincount(voter_of_row[row_order], minlength=len(respondents))
    is_kept = counts >= min_records
    kept_rows = row_order[is_kept[voter_of_row[row_order]]]
    kept = np.flatnonzero(is_kept)
    allowed = f"a file with a respondent who answered {min_records} dilemmas"
    require(len(kept), path.name, f"{len(voter_of_row)} rows", allowed)
    first_rows = np.full(len(respondents), len(voter_of_row))
    np.minimum.at(first_rows, voter_of_row, np.arange(len(voter_of_row)))
    actions = np.array([DILEMMAS[name] for name in scenarios])[scenario_of_row[kept_rows]]
    inactions = np.broadcast_to(np.array(_INACTION), actions.shape)
    intervenes = (outcomes[kept_rows] == 1)[:, None]
    width = len(str(len(respondents)))
    return Survey(
        voters=[f"respondent {number:0{width}d}" for number in (kept + 1).tolist()],
        features=TROLLEY_FEATURES,
        records=Records(
            np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64),
            np.where(intervenes, actions, inactions),
            np.where(intervenes, inactions, actions),
        ),
        source=path.name,
        reading=Reading(
            num_rows=len(voter_of_row),
            num_responses=len(voter_of_row),
            num_voters=len(kept),
            num_records=len(kept_rows),
            num_repeated=len(voter_of_row) - len(row_order),
            num_voters_dropped=len(respondents) - len(kept),
            num_records_dropped=len(row_order) - len(kept_rows),
        ),
        lines=[rows.lines[int(row)] for row in first_rows[kept]],
    )
