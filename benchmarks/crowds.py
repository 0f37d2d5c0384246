"""Truth inference from a crowd's answers, beside crowd-kit: the same answers, the same number of rounds of EM.

Both sides stop when the likelihood of all answers rises by less than 1e-5 an answer, or after 100 rounds, but they do
not evaluate it at the same point of a round. So crowd-kit says how many rounds it had, and ours has as many. Truth
discovery is a method of its own, with its own end: it stops when no truth changes.
"""

import dataclasses
import pathlib
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
from answer_frames import load_codes, load_frame, share_right
from crowd_scale import added_memory, write_crowd
from psephos.scenarios.truth_discovery.data.estimators import (
    DawidSkene,
    MajorityVote,
    OneCoinDawidSkene,
    TruthDiscovery,
)
from rivals import RivalError, open_rival
from table import Row, at_least, at_most, skipped
from trials import Times, timed

__all__ = ["measure"]

_TENTH: Final = 0.1
_NO_SLOWER: Final = 1.0
_NO_LESS: Final = 1.0
_MEGABYTE: Final = 1_000_000
_MOST_MEGABYTES: Final = 150
# A rival's run takes up to half a minute, and several times that where the machine has other work.
_MOST_SECONDS: Final = 300
# In how many trials each takes part: what is tens of times slower than ours is so in one as well.
_TRIALS: Final = {"MajorityVote": 3, "DawidSkene": 3, "OneCoinDawidSkene": 1}
# Its memory is compared with ours. A process tells its peak so far, so whoever may need more comes later.
_WITH_MEMORY: Final = "DawidSkene"
# Of ours in each trial.
_TURNS: Final = 3
_FORMS: Final = {"codes": "integer codes", "names": "a frame of text"}


class _Answer(msgspec.Struct, frozen=True):
    """What a contestant says of a run; memory beyond the input is for a rival to tell."""

    seconds: float
    num_rounds: int
    share_right: float
    added_bytes: int | None = None


@dataclasses.dataclass(frozen=True)
class _Contest:
    """Who is beside whom.

    Args:
        name: of ours.
        make: our estimator, of the rival's number of rounds.
        rival: crowd-kit's class.
        most: of the rival's time.
        is_compared: whether a row compares accuracies.
    """

    name: str
    make: Callable[[int], Any]
    rival: str
    most: float
    is_compared: bool = True


_CONTESTS: Final = (
    _Contest("truth discovery", lambda _: TruthDiscovery(), "MajorityVote", _NO_SLOWER),
    _Contest("truth discovery", lambda _: TruthDiscovery(), "DawidSkene", _TENTH),
    _Contest("one-coin EM", lambda rounds: OneCoinDawidSkene(rounds=rounds), "OneCoinDawidSkene", _TENTH),
    _Contest("Dawid–Skene", lambda rounds: DawidSkene(rounds=rounds), "DawidSkene", _NO_SLOWER),
    _Contest("majority vote", lambda _: MajorityVote(), "MajorityVote", _NO_SLOWER, is_compared=False),
)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds, accuracy and memory for binary answers and for five labels; a quick run has the first of them."""
    num_answers = 100_000 if quick else 1_000_000
    kinds = ((2, "binary answers"), (5, "answers of 5 labels"))
    for num_labels, labels in kinds[:1] if quick else kinds:
        what = f"{num_answers:,} {labels}"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_crowd(folder, num_answers=num_answers, num_labels=num_labels)
            for form, form_in_words in _FORMS.items():
                try:
                    rows = list(_compare(folder, form, f"{what} as {form_in_words}", has_targets=not quick))
                except RivalError as error:
                    yield skipped(f"{what} as {form_in_words}, beside crowd-kit", str(error))
                else:
                    yield from rows


def _compare(folder: pathlib.Path, form: str, what: str, *, has_targets: bool) -> Iterator[Row]:
    """Yield the rows of one form of the answers; accuracies, which no form changes, with the codes."""
    data = load_codes(folder) if form == "codes" else load_frame(folder, form)
    added_bytes: int | None = None
    with open_rival("rival_crowd.py", str(folder), form, most_seconds=_MOST_SECONDS) as rival:
        for name, trials in _TRIALS.items():
            contests = [contest for contest in _CONTESTS if contest.rival == name]
            theirs: list[_Answer] = []
            ours: dict[str, list[_Answer]] = {contest.name: [] for contest in contests}
            for _ in range(trials):
                rival.tell(name.encode())
                theirs.append(msgspec.json.decode(rival.answer(), type=_Answer))
                for contest in contests:
                    ours[contest.name].append(_run(contest.make(theirs[0].num_rounds), data, folder))
            for contest in contests:
                yield _seconds(what, contest, ours[contest.name], theirs, has_target=has_targets)
                if form == "codes" and contest.is_compared:
                    yield _accuracies(what, contest, ours[contest.name][0], theirs[0], has_target=has_targets)
            if name == _WITH_MEMORY:
                added_bytes = theirs[0].added_bytes
    yield _memory(what, added_memory(folder, form), added_bytes, has_target=has_targets)


def _run(estimator: Any, data: Any, folder: pathlib.Path) -> _Answer:
    """Run ours some times, and return the median of the seconds."""
    seconds = statistics.median(timed(lambda: estimator.fit_predict(data)) for _ in range(_TURNS))
    return _Answer(
        seconds=seconds,
        num_rounds=estimator.inference_.num_iterations,
        share_right=share_right(folder, estimator.labels_),
    )


def _seconds(
    what: str, contest: _Contest, ours: Sequence[_Answer], theirs: Sequence[_Answer], *, has_target: bool
) -> Row:
    times = Times({"ours": [each.seconds for each in ours], "theirs": [each.seconds for each in theirs]})
    ratio = times.ratio("ours", to="theirs")
    return Row(
        f"{contest.name} of {what}, beside crowd-kit's {contest.rival}",
        f"{times.median('ours'):.2f} s{_rounds(ours[0].num_rounds)}",
        f"{times.median('theirs'):.2f} s{_rounds(theirs[0].num_rounds)}",
        f"{ratio:.3f}",
        at_most(ratio, contest.most if has_target else None),
    )


def _rounds(number: int) -> str:
    return f" ({number} rounds)" if number else ""


def _accuracies(what: str, contest: _Contest, ours: _Answer, theirs: _Answer, *, has_target: bool) -> Row:
    ratio = ours.share_right / theirs.share_right
    return Row(
        f"truths found by {contest.name} in {what}, beside crowd-kit's {contest.rival}",
        f"{ours.share_right:.3%}",
        f"{theirs.share_right:.3%}",
        f"{ratio:.4f}",
        at_least(ratio, _NO_LESS if has_target else None),
    )


def _memory(what: str, ours: int | None, theirs: int | None, *, has_target: bool) -> Row:
    name = f"memory beyond the input, {what}: the most of truth discovery and both EMs, beside crowd-kit's DawidSkene"
    if ours is None or theirs is None:
        return skipped(name, "this system does not tell")
    most = _MOST_MEGABYTES if has_target else None
    return Row(
        name,
        f"{ours / _MEGABYTE:,.0f} MB",
        f"{theirs / _MEGABYTE:,.0f} MB",
        f"{ours / theirs:.2f}",
        at_most(ours / _MEGABYTE, most, unit=" MB"),
    )
