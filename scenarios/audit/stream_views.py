"""Checks of the reports of whole sessions: the laws of their numbers, and their independence.

A session's numbers are divided into *pieces*, each with an exact law: a whole report if there are few possible ones,
else each number. A *stream* is the sequence of all parties' reports in consecutive sessions. The tests are:

- all pieces of one law, pooled, including the tails of noise;
- each party of the roster, by a randomly chosen piece;
- two pieces of one report, adjacent or farther apart: for independence, or against their joint law if the row shares a
  flip probability, with the number of flipped answers;
- reports of one phase jointly with those of the next phase;
- one report jointly with a later one, at several distances, to detect a sampler's memory;
- everything else that a party sends, which must not depend on inputs: number, sizes and other bytes of messages.

Pieces that are counted together are independent of each other under the tested laws.
"""

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import (
    DiscreteLaplace,
    JointPair,
    Mechanism,
    PostProcessed,
    Prepared,
    ResponseSum,
    RowMechanism,
    SphericalLaplace,
    TwoLayer,
    VectorLaplace,
)
from .case import NO_PLACE, OutputView
from .mechanisms.checking import WITH_MARGINS, NoiseLaw, noise_of_laplace, noise_of_sphere
from .mechanisms.sampling import number_outputs

LAGS: Final = (1, 2, 3, 5, 8, 16, 31)
"""Distances at which reports, or numbers of one report, are tested jointly."""
# most possible reports for which a whole report is a piece; otherwise each number is one
_MOST_OUTPUTS: Final = 1 << 12
_MOST_CELLS: Final = 6  # cells of each piece in a joint test
_MOST_SORTED: Final = 64
"""Most outcomes that are sorted by probability, so that all values of a symmetric law share one test."""
_MOST_PAIRS: Final = 8  # pairs of dependent numbers in one row, for each distance
_MOST_OUTCOMES: Final = 1 << 14
_RANGES: Final = 24  # ranges of a sum, of about equal probability


@dataclasses.dataclass(frozen=True, eq=False)
class ReportPiece:
    """A part of a report, with its exact law."""

    columns: tuple[int, ...]  # its columns of the report
    law: FloatArray  # probabilities of its outcomes, shape (outcomes,)
    places: Callable[[IntArray], IntArray]  # maps the columns, shape (n, columns), to outcomes, shape (n,)

    @functools.cached_property
    def coarse(self) -> tuple[FloatArray, IntArray]:
        """The law of a few ranges of outcomes, and the range of each outcome, with `NO_PLACE` at the end."""
        is_large = len(self.law) > _MOST_SORTED
        order = np.arange(len(self.law)) if is_large else np.argsort(-np.round(self.law, 12), kind="stable")
        ends = np.cumsum(self.law[order])
        starts = np.concatenate([[0.0], ends[:-1]])
        cells = np.minimum((np.round(starts, 9) * _MOST_CELLS).astype(np.int64), _MOST_CELLS - 1)
        cells = np.unique(cells, return_inverse=True)[1]
        law: FloatArray = np.bincount(cells, weights=self.law[order]).astype(np.float64)
        table = np.full(len(self.law) + 1, NO_PLACE, dtype=np.int64)
        table[order] = cells
        return law, table


def pieces_of(mechanism: RowMechanism, row: Sequence[int]) -> list[ReportPiece]:
    """Return the pieces of a row's report; none if its numbers have no known law."""
    if isinstance(mechanism, PostProcessed):
        return []
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(len(row))
    if isinstance(mechanism, (DiscreteLaplace, VectorLaplace)):
        return [_noisy(place, value, noise_of_laplace(mechanism.scale)) for place, value in enumerate(row)]
    if isinstance(mechanism, ResponseSum):
        return [_piece_of_sum(mechanism, row, place) for place in range(width)]
    if isinstance(mechanism, SphericalLaplace):
        if mechanism.dimension not in WITH_MARGINS:
            return []
        noise = noise_of_sphere(mechanism.scale, mechanism.dimension)
        return [_noisy(place, value, noise) for place, value in enumerate(row)]
    if isinstance(mechanism, JointPair) and width * math.log(high - low + 1) > math.log(_MOST_OUTPUTS):
        return _pieces_of_signs(mechanism, row)
    if width * math.log(high - low + 1) <= math.log(_MOST_OUTPUTS) and not isinstance(mechanism, Mechanism | TwoLayer):
        reports = list(itertools.product(range(low, high + 1), repeat=width))
        return [_finite(mechanism, np.array(reports, dtype=np.int64), row, tuple(range(width)))]
    if width == 1 and high - low < _MOST_OUTCOMES:
        return [_finite(mechanism, np.arange(low, high + 1, dtype=np.int64)[:, None], row, (0,))]
    if isinstance(mechanism, Mechanism | TwoLayer) and high - low < _MOST_OUTCOMES:
        reports = np.arange(low, high + 1, dtype=np.int64)[:, None]
        by_value = {value: _finite(mechanism, reports, [value], (0,)) for value in set(row)}
        return [dataclasses.replace(by_value[value], columns=(place,)) for place, value in enumerate(row)]
    return []


def _finite(mechanism: RowMechanism, reports: IntArray, row: Sequence[int], columns: tuple[int, ...]) -> ReportPiece:
    law = np.exp(mechanism.log_likelihoods(reports, np.array([row], dtype=np.int64))[:, 0])
    encode = number_outputs(reports)
    return ReportPiece(columns, law / law.sum(), lambda outputs: encode(outputs)[:, 0])


def _noisy(place: int, value: int, noise: NoiseLaw) -> ReportPiece:
    return ReportPiece((place,), noise.law, lambda outputs: noise.cells(outputs[:, 0] - value))


def _piece_of_sum(mechanism: ResponseSum, row: Sequence[int], place: int) -> ReportPiece:
    """Return the piece of a sum's range, among ranges of about equal probability."""
    kinds, first = len(mechanism.gains), mechanism.width + place * len(mechanism.gains)
    single, own_row = dataclasses.replace(mechanism, width=1), [row[place], *row[first : first + kinds]]

    def tail(least: int) -> float:
        (chance,) = single.chances_to_reach(own_row, least)
        return chance

    low, high = mechanism.report_range
    span, parts = range(low, high + 2), [part / _RANGES for part in range(_RANGES)]
    starts = sorted({span[bisect.bisect_left(span, -part, key=lambda least: -tail(least))] for part in parts})
    tails = np.array([1.0, *map(tail, starts), 0.0])
    return ReportPiece((place,), -np.diff(tails), lambda outputs: np.searchsorted(starts, outputs[:, 0], side="right"))


def _pieces_of_signs(mechanism: JointPair, row: Sequence[int]) -> list[ReportPiece]:
    """Return the pieces of the question, and of the sign for the voter's group: preferred, opposite, or none."""
    size, agrees = mechanism.num_questions, mechanism.agree_probability
    group, positions = row[0] // mechanism.num_alternatives, np.array(row) % mechanism.num_alternatives
    first, second = mechanism.pairs
    answers = np.where(positions[first] <= positions[second], 1, -1)
    opposite = (1 - agrees) * mechanism.num_signs / (2 * mechanism.num_groups - mechanism.num_signs)

    def question_bit(outputs: IntArray) -> IntArray:
        return np.where((outputs[:, 0] >= 0) & (outputs[:, 0] < size), outputs[:, 0], NO_PLACE)

    def answer_bit(outputs: IntArray) -> IntArray:
        agreement = outputs[:, 1] * answers[np.clip(outputs[:, 0], 0, size - 1)]
        return np.where(np.abs(agreement) <= 1, 1 - agreement, NO_PLACE)

    law = np.array([agrees, 1 - agrees - opposite, opposite])
    return [
        ReportPiece((0,), np.full(size, 1 / size), question_bit),
        ReportPiece((0, 1 + group), law, answer_bit),
    ]


class _Placed(NamedTuple):
    """A piece with its columns of an output, its report's position in the stream, and its position in the report.

    It also has its party's index in the roster, its phase, its mechanism and the randomized row.
    """

    piece: ReportPiece
    columns: tuple[int, ...]
    turn: int
    place: int
    phase: int
    number: int
    mechanism: RowMechanism
    row: tuple[int, ...]


class Stream:
    """All parties' reports in consecutive sessions, in the order of an output's numbers.

    `reports` describe one session: for each party, its phases' mechanisms with the values that they randomize. `seed`
    draws which piece of each party is tested.
    """

    def __init__(
        self, reports: Sequence[Sequence[tuple[RowMechanism, Sequence[int]]]], *, num_sessions: int, seed: int
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._placed: list[_Placed] = []
        cut: dict[tuple[RowMechanism, tuple[int, ...]], list[ReportPiece]] = {}
        start = turn = 0
        for _ in range(num_sessions):
            for place, phases in enumerate(reports):
                for phase, (whole, values) in enumerate(phases):
                    mechanism, row = whole, tuple(values)
                    while isinstance(mechanism, Prepared):
                        mechanism, row = mechanism.noise, tuple(mechanism.prepare_row(list(row)))
                    if (mechanism, row) not in cut:
                        cut[mechanism, row] = pieces_of(mechanism, row)
                    for number, piece in enumerate(cut[mechanism, row]):
                        columns = tuple(start + column for column in piece.columns)
                        self._placed.append(_Placed(piece, columns, turn, place, phase, number, mechanism, row))
                    start += whole.num_reports_of(len(values))
                turn += 1
        self.width = start
        self._last: tuple[IntArray | None, IntArray] = None, np.zeros((0, 0), dtype=np.int64)

    def views(self, says_nothing: int | None = None) -> Iterator[OutputView]:
        """Yield the tests of an output; with `says_nothing`, its last number must always equal that digest."""
        if says_nothing is not None:
            yield OutputView(
                "sizes, numbers and other bytes of messages",
                np.ones(1),
                lambda outputs: np.where(outputs[:, -1] == says_nothing, 0, NO_PLACE),
            )
        yield from self._pooled_views()
        yield from self._views_of_places()
        yield from self._views_within_reports()
        yield from self._flips()
        yield from self._views_between_reports()

    def _outcomes(self, outputs: IntArray) -> IntArray:
        """Return the outcome of each piece, shape (n, pieces)."""
        if self._last[0] is not outputs:
            places = [placed_piece.piece.places(outputs[:, placed_piece.columns]) for placed_piece in self._placed]
            self._last = outputs, np.stack(places, axis=1) if places else np.zeros((len(outputs), 0), dtype=np.int64)
        return self._last[1]

    def _pooled_views(self) -> Iterator[OutputView]:
        groups: dict[tuple[int, int, int | bytes], list[int]] = {}
        for index, placed_piece in enumerate(self._placed):
            # Numbers of a row that share randomness are independent only of other rows' numbers.
            number = -1 if isinstance(placed_piece.mechanism, Mechanism) else placed_piece.number
            law = placed_piece.piece.law
            key = id(law) if len(law) > _MOST_OUTPUTS else law.tobytes()  # laws of noise are cached objects
            groups.setdefault((placed_piece.phase, number, key), []).append(index)
        for (phase, number, _), indices in groups.items():
            law = self._placed[indices[0]].piece.law
            name = f"phase {phase + 1}" if number < 0 else f"phase {phase + 1}, number {number + 1}"
            yield OutputView(name, law, self._taker(indices), each=len(indices))

    def _taker(self, indices: Sequence[int]) -> Callable[[IntArray], IntArray]:
        chosen_indices = np.array(indices)
        return lambda outputs: self._outcomes(outputs)[:, chosen_indices].reshape(-1)

    def _views_of_places(self) -> Iterator[OutputView]:
        """Yield a test of one drawn number for each party and phase, over all sessions of the stream."""
        by_place: dict[tuple[int, int], dict[int, list[int]]] = {}
        for index, placed_piece in enumerate(self._placed):
            by_place.setdefault((placed_piece.place, placed_piece.phase), {}).setdefault(
                placed_piece.number, []
            ).append(index)
        if len({place for place, _ in by_place}) == 1:
            return
        for (place, phase), numbers in by_place.items():
            indices = numbers[int(self._random.integers(len(numbers)))]
            law, table = self._placed[indices[0]].piece.coarse
            take = self._taker(indices)
            yield OutputView(
                f"place {place}, phase {phase + 1}",
                law,
                lambda outputs, take=take, table=table: table[take(outputs)],
                each=len(indices),
            )

    def _views_within_reports(self) -> Iterator[OutputView]:
        """Yield joint tests of two numbers of a report, and of a report's last number with the next phase's first."""
        by_report: dict[tuple[int, int], list[int]] = {}
        for index, placed_piece in enumerate(self._placed):
            by_report.setdefault((placed_piece.turn, placed_piece.phase), []).append(index)
        for lag in LAGS:
            independent: list[tuple[int, int]] = []
            pairs_of_report: dict[int, list[tuple[int, int]]] = {}
            for report in by_report.values():
                is_shared = isinstance(self._placed[report[0]].mechanism, TwoLayer)
                answered = [index for index in report if self._placed[index].row[self._placed[index].number] >= 0]
                indices = answered if is_shared else report
                pairs = list(zip(indices, indices[lag:], strict=False))
                if pairs and is_shared:
                    for number in range(0, len(pairs), max(1, len(pairs) // _MOST_PAIRS)):
                        pairs_of_report.setdefault(number, []).append(pairs[number])
                elif pairs and isinstance(self._placed[indices[0]].mechanism, Mechanism | JointPair):
                    independent += pairs
            yield from self._adjacent_views(f"numbers of one report, {lag} apart", _disjoint(independent))
            for number, pairs in pairs_of_report.items():
                yield from self._views_of_shared_flips(f"answers {number + 1} and {number + 1 + lag}", pairs)
        next_pairs = [
            (indices[-1], by_report[turn, phase + 1][0])
            for (turn, phase), indices in by_report.items()
            if (turn, phase + 1) in by_report
        ]
        yield from self._adjacent_views("one phase and the next", _disjoint(next_pairs))

    def _views_between_reports(self) -> Iterator[OutputView]:
        """Yield joint tests of one phase's reports at each distance in the stream."""
        by_phase: dict[tuple[int, int], dict[int, int]] = {}
        for index, placed_piece in enumerate(self._placed):
            by_phase.setdefault((placed_piece.phase, placed_piece.number), {})[placed_piece.turn] = index
        for (phase, number), turns in by_phase.items():
            if number and number != max(each for placed_piece, each in by_phase if placed_piece == phase) // 2:
                continue  # test only the first number, and one in the middle
            for lag in LAGS:
                pairs = [(turns[turn], turns[turn + lag]) for turn in sorted(turns) if turn + lag in turns]
                name = f"phase {phase + 1}, number {number + 1}, and {lag} reports later"
                yield from self._adjacent_views(name, _disjoint(pairs))

    def _adjacent_views(self, name: str, halves: Sequence[Sequence[tuple[int, int]]]) -> Iterator[OutputView]:
        """Yield joint tests of pairs of independent pieces, for each pair of laws separately."""
        for half in halves:
            groups: dict[bytes, list[tuple[int, int]]] = {}
            for pair in half:
                laws = [np.round(self._placed[index].piece.coarse[0], 12).tobytes() for index in pair]
                groups.setdefault(b"|".join(laws), []).append(pair)
            for pairs in groups.values():
                first, second = (self._placed[index].piece.coarse[0] for index in pairs[0])
                if len(first) * len(second) == 1:
                    continue
                yield OutputView(
                    name, np.outer(first, second).reshape(-1), self._make_pair_view(pairs, len(second)), each=len(pairs)
                )

    def _make_pair_view(self, pairs: Sequence[tuple[int, int]], size: int) -> Callable[[IntArray], IntArray]:
        tables = [[self._placed[index].piece.coarse[1] for index in pair] for pair in pairs]

        def places(outputs: IntArray) -> IntArray:
            outcomes = self._outcomes(outputs)
            columns: list[IntArray] = []
            for (one, other), (table, other_table) in zip(pairs, tables, strict=True):
                first, second = table[outcomes[:, one]], other_table[outcomes[:, other]]
                columns.append(np.where((first < 0) | (second < 0), NO_PLACE, first * size + second))
            return np.concatenate(columns)

        return places

    def _views_of_shared_flips(self, name: str, pairs: Sequence[tuple[int, int]]) -> Iterator[OutputView]:
        """Yield joint tests of which of two answers were flipped, for rows that share a flip probability."""
        first = self._placed[pairs[0][0]]
        assert isinstance(first.mechanism, TwoLayer)  # noqa: S101  as it was chosen
        keep_chance, flip_chance = (np.exp(first.mechanism.hyper.log_moments(2)[[0, 2]])).tolist()
        one = (1 - keep_chance - flip_chance) / 2
        law = np.array([keep_chance, one, one, flip_chance])
        answers = [[self._placed[index] for index in pair] for pair in pairs]

        def places(outputs: IntArray) -> IntArray:
            return np.concatenate([_flips_of(outputs, pair) @ np.array([2, 1]) for pair in answers])

        yield OutputView(name, law, places, each=len(pairs))

    def _flips(self) -> Iterator[OutputView]:
        """Yield tests of the number of flipped answers of a row that share a flip probability."""
        groups: dict[tuple[RowMechanism, int], dict[int, list[_Placed]]] = {}
        for placed_piece in self._placed:
            if isinstance(placed_piece.mechanism, TwoLayer):
                groups.setdefault((placed_piece.mechanism, placed_piece.phase), {}).setdefault(
                    placed_piece.turn, []
                ).append(placed_piece)
        for (mechanism, _), reports in groups.items():
            assert isinstance(mechanism, TwoLayer)  # noqa: S101  as it was chosen
            by_number: dict[int, list[list[_Placed]]] = {}
            for report in reports.values():
                answered = [placed_piece for placed_piece in report if placed_piece.row[placed_piece.number] >= 0]
                by_number.setdefault(len(answered), []).append(answered)
            for number, answers in by_number.items():
                ways = np.array([math.log(math.comb(number, flips)) for flips in range(number + 1)])
                law = np.exp(mechanism.hyper.log_moments(number) + ways)

                def places(outputs: IntArray, answers: list[list[_Placed]] = answers) -> IntArray:
                    return np.concatenate([_flips_of(outputs, report).sum(axis=1) for report in answers])

                yield OutputView(
                    f"how many of {number} answers are flipped", law / law.sum(), places, each=len(answers)
                )


def _flips_of(outputs: IntArray, answers: Sequence[_Placed]) -> IntArray:
    """Return which answers were flipped, 0 or 1, shape (n, answers)."""
    rows = np.array([answer.row[answer.number] for answer in answers])
    return (outputs[:, [answer.columns[0] for answer in answers]] != rows).astype(np.int64)


def _disjoint(pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the pairs in lists of disjoint pairs: no piece is twice in a list."""
    lists: list[list[tuple[int, int]]] = []
    used_by_list: list[set[int]] = []
    for pair in pairs:
        for pair_list, used_indices in zip(lists, used_by_list, strict=True):
            if used_indices.isdisjoint(pair):
                pair_list.append(pair)
                used_indices.update(pair)
                break
        else:
            lists.append([pair])
            used_by_list.append(set(pair))
    return lists
