"""The power of partners: indices of a vote's weighted game, and the influence of an opinion on the released decision.

Power is computed only from known weights: public ones, or those of synthetic partners. Estimated numbers of partners
with each private weight would define a different game, and an index has no standard error that could express this.

The influence on the release is exact if weights are public and opinions are reported by a channel
(`protocol.dpwevote.game`). Otherwise votes are simulated with opinions that are fair coins: each partner's reports are
drawn for "yes" and for "no" with the same uniforms, and the fraction of trials in which the decision differs is
counted.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from rich.console import Console
from rich.text import Text

from ...protocol.arrays import FloatArray
from ...protocol.dpwevote import DPWeVote
from ...protocol.dpwevote.game import MemberPower, WeightedGame, released_power
from ...protocol.errors import refuse
from ...protocol.estimators import Estimate
from ..presentation import drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel, save_chart
from ..presentation.numbers import pluralize
from ..presentation.terminal import percent, show_facts, show_note, show_table
from ..running.folder import RunFolder
from ..running.resolution import Local
from ..running.studies import Study, StudyTable, write_study
from ..tables import Table

_MOST_SHOWN: Final = 10**12  # smaller numbers of coalitions are shown in full
_MOST_NAMED: Final = 3
_AT_ONCE: Final = 100_000  # rows that are randomized in one batch
_COLUMNS: Final = {
    "shapley_shubik": "Shapley-Shubik",
    "banzhaf_normalized": "Banzhaf",
    "banzhaf": "Decides",
    "released_power": "Moves the release",
    "released_power_error": "Moves the release_standard_error",
}
"""Headings of the columns of `power.csv` on pages, as in the terminal."""
_ROUNDING: Final = 1e-9
_LEVELS: Final = (-0.27, -0.09, 0.09, 0.27)  # vertical offsets of marks in a row, so that none hides another
_ROW_INCHES: Final = 0.2
_MARKS: Final[dict[str, dict[str, Any]]] = {
    "share of weight": {"color": drawing.INK, "marker": "|", "markersize": 6, "linestyle": "none", "mew": 1.6},
    "Shapley-Shubik": {"color": drawing.COLORS["orange"], "marker": "s", "markersize": 4, "linestyle": "none"},
    "Banzhaf": {"color": drawing.COLORS["blue"], "marker": "o", "markersize": 4.2, "linestyle": "none"},
    "in what is released": {"color": drawing.COLORS["green"], "marker": "D", "markersize": 4, "linestyle": "none"},
}


@dataclasses.dataclass(frozen=True)
class Powers:
    """The power of a vote's partners."""

    names: Sequence[str]  # the partners' names
    weights: Sequence[float]  # the partners' weights, in the vote's unit
    game: WeightedGame  # the game, with weights in whole units
    num_minimal_winning: int  # number of minimal winning coalitions
    members: Sequence[MemberPower]  # each partner's indices in the game
    # Each partner's influence on the released decision; with standard error 0 if it is exact.
    released: Sequence[Estimate]
    is_simulated: bool  # whether `released` is simulated, not exact
    epsilon: float  # a partner's proven ε for one candidate
    model: str  # the trust model, in words

    def group_by_weight(self) -> Mapping[float, Sequence[int]]:
        """Return the indices of partners by weight, the heaviest first; partners of equal weight have equal power."""
        places: dict[float, list[int]] = {}
        for place, weight in sorted(enumerate(self.weights), key=lambda pair: -pair[1]):
            places.setdefault(weight, []).append(place)
        return places


def measure_power(side: Local, *, trials: int, seed: int) -> Powers:
    """Return the power of a vote's partners, from `trials` simulated votes if there is no exact law.

    Raises:
        ConfigurationError: weights are private and not synthetic, all partners together cannot pass a candidate, or
            counting takes too long.
    """
    vote = side.protocol
    assert isinstance(vote, DPWeVote)  # noqa: S101  what the command has looked up
    parameters = vote.parameters
    allowed = "true, or partners that are made up: power is told of weights that everybody may know"
    refuse(not parameters.public_weights and not side.may_show_truth, "public_weights", value=False, allowed=allowed)
    refuse(not parameters.kind.tells_margin, "release", parameters.release, "'margin': power is told of margins")
    levels = parameters.own_levels.epsilons
    refuse(levels, "epsilons", list(levels), "left out: power is told where all partners have one epsilon")
    weights = vote.weights_of(side.inputs)
    game = WeightedGame.from_vote(parameters, weights)
    members = game.powers
    is_simulated = not parameters.public_weights or not parameters.kind.counts_by_group
    if is_simulated:
        released_powers = simulate_power(vote, weights, trials=trials, seed=seed)
    else:
        released_powers = [Estimate(power, 0.0) for power in released_power(parameters, weights)]
    return Powers(
        names=side.names,
        weights=weights,
        game=game,
        num_minimal_winning=game.num_minimal_winning,
        members=members,
        released=released_powers,
        is_simulated=is_simulated,
        epsilon=parameters.loss_of_weight + parameters.loss_of_opinion,
        model=f"{vote.model.value} model",
    )


def simulate_power(vote: DPWeVote, weights: Sequence[float], *, trials: int, seed: int) -> list[Estimate]:
    """Return each partner's influence on the released decision on one candidate, by simulation."""
    parameters = msgspec.structs.replace(vote.parameters, candidates=vote.parameters.candidates[:1])
    single, name = DPWeVote(parameters), parameters.candidates[0]
    number = len(weights)
    rows = [single.encode({"weight": weights, name: [opinion] * number}) for opinion in (0, 1)]
    public = rows[0].public
    generator = np.random.default_rng(seed)
    kinds, kind_of = np.unique(np.array(weights), return_inverse=True)
    sums, squares = np.zeros(len(kinds)), np.zeros(len(kinds))
    num_left = trials
    while num_left:
        batch = min(num_left, max(1, _AT_ONCE // number))
        num_left -= batch
        reports: list[list[Any]] = [[], []]
        for phase in single.phases:
            uniforms = generator.random((batch * number, phase.mechanism.slots_of(phase.num_values)))
            for report, inputs in zip(reports, rows, strict=True):
                values = np.tile(inputs.private[:, phase.columns], (batch, 1))
                report.append(phase.mechanism.randomize_rows(values, uniforms))
        all_public = np.tile(public, (batch, 1))
        shown = generator.random((batch * number if parameters.noise_weight is not msgspec.UNSET else 0, 1))
        no, yes = (
            (
                single.contributions(report, all_public)[:, 0] + single.response_noise(opinion, shown, all_public)
            ).reshape(batch, number)
            for opinion, report in enumerate(reports)
        )
        contributions = np.where(generator.random((batch, number)) < 1 / 2, yes, no)
        # So close to a tie, the difference is a rounding error.
        tolerance = _ROUNDING * np.abs(contributions).sum(axis=1, keepdims=True)
        tie = -tolerance if parameters.passes == "at_least" else tolerance
        server = np.broadcast_to(single.release_noise(generator.random((batch, 1))), batch)[:, None]
        sums_of_others = contributions.sum(axis=1, keepdims=True) - contributions - (parameters.quota or 0.0) + server
        moves_decision: FloatArray = (sums_of_others + yes >= tie).astype(np.float64) - (sums_of_others + no >= tie)
        for kind in range(len(kinds)):
            means = moves_decision[:, kind_of == kind].mean(axis=1)
            sums[kind] += means.sum()
            squares[kind] += (means * means).sum()
    means = sums / trials
    errors = np.sqrt(np.maximum(squares / trials - means * means, 0.0) / max(trials - 1, 1))
    return [Estimate(float(means[kind]), float(errors[kind])) for kind in kind_of.tolist()]


def show_power(console: Console, powers: Powers) -> None:
    """Print who decides most often, the game, and a row for each weight."""
    console.print(Text(_verdict_of(powers), style="bold"))
    console.print()
    show_facts(console, _facts_of(powers))
    orders = ["Shapley-Shubik"] * all(member.shapley_shubik is not None for member in powers.members)
    columns = ["Weight", "Partners", "Share", *orders, "Banzhaf", "Decides", "Moves the release"]
    rows: list[Sequence[str]] = []
    for weight, places in powers.group_by_weight().items():
        member, released_estimate = powers.members[places[0]], powers.released[places[0]]
        cells = [f"{weight:g}", _named([powers.names[place] for place in places])]
        cells.append(f"{weight / math.fsum(powers.weights):.4f}")
        if member.shapley_shubik is not None:
            cells.append(f"{float(member.shapley_shubik):.4f}")
        cells += [f"{float(member.normalized):.4f}", f"{float(member.banzhaf):.4g}"]
        error = f" ± {released_estimate.standard_error:.1g}" if powers.is_simulated else ""
        cells.append(f"{released_estimate.value:.4g}{error}")
        rows.append(cells)
    show_table(console, Table(columns=columns, rows=rows, labels=2), drop=("Share",))
    for note in _notes_of(powers):
        show_note(console, note)


def _facts_of(powers: Powers) -> dict[str, str]:
    """Return the game's numbers by name."""
    game, minimal = powers.game, _short(powers.num_minimal_winning)
    return {
        "Partners": f"{len(powers.names):,}",
        "Quota": f"{game.quota:,} of {game.total:,} units of weight",
        "Least that win": pluralize(game.smallest_winning, "partner"),
        "Winning coalitions": f"{_short(game.num_winning)}; {minimal} have nobody to spare",
    }


def _notes_of(powers: Powers) -> Iterator[str]:
    """Yield explanations of the columns."""
    exact = "estimated by simulated votes" if powers.is_simulated else "exact"
    yield (
        "Banzhaf is normalized; Decides is the probability that a partner's opinion decides where all others toss fair "
        "coins; Moves the release the same of what is released, with the noise of "
        f"ε = {powers.epsilon:.4g}: P[passes | yes] − P[passes | no], {exact}"
    )
    if any(member.shapley_shubik is None for member in powers.members):
        yield "Shapley-Shubik indices would take too long for so many partners with such weights"


def _verdict_of(powers: Powers) -> str:
    """Return who decides most often, without noise and with it, as a sentence."""
    weight, places = next(iter(powers.group_by_weight().items()))
    member, released_estimate = powers.members[places[0]], powers.released[places[0]]
    members_text = _named([powers.names[place] for place in places])
    decides = "decides most often:" if len(places) == 1 else "decide most often: each"
    return (
        f"{members_text}, with weight {weight:g}, {decides} in {percent(float(member.banzhaf))} of votes in which all "
        "others "
        f"toss fair coins. With the noise of ε = {powers.epsilon:.4g} one such partner moves the release in "
        f"{percent(released_estimate.value)}."
    )


def write_power(powers: Powers, folder: RunFolder, *, title: str) -> None:
    """Write `power.csv` with a row for each partner, a picture, and the descriptions from which a page is made."""
    rows: list[dict[str, object]] = []
    for name, weight, member, released_estimate in zip(
        powers.names, powers.weights, powers.members, powers.released, strict=True
    ):
        index = member.shapley_shubik
        rows.append(
            {
                "partner": name,
                "weight": weight,
                "shapley_shubik": "" if index is None else float(index),
                "banzhaf_normalized": float(member.normalized),
                "banzhaf": float(member.banzhaf),
                "released_power": released_estimate.value,
                "released_power_error": released_estimate.standard_error,
            }
        )
    folder.write_table("power.csv", rows)
    power_rows = list(powers.group_by_weight().values())[: drawing.MOST_ROWS]
    names = [drawing.fold(_named([powers.names[place] for place in places]), most_lines=2) for places in power_rows]
    cut = "" if len(power_rows) == len(powers.group_by_weight()) else f" (the {drawing.MOST_ROWS} heaviest)"
    people = pluralize(len(powers.names), "partner")
    whiskers = f" · {drawing.WHISKERS}" if powers.is_simulated else ""
    chart = Chart(
        panels=[_draw(powers, [places[0] for places in power_rows], names)],
        marks=_MARKS,
        title=f"Power in the game, and in what is released{cut}",
        setting=f"{people} · ε = {powers.epsilon:.4g} for one candidate · {powers.model}{whiskers}",
    )
    table = StudyTable(
        name="power",
        caption="How often each partner decides",
        picture="The power of one partner, as a share of that of all",
        columns=_COLUMNS,
    )
    study = Study(
        kind="The game behind the vote",
        title=title,
        facts=[f"{name.lower()}: {value}" for name, value in _facts_of(powers).items()],
        verdict=[_verdict_of(powers)],
        tables=[table],
        notes=[f"{note}." for note in _notes_of(powers)],
    )
    write_study(folder, study)
    save_chart(chart, folder=folder.path, name="power")


def _draw(powers: Powers, places: Sequence[int], names: Sequence[str]) -> Panel:
    panel = Panel(x=Axis("share of one partner in the sum of all"), y=Axis(names=names), height=_ROW_INCHES)
    total = math.fsum(powers.weights)
    of_all = math.fsum(power.value for power in powers.released)
    for row, place in enumerate(places):
        member, estimate = powers.members[place], powers.released[place]
        member_values = (
            powers.weights[place] / total,
            None if member.shapley_shubik is None else float(member.shapley_shubik),
            float(member.normalized),
            estimate.value / of_all if of_all else None,
        )
        for level, mark, share in zip(_LEVELS, _MARKS.values(), member_values, strict=True):
            if share is not None:
                panel.mark(share, row + level, **mark)
        if of_all:
            position = estimate.value / of_all, row + _LEVELS[-1]
            panel.whisker(position, estimate.standard_error / of_all, cap=0, color=drawing.COLORS["green"], linewidth=1)
        panel.area(EDGES, (row - 0.42, row + 0.42), color=drawing.WITHIN, level=0.0)
    return panel


def _named(names: Sequence[str]) -> str:
    """Return names, or their number if there are many."""
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{names[0]} and {len(names) - 1:,} more"


def _short(number: int) -> str:
    """Format a whole number, or its order of magnitude if it is large."""
    return f"{number:,}" if number < _MOST_SHOWN else f"about 10^{math.log10(number):.0f}"
