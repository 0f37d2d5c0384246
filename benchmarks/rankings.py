"""Rankings drawn by the laws of societies, beside prefsampling; winners of a profile, beside pref_voting.

Both sides' rankings are held against the exact law: of each of the 24 rankings the share in all trials together lies
within five standard errors of its probability, or there is no row but a reason. Uniforms count as ours. Winners must be
the same ones.
"""

import itertools
import math
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import numpy as np
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting.rankings import Rankings, positions_of_orders
from psephos.protocol.fair_voting.rules import RULES
from psephos.protocol.randomness import philox_rows
from psephos.scenarios.fair_voting.data.mallows import draw_mallows, mallows_probabilities
from psephos.scenarios.fair_voting.data.plackett_luce import draw_plackett_luce, plackett_luce_probabilities
from psephos.scenarios.fair_voting.data.societies import MallowsGroup, Society, make_profile
from rivals import Rival, RivalError, open_rival
from table import Row, at_least, at_most, skipped
from trials import interleave, timed

__all__ = ["measure"]

_NUM_VOTERS: Final = 4_000
_DISPERSION: Final = 0.38
_WEIGHTS: Final = (4.0, 3.0, 2.0, 1.0)
_NUM_ALTERNATIVES: Final = len(_WEIGHTS)
_LEAST_RATIO: Final = 20
_TRIALS: Final = 5
_MOST_SECONDS: Final = 1.0
# Of the rankings of a right law, one in 2 million is farther off.
_MOST_STANDARD_ERRORS: Final = 5
_NAMES_OF_CULTURES: Final = {"mallows": "Mallows's law", "plackett_luce": "Plackett and Luce's law"}
_RULES: Final = ("plurality", "borda", "copeland")
# The first answer of pref_voting waits until its functions are compiled.
_MOST_SECONDS_OF_RULES: Final = 300
# With many distinct rankings a profile of theirs takes seconds.
_TRIALS_OF_RULES: Final = 3


class _Draws(msgspec.Struct, frozen=True):
    """What a rival says of rankings that it drew."""

    seconds: float
    counts: list[int]


class _Winners(msgspec.Struct, frozen=True):
    """What a rival says of a rule."""

    seconds: float
    winners: list[int]


class _Culture:
    """One law of rankings of four alternatives, drawn by ours, and what has been drawn so far by either side.

    Args:
        name: as rivals know it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._positions = positions_of_orders(
            np.array(list(itertools.permutations(range(_NUM_ALTERNATIVES))), dtype=np.int64)
        )
        self._drawn = {side: np.zeros(len(self._positions), dtype=np.int64) for side in ("ours", "theirs")}
        self._trial = 0

    @property
    def law(self) -> FloatArray:
        """The probability of each ranking, in the order of `itertools.permutations`."""
        if self.name == "mallows":
            return mallows_probabilities(self._positions, center=range(_NUM_ALTERNATIVES), dispersion=_DISPERSION)
        return plackett_luce_probabilities(self._positions, weights=_WEIGHTS)

    def run(self) -> float:
        """Draw rankings, others each time, and return the seconds."""
        drawn: list[IntArray] = []
        self._trial += 1
        seconds = timed(lambda: drawn.append(self._draw()))
        powers = _NUM_ALTERNATIVES ** np.arange(_NUM_ALTERNATIVES, dtype=np.int64)
        keys, places = np.unique(self._positions @ powers, return_inverse=True)
        counts = np.bincount(np.searchsorted(keys, drawn[0] @ powers), minlength=len(keys))
        self._drawn["ours"] += counts[places]
        return seconds

    def ask(self, rival: Rival) -> float:
        """Let a rival do the same."""
        rival.tell(f"{self.name} {self._trial}".encode())
        answer = msgspec.json.decode(rival.answer(), type=_Draws)
        self._drawn["theirs"] += np.array(answer.counts, dtype=np.int64)
        return answer.seconds

    def check(self) -> None:
        """Make sure that both sides have drawn by the law.

        Raises:
            ValueError: a ranking's share is too far from its probability.
        """
        for side, counts in self._drawn.items():
            number = int(counts.sum())
            for share, probability in zip((counts / number).tolist(), self.law.tolist(), strict=True):
                error = math.sqrt(probability * (1 - probability) / number)
                if not abs(share - probability) <= _MOST_STANDARD_ERRORS * error:
                    raise ValueError(f"{side}: a share of {share:.5f} where it is {probability:.5f} ± {error:.5f}")

    def _draw(self) -> IntArray:
        if self.name == "mallows":
            uniforms = philox_rows(self._trial, start=0, stop=_NUM_VOTERS, slots=_NUM_ALTERNATIVES - 1)
            return draw_mallows(uniforms, center=range(_NUM_ALTERNATIVES), dispersion=_DISPERSION)
        uniforms = philox_rows(self._trial, start=0, stop=_NUM_VOTERS, slots=_NUM_ALTERNATIVES)
        return draw_plackett_luce(uniforms, weights=_WEIGHTS)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds for rankings of a few alternatives and of many voters, and for the winners of a profile."""
    yield from _draws()
    yield _many(100_000 if quick else 1_000_000, has_target=not quick)
    yield from _winners(_NUM_VOTERS, 4)
    yield from _winners(5_000 if quick else 20_000, 10)


def _draws() -> Iterator[Row]:
    weights = ",".join(map(str, _WEIGHTS))
    try:
        with open_rival("rival_rankings.py", "prefsampling", str(_NUM_VOTERS), str(_DISPERSION), weights) as rival:
            rows = [_compare_draws(_Culture(name), rival) for name in _NAMES_OF_CULTURES]
    except (RivalError, ValueError) as error:
        yield skipped(f"{_NUM_VOTERS:,} rankings of {_NUM_ALTERNATIVES}, beside prefsampling", str(error))
    else:
        yield from rows


def _compare_draws(culture: _Culture, rival: Rival) -> Row:
    times = interleave({"ours": culture.run, "theirs": lambda: culture.ask(rival)}, trials=_TRIALS)
    culture.check()
    ratio = times.ratio("theirs", to="ours")
    return Row(
        f"{_NUM_VOTERS:,} rankings of {_NUM_ALTERNATIVES} by {_NAMES_OF_CULTURES[culture.name]}, beside prefsampling",
        f"{_NUM_VOTERS / times.median('ours'):,.0f} rankings/s",
        f"{_NUM_VOTERS / times.median('theirs'):,.0f} rankings/s",
        f"{ratio:.0f}",
        at_least(ratio, _LEAST_RATIO),
    )


def _many(num_voters: int, *, has_target: bool) -> Row:
    """Measure a whole profile of two groups, with groups and names, beside its uniforms alone."""
    groups = {name: MallowsGroup(voters=num_voters // 2, dispersion=_DISPERSION) for name in ("north", "south")}
    society = Society(alternatives=tuple("abcdefghij"), groups=groups)
    slots = len(society.alternatives) - 1
    contestants: dict[str, Callable[[], float]] = {
        "ours": lambda: timed(lambda: make_profile(society)),
        "uniforms": lambda: timed(lambda: philox_rows(1, start=0, stop=num_voters, slots=slots)),
    }
    times = interleave(contestants, trials=_TRIALS)
    return Row(
        f"profile of {num_voters:,} rankings of {slots + 1} by Mallows's law, beside its uniforms alone",
        f"{times.median('ours'):.2f} s",
        f"{times.median('uniforms'):.2f} s",
        f"{times.ratio('ours', to='uniforms'):.1f}",
        at_most(times.median("ours"), _MOST_SECONDS if has_target else None, unit=" s"),
    )


def _winners(num_voters: int, num_alternatives: int) -> Iterator[Row]:
    what = f"winners of {num_voters:,} rankings of {num_alternatives}"
    uniforms = philox_rows(2, start=0, stop=num_voters, slots=num_alternatives - 1)
    rankings = Rankings(draw_mallows(uniforms, center=range(num_alternatives), dispersion=0.9))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "orders.npy"
        np.save(file, positions_of_orders(rankings.positions))  # an inverse goes in both directions
        try:
            with open_rival(
                "rival_rankings.py", "pref_voting", str(file), most_seconds=_MOST_SECONDS_OF_RULES
            ) as rival:
                rows = [_compare_winners(what, rule, rankings, rival) for rule in _RULES]
        except (RivalError, ValueError) as error:
            yield skipped(f"{what}, beside pref_voting", str(error))
        else:
            yield from rows


def _compare_winners(what: str, rule: str, rankings: Rankings, rival: Rival) -> Row:
    def ask() -> float:
        rival.tell(rule.encode())
        answer = msgspec.json.decode(rival.answer(), type=_Winners)
        if answer.winners != RULES[rule](rankings):
            raise RivalError(f"{rule} elects {answer.winners} there, and {RULES[rule](rankings)} here")
        return answer.seconds

    times = interleave(
        {"ours": lambda: timed(lambda: RULES[rule](rankings)), "theirs": ask},
        trials=_TRIALS_OF_RULES,
    )
    return Row(
        f"{rule} {what}, beside pref_voting",
        f"{1000 * times.median('ours'):.2f} ms",
        f"{1000 * times.median('theirs'):.2f} ms",
        f"{times.ratio('theirs', to='ours'):.1f}",
    )
