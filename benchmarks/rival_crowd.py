"""Truth inference by crowd-kit. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_crowd.py FOLDER FORM` loads the answers of a crowd, as `answer_frames.py` has them, into a frame. Then, for each
line that names a class of crowd-kit, it infers the truths as that class does by default, and prints as JSON the
seconds, the number of rounds, the share of right truths, and the peak of all memory so far beyond the input.
"""

import importlib
import json
import pathlib
import sys
from time import perf_counter
from typing import Any, Final

from answer_frames import load_frame, share_right
from peaks import peak_bytes, resident_bytes

__all__: list[str] = []

# So that what is imported or filled at the first call is there.
_WARM_UP_ROWS: Final = 1_000


def _main() -> None:
    folder, form = pathlib.Path(sys.argv[1]), sys.argv[2]
    classification: Any = importlib.import_module("crowdkit.aggregation.classification")
    frame = load_frame(folder, form)
    for name in ("MajorityVote", "OneCoinDawidSkene", "DawidSkene"):
        getattr(classification, name)().fit_predict(frame.head(_WARM_UP_ROWS))
    before = resident_bytes()
    for line in sys.stdin:
        aggregator = getattr(classification, line.strip())()
        begin = perf_counter()
        truths = aggregator.fit_predict(frame)
        seconds = perf_counter() - begin
        peak = peak_bytes()
        answer = {
            "seconds": seconds,
            "num_rounds": len(getattr(aggregator, "loss_history_", [])),
            "share_right": share_right(folder, truths),
            "added_bytes": None if peak is None or before is None else peak - before,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main()
