"""Dawid-Skene by crowd-kit, and in how many rounds. Runs by the rivals' interpreter, knows nothing of Psephos.

For each line that names the folder of a crowd (`answer_frames.py`), it infers the truths as crowd-kit does by default,
and prints as JSON the number of rounds and the label of each task that has an answer, in the order of their codes.
"""

import importlib
import json
import pathlib
import sys
from typing import Any, Final

from answer_frames import load_frame

__all__: list[str] = []

_CLASSES: Final = ("DawidSkene", "OneCoinDawidSkene")


def _main() -> None:
    classification: Any = importlib.import_module("crowdkit.aggregation.classification")
    for line in sys.stdin:
        frame = load_frame(pathlib.Path(line.strip()), "codes")
        found: dict[str, Any] = {}
        for name in _CLASSES:
            aggregator = getattr(classification, name)()
            truths = aggregator.fit_predict(frame).sort_index()
            found[name] = {"num_rounds": len(aggregator.loss_history_), "labels": truths.tolist()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _main()
