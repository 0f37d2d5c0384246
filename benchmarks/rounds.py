"""By how much the ends of Dawid-Skene's estimators differ from crowd-kit's.

`.venv/bin/python benchmarks/rounds.py [FOLDER]`, the folder of all data sets (default: the variable PSEPHOS_DATA);
`make bench` installs crowd-kit. Both sides stop when the likelihood rises by less than 1e-5 an answer, which crowd-kit
takes after the M-step and we before it, so that they may end at different rounds. For each crowd, as answered and
perturbed by one layer, this prints how many rounds each has, which share of the truths is the same, and which share is
where ours has as many rounds as crowd-kit (`rounds=`).
"""

import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
from answer_frames import save_codes
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.truth_discovery.crowd_reports import draw_labels
from psephos.scenarios.truth_discovery.data.estimators import DawidSkene, OneCoinDawidSkene
from psephos.scenarios.truth_discovery.paper.runs import GRIDS, load_layouts, noise_at
from rivals import open_rival

__all__: list[str] = []

_EPSILONS: Final = (None, 2.0, 1.0, 0.5)
_SEED: Final = 1
# The largest takes crowd-kit a second or two; several times that where the machine has other work.
_MOST_SECONDS: Final = 120


class _Found(msgspec.Struct, frozen=True):
    """What crowd-kit found."""

    num_rounds: int
    labels: list[int]


_Codes = tuple[Any, Any, Any]


def _crowds(folder: str) -> Iterator[tuple[str, _Codes, Any]]:
    """Yield a name, the codes of tasks, workers and labels, and the truths."""
    for name, layout in load_layouts(folder, GRIDS["compared"])[0].items():
        answers = layout.crowd.answers
        for epsilon in _EPSILONS:
            labels, title = answers.labels, f"{name}, as answered"
            if epsilon is not None:
                noise = noise_at(layout, "one_layer", unit="one answer", price=epsilon)
                (labels,) = draw_labels(layout, noise, SimulatedNoise(_SEED, session=name), start=0, stop=1)
                title = f"{name}, ε = {epsilon:g}"
            yield title, (answers.tasks, answers.workers, labels), layout.crowd.truth


def _main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(DATA_VARIABLE, "")
    print("| crowd | estimator | rounds, crowd-kit | rounds, ours | same truths | same truths, rounds= |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: |")
    least, least_of_rounds, most = 1.0, 1.0, 0
    with open_rival("rival_rounds.py", most_seconds=_MOST_SECONDS) as rival, tempfile.TemporaryDirectory() as place:
        for title, codes, truth in _crowds(folder):
            save_codes(pathlib.Path(place), *codes, truth=truth)
            rival.tell(place.encode())
            theirs = msgspec.json.decode(rival.answer(), type=dict[str, _Found])
            for kind in (DawidSkene, OneCoinDawidSkene):
                found = theirs[kind.__name__]
                by_default = kind().fit(codes)
                as_many = kind(rounds=found.num_rounds).fit(codes)
                answered = np.unique(codes[0])
                shares = [float(np.mean(each.labels_[answered] == found.labels)) for each in (by_default, as_many)]
                ours = len(by_default.loss_history_)
                print(
                    f"| {title} | {kind.__name__} | {found.num_rounds} | {ours} | {shares[0]:.4f} | {shares[1]:.4f} |",
                    flush=True,
                )
                least, least_of_rounds = min(least, shares[0]), min(least_of_rounds, shares[1])
                most = max(most, abs(ours - found.num_rounds))
    print(f"\nThe least share is {least:.4f}, by {most} rounds at most; with as many rounds {least_of_rounds:.4f}.")


if __name__ == "__main__":
    _main()
