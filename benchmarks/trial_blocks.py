"""A trial in a block beside the same one by a whole session, which is how all were run, in one process by turns.

Seconds are the processor's, since ratios of a hundred are of a noisy machine's too.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Final

from psephos.scenarios import load_scenario
from psephos.scenarios.experiments.benches import Bench
from psephos.scenarios.experiments.measured import Cell
from psephos.scenarios.experiments.trials import prepare
from table import Row, at_least
from trials import interleave

__all__ = ["measure"]

_TURNS: Final = 5
_WHOLE: Final = 20  # trials by whole sessions in a turn
_BLOCKS: Final = 2_000
_CASES: Final = (
    ("DPWeVote printed, 100 partners", ("consortium", "partners.count=100", "variant=printed"), 0, 80),
    ("the same, drawn anew", ("consortium", "partners.count=100", "variant=printed"), 1, 80),
    ("DPWeVote laplace, 100 partners", ("consortium", "partners.count=100", "variant=laplace"), 0, None),
    ("DPWeVote printed, 2,000 partners", ("consortium", "variant=printed"), 0, None),
    ("fair voting, central Laplace, 1,500 voters", ("two-societies", "mechanism=laplace"), 0, 300),
    ("moral preferences, VLCP, 200 voters", ("moral-synthetic", "paradigm=VLCP"), 0, 20),
    ("truth discovery by auto, 50 workers of 40 tasks each", ("crowd",), 0, 4),
    ("truth discovery by the paper's weights, the same", ("crowd", "estimator=truth_discovery"), 0, None),
    ("truth discovery by majority, the same", ("crowd", "estimator=majority"), 0, None),
)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each system that decides in blocks.

    Args:
        quick: a tenth of the trials, and no targets: whole sessions are then too large a part of a block's.
    """
    number = _BLOCKS // (10 if quick else 1)
    for what, (name, *settings), redraw, least in _CASES:
        scenario, resolved = prepare(load_scenario(name, settings), redraws=redraw > 0)
        bench = Bench(resolved, Cell(settings=(), scenario=scenario, redraw=redraw))
        contestants = {
            "blocks": lambda bench=bench: _seconds(lambda: list(bench.run(range(number)))) / number,
            "whole": lambda bench=bench: _seconds(lambda: list(map(bench.whole, range(_WHOLE)))) / _WHOLE,
        }
        times = interleave(contestants, trials=_TURNS)
        ratio = times.ratio("whole", to="blocks")
        yield Row(
            f"a trial in a block beside a whole session, {what}",
            f"{1e6 * times.median('blocks'):.1f} µs",
            f"{1e6 * times.median('whole'):,.0f} µs",
            f"1/{ratio:.0f}",
            at_least(ratio, None if quick else least, unit=" ×"),
        )


def _seconds(run: Callable[[], object]) -> float:
    begin = process_time()
    run()
    return process_time() - begin
