"""What the paper says, and whether it holds: each claim once, judged by a law here and now or by a reproduction's rows.

`psephos audit papers` shows the former, `psephos reproduce` those of the experiments: both have one declaration.

Source: Yan, Liu and Liu (2018), Sections 2.1.3, 4 and 5; readings W1 to W5.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import correlation, linear_regression
from typing import Final

import msgspec
import numpy as np

from ....protocol.dpwevote import DPWeVote
from ....protocol.mechanisms import FiniteMechanism
from ....protocol.privacy import total_of
from ...attacks.channels import session_channel
from ...attacks.posteriors import evaluate_channel
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, Certainty, Finding, found_in, in_sentences, said_in
from ...experiments.judging import (
    agree,
    all_above,
    average,
    difference,
    difference_of_shares,
    errors_of,
    judged,
    unless_contradicted,
)
from ...experiments.measurements import Measurement, mean_square, most_by_chance
from ...experiments.sheets import where
from ...presentation.numbers import in_a_row
from ..attack.inference import DPWeVoteAttack
from ..audit.sessions import case_of_partner
from .published import EPSILONS, RUNS, TABLE_4, runs_behind, shares_of
from .rows import Cell, PublishedCell, Reproduction
from .theory import TRUE, chance_of_passing, expected_quota_error, law_of
from .workloads import SIGNED_WEIGHTS, make_vote

_LINEAR = 0.99
_MARGIN = 0.02
"""What is no difference of accuracies on average."""
_MARGINS = {3: _MARGIN, 4: 0.05}
"""The same as a part of a table's numbers: 2,000 runs of an MSE_q scatter by three percent."""
_SAME_TREND = 0.99
_LEAST_RATIO = 0.5
"""Less of what is expected is something else."""
_NAMES = {"printed": "DPWeVote", "laplace": "the baseline"}
_AUDIT: Final = "psephos audit dpwevote"
_REPRODUCE: Final = "psephos reproduce dpwevote"
_EPSILON: Final = 1.0
_CANDIDATES: Final = 3
# Reading W2's case: all weights 3, 60 % of 500 partners in favor, at ε = 2.
_SKEWED_EPSILON: Final = 2.0
_YES, _NO = 300, 200
_PARTNERS: Final = 10
_found: Final = found_in(__name__, paper="DPWeVote: Yan, Liu and Liu (2018)")
_said: Final = said_in(__name__)


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    trials = reproduction.trials
    for variant, name in _NAMES.items():
        cells = where(reproduction.table_3, variant=variant)
        yield _reproduces(cells, 3, f"{name}'s accuracies", "chance gives 1", trials=trials)
    for variant, name in _NAMES.items():
        by_chance = _chance_of_table_4(variant, trials)
        yield _reproduces(where(reproduction.table_4, variant=variant), 4, f"{name}'s MSE_q", by_chance, trials=trials)
    yield _runs(reproduction)
    yield _beats_baseline(reproduction)
    yield _linear(reproduction)
    yield _number_of_partners(reproduction)
    yield from _errors_by_partners(reproduction)
    yield _same_trend(reproduction)
    yield from in_sentences(findings_on_dpwevote(), "W2")


def _reproduces(cells: Sequence[PublishedCell], table: int, what: str, by_chance: str, *, trials: int) -> Finding:
    differences = [cell.difference for cell in cells]
    margin = _MARGINS[table]
    far = [cell for cell in cells if abs(cell.difference) > errors_of(len(cells), trials)]
    relative = _mean_ratio(cells)
    greatest = max(cells, key=lambda cell: abs(cell.difference))
    listed = "".join(f"; n = {cell.num_partners}, ε = {cell.epsilon:g}: {cell.difference:+.1f}" for cell in far)
    return _said(
        "numbers",
        agree(differences, relative, margin, trials=trials),
        f"{len(far)} of {len(cells)} cells are farther off than chance has it{listed}; the greatest difference "
        f"is {greatest.difference:+.1f} joint standard errors (n = {greatest.num_partners}, "
        f"ε = {greatest.epsilon:g}), the mean square {mean_square(differences):.2f} where {by_chance}. On average a "
        f"number is off by {100 * relative.value:+.1f} ± {100 * relative.standard_error:.1f} %.",
        what=f"{what[0].upper()}{what[1:]}",
        table=table,
        margin=100 * margin,
    )


def _mean_ratio(cells: Sequence[PublishedCell]) -> Measurement:
    """Return by which part of the published number ours exceeds it, on average over cells."""
    each = [difference(cell.ours, cell.published) for cell in cells]
    parts = [
        Measurement(found.value / cell.published.value, found.standard_error / cell.published.value)
        for found, cell in zip(each, cells, strict=True)
    ]
    return average(parts)


def _chance_of_table_4(variant: str, trials: int) -> str:
    """Return what chance gives: the published errors are taken as of the stated runs, and may be of more."""
    decisions = runs_behind(shares_of(variant))
    of_all = (1 / trials + 1 / decisions) / (1 / trials + 1 / RUNS)
    return (
        f"chance gives 1 if {RUNS:,} runs are behind each published number, as is assumed, and {of_all:.2f} if "
        f"{decisions:,} are"
    )


def _runs(reproduction: Reproduction) -> Finding:
    decisions = {variant: runs_behind(shares_of(variant)) for variant in _NAMES}
    of_runs = 0.5 / math.sqrt(RUNS)
    scatter: dict[str, float] = {}
    is_small: list[bool] = []
    for variant in _NAMES:
        differences = [c.published.value - c.expected for c in where(reproduction.table_3, variant=variant)]
        scatter[variant] = math.sqrt(mean_square(differences))
        is_small.append(scatter[variant] <= of_runs * math.sqrt(most_by_chance(len(differences))))
    errors = mean_square(cell.published_difference for cell in reproduction.table_4)
    is_small.append(errors <= most_by_chance(len(reproduction.table_4)))
    parts = [
        f"{_NAMES[variant]}'s accuracies are whole multiples of 1/{number:,}, as of {number // RUNS} times as many "
        f"decisions, and scatter about the normal law by {scatter[variant]:.4f}"
        for variant, number in decisions.items()
    ]
    return _said(
        "runs",
        judged(holds=all(is_small) and all(number >= RUNS for number in decisions.values())),
        f"{'; '.join(parts)}; of {RUNS:,} decisions they would scatter by {of_runs:.4f}. The MSE_q scatter "
        f"about their expectations {math.sqrt(errors):.2f} times as much as {RUNS:,} runs would. The differences above "
        f"take the accuracies as of so many decisions, and the MSE_q as of {RUNS:,} runs.",
        runs=RUNS,
    )


def _beats_baseline(reproduction: Reproduction) -> Finding:
    cells = reproduction.figure_4
    epsilons = sorted(cell.epsilon for cell in cells)
    pairs = list(zip(where(cells, variant="printed"), where(cells, variant="laplace"), strict=True))
    expected = min(printed.normal_law - laplace.normal_law for printed, laplace in pairs)
    leads = [difference_of_shares(a.accuracy, b.accuracy, reproduction.trials) for a, b in pairs]
    drawn = all_above(leads, trials=reproduction.trials)
    return _said(
        "beats",
        unless_contradicted(drawn, holds=expected > 0),
        f"By the normal law its lead is {expected:.4f} at least over ε from {epsilons[0]:g} to "
        f"{epsilons[-1]:g}; it is ahead in {sum(lead.value > 0 for lead in leads)} of {len(leads)} "
        "simulated cells.",
    )


def _linear(reproduction: Reproduction) -> Finding:
    cells = where(reproduction.figure_4, variant="printed", num_partners=100)
    epsilons, accuracies = [cell.epsilon for cell in cells], [cell.normal_law for cell in cells]
    line = linear_regression(epsilons, accuracies)
    explained = correlation(epsilons, accuracies) ** 2
    off = max(abs(a - line.intercept - line.slope * e) for e, a in zip(epsilons, accuracies, strict=True))
    return _said(
        "linear",
        judged(holds=explained >= _LINEAR),
        f"A line explains {100 * explained:.1f} % of the normal law's variation from ε = {epsilons[0]:g} to "
        f"{epsilons[-1]:g}, and is off by {off:.3f} at most; its slope is {line.slope:.3f}.",
    )


def _number_of_partners(reproduction: Reproduction) -> Finding:
    cells = where(reproduction.figure_4, variant="printed")
    most = max(cell.num_partners for cell in cells)
    gains = [(few, many) for few, many in _by_partners(cells) if many.num_partners == most]
    trials = reproduction.trials
    each = [difference_of_shares(many.accuracy, few.accuracy, trials) for few, many in gains]
    mean = average(each)
    deviations = [one.value / one.standard_error for one in each]
    return _said(
        "partners",
        agree(deviations, mean, _MARGIN, trials=trials),
        f"From {gains[0][0].num_partners} to {most} partners accuracy changes by {100 * mean.value:+.1f} ± "
        f"{100 * mean.standard_error:.1f} percentage points on average over ε; the mean square of the changes in joint "
        f"standard errors is {mean_square(deviations):.2f}.",
        margin=100 * _MARGIN,
    )


def _errors_by_partners(reproduction: Reproduction) -> Iterator[Finding]:
    cells = where(reproduction.figure_4, variant="printed")
    falls = [
        difference(a, b)
        for few, many in _by_partners(cells)
        for a, b in zip(_measured(few), _measured(many), strict=True)
    ]
    yield _said(
        "errors",
        all_above(falls, trials=reproduction.trials),
        f"They do in {sum(fall.value > 0 for fall in falls)} of {len(falls)} comparisons at the same ε.",
    )
    few, many = min(c.num_partners for c in cells), max(c.num_partners for c in cells)
    errors = {
        one.epsilon: list(zip(_measured(one), _measured(other), strict=True))
        for one, other in zip(where(cells, num_partners=few), where(cells, num_partners=many), strict=True)
    }
    gaps = {epsilon: [difference(*pair) for pair in found] for epsilon, found in errors.items()}
    most = max(errors)
    ratios = {epsilon: [a.value / b.value for a, b in errors[epsilon]] for epsilon in (1.0, most)}
    by_number = many / few
    stay = all(_LEAST_RATIO < ratio / by_number < 1 / _LEAST_RATIO for own in ratios.values() for ratio in own)
    yield _said(
        "less-obvious",
        all_above(
            (
                difference(at_one, gap)
                for epsilon, found in gaps.items()
                if epsilon > 1
                for gap, at_one in zip(found, gaps[1.0], strict=True)
            ),
            trials=reproduction.trials,
        ),
        f"Between {few} and {many} partners, MSE_w, MSE_q and MSE_φ differ by "
        f"{_listed(_values(gaps[1.0]), '.2g')} at ε = 1, and by {_listed(_values(gaps[most]), '.2g')} at ε = {most:g}. "
        f"Their ratios {'stay near' if stay else 'do not stay near'} {by_number:g}: "
        f"{_listed(ratios[1.0], '.0f')} at ε = 1, "
        f"{_listed(ratios[most], '.0f')} at ε = {most:g}.",
    )


def _by_partners(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return pairs of cells of one ε, the one with fewer partners first."""
    return [
        (few, many)
        for few in cells
        for many in where(cells, epsilon=few.epsilon)
        if few.num_partners < many.num_partners
    ]


def _measured(cell: Cell) -> list[Measurement]:
    """Return the three mean squared errors, equations (11) to (13)."""
    return [error for error in (cell.mse_w, cell.mse_q, cell.mse_phi) if error is not None]


def _values(measurements: Iterable[Measurement]) -> list[float]:
    return [each.value for each in measurements]


def _listed(numbers: Sequence[float], form: str) -> str:
    return in_a_row(f"{number:{form}}" for number in numbers)


def _same_trend(reproduction: Reproduction) -> Finding:
    cells = where(reproduction.figure_4, variant="printed", num_partners=100)
    _, quotas, opinions = zip(*(_values(_measured(cell)) for cell in cells), strict=True)
    alike = correlation(list(map(math.log, quotas)), list(map(math.log, opinions)))
    ratios = [quota / opinion for quota, opinion in zip(quotas, opinions, strict=True)]
    return _said(
        "alike",
        judged(holds=alike >= _SAME_TREND),
        f"Their logarithms have a correlation of {alike:.4f} over ε at n = 100; MSE_q is {min(ratios):.2f} to "
        f"{max(ratios):.2f} times MSE_φ.",
    )


def findings_on_dpwevote() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    printed, laplace = (make_vote(variant, epsilon=_EPSILON) for variant in ("printed", "laplace"))
    mechanisms = [phase.mechanism for phase in printed.phases]
    channels = [np.array(each.channel_matrix()) for each in mechanisms if isinstance(each, FiniteMechanism)]
    yield _found(
        key="W10",
        quantity="chance that this coalition guesses the last partner's weight and opinion at ε = 1, by chance "
        f"{1 / math.prod(len(channel) for channel in channels):.3f}",
        claimed=None,
        # With a uniform prior the likeliest input of a report is the report itself.
        found=math.prod(float(channel.diagonal().mean()) for channel in channels),
        note="The coalition guesses better than by chance, since a report is the true input more often than any other.",
        undecided="The paper says neither what is prevented nor how far; ε allows this chance.",
    )
    parameters = printed.parameters
    yield _found(
        key="W1",
        quantity="loss of a partner's weight at ε = 1, opinions counted by the true group",
        claimed=parameters.loss_of_weight,
        found=_loss_by_true_group(printed),
        only="if opinions are counted by the reported group",
        note="If an opinion is counted in the partner's true group, the server reads the weight from the group.",
    )
    vote = make_vote("printed", epsilon=_SKEWED_EPSILON)
    law = law_of(vote)
    greatest = vote.parameters.weights[-1]
    # The last pair is the greatest weight with "yes"; its margin is w·φ − w/2, of which w/2 is estimated without bias.
    yield _found(
        key="W2",
        quantity="what a yes of weight 3 adds to the sum on average, ε = 2",
        claimed=greatest,
        bound="=",
        found=float(law.means[-1] - TRUE[-1]) + greatest,
        command=_REPRODUCE,
        note="The estimate is biased: (8b) uses the weight that was reported, which is nearer to the mean weight.",
    )
    yield _found(
        key="W11",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=_exact_loss(printed),
        command=_AUDIT,
        note="It loses exactly this.",
    )
    names = tuple(f"candidate {number}" for number in range(1, _CANDIDATES + 1))
    again = msgspec.structs.replace(parameters, candidates=names, weight_collection="per_candidate")
    yield _found(
        key="W5",
        quantity=f"loss of weight and opinions together at ε = 1, k = {_CANDIDATES}",
        claimed=_EPSILON,
        found=_exact_loss(DPWeVote(again)),
        command=_AUDIT,
        only="for one candidate",
        note="The loss is kε, since what a partner reports for one candidate adds to what it reports for another.",
    )
    step = np.zeros(2 * max(SIGNED_WEIGHTS) + 1)
    step[np.array(SIGNED_WEIGHTS) + max(SIGNED_WEIGHTS)] = 1 / len(SIGNED_WEIGHTS)
    law = np.ones(1)
    for _ in range(_PARTNERS):
        law = np.convolve(law, step)
    yield _found(
        key="W4",
        quantity=f"share of votes with {_PARTNERS} partners that are ties",
        claimed=None,
        found=float(law[len(law) // 2]),
        note="The paper has two rules. They decide differently in every tie.",
    )
    yield _found(
        key="W13",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=total_of(laplace.losses).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="The proof gives the same bound.",
    )
    yield _found(
        key="W3",
        quantity="relative mean squared error of the quota (MSE_q), 10 partners, ε = 1",
        claimed=TABLE_4["laplace", _PARTNERS][EPSILONS.index(_EPSILON)],
        bound="=",
        found=expected_quota_error(laplace, num_partners=_PARTNERS),
        command=_REPRODUCE,
        # 2,000 runs scatter by three percent.
        tolerance=0.05,
        note="The exact mean agrees with the table's samples. It is 8n·E[(Σw)⁻²]/ε², not 2/(nε²) = 0.2.",
    )
    numbers = [0, 0, 0, 0, _NO, _YES]
    printed, laplace, joint = (
        chance_of_passing(law_of(make_vote(variant, epsilon=_SKEWED_EPSILON)), numbers)
        for variant in ("printed", "laplace", "joint")
    )
    case = "share of right decisions, 500 partners of weight 3, 60 % yes, ε = 2"
    yield _found(
        key="W2b",
        quantity=case,
        claimed=0.5,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
        note=f"On uneven weights a coin decides better. An unbiased estimate is right in {100 * joint:.0f} %.",
        compared="a coin",
    )
    yield _found(
        key="W12",
        quantity=case,
        claimed=laplace,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
        note="On uneven weights the Laplace mechanism decides better, since its estimate is unbiased.",
        compared="the Laplace mechanism",
    )


def _loss_by_true_group(vote: DPWeVote) -> float:
    """Return how far a semi-honest server's odds of two weights move at most, with opinions in true weight groups.

    By the group that a partner reported it learns nothing new: whoever reads the opinions' phase has read the weights'
    before. By the true one the upload itself says the weight, whatever noise the weight's report had. So Psephos counts
    by the reported group, as the paper's tables do too.
    """
    candidates = DPWeVoteAttack(vote).candidates("weight")
    channel = session_channel(vote, candidates.rows, public=())
    assert channel is not None  # noqa: S101  randomized response has few outputs
    groups = np.array(vote.parameters.group_of_weight)[candidates.places]
    # What is seen is a pair of the reports and the group in which they are counted.
    counted = np.eye(groups.max() + 1)[groups]
    with_group = (channel[:, :, None] * counted[:, None, :]).reshape(len(channel), -1)
    return evaluate_channel(with_group, places=candidates.places).greatest_log_odds_ratio


def _exact_loss(vote: DPWeVote) -> float:
    """Return ε of all that leaves a partner in one vote, by its joint law."""
    (pair,) = case_of_partner(vote, "one vote", num_sessions=1).pairs()
    assert pair.laws is not None  # noqa: S101  randomized response has few outputs
    return exact_epsilon(pair.laws)
