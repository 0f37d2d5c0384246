"""What we add to the paper: equal proven loss, other estimators, "auto"; every number comes from the rows."""

import collections
import operator
from collections.abc import Iterator, Sequence

from ...experiments.findings import Finding
from ...experiments.judging import all_above, average, errors_of, judged, on_average
from ...experiments.measurements import Measurement, apart, deviation
from ...experiments.sheets import where
from .rows import ChoiceRow, Reproduction
from .trials import ESTIMATOR_NAMES, MECHANISM_NAMES

_NEAR = 0.01  # what is no difference between accuracies
_ZERO = Measurement(0.0, 0.0)


def own_findings(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper does not say, and whether it holds."""
    if reproduction.table_3:
        yield _worse_start(reproduction)
    yield _large_losses(reproduction)
    yield _one_answer(reproduction)
    for mechanism in MECHANISM_NAMES:
        yield _estimator(reproduction, mechanism)
    yield _auto_mechanism(reproduction)
    for unit, words in (("claimed", "equal claimed ε"), ("all answers", "equal proven loss of all answers")):
        yield _auto(where(reproduction.choices, unit=unit), words, reproduction.comparison_trials)
    yield _winners(reproduction)


def _worse_start(reproduction: Reproduction) -> Finding:
    td, mv = (
        where(reproduction.table_3, estimator=estimator, mechanism="one_layer")
        for estimator in ("truth_discovery", "majority")
    )
    leads = [ours.lead for ours in td if ours.lead is not None]
    smaller = sum(ours.change.value < theirs.change.value for ours, theirs in zip(td, mv, strict=True))
    starts = [100 * (cells[0].error_rate.value - cells[0].change.value) for cells in (td, mv)]
    return Finding(
        claim="With one layer truth discovery's smaller changes mean fewer errors than majority voting's.",
        source="Table 3, as it may be read; reading T1",
        judgement=all_above(leads, trials=reproduction.trials),
        numbers=f"Its change is smaller in {smaller} of {len(td)} rows, but it starts from {starts[0]:.1f} % errors "
        f"where the majority has {starts[1]:.1f} %: it has fewer errors in {sum(lead.value > 0 for lead in leads)}.",
    )


def _large_losses(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="all answers")
    parts: list[str] = []
    balances: list[int] = []
    errors = errors_of(len(found), reproduction.trials)
    for price in sorted({choice.price for choice in found}):
        gains = [choice.two_layer_gain for choice in where(found, price=price)]
        reached = [gain for gain in gains if gain is not None]
        better, worse = apart(reached, errors)
        beyond = len(gains) - len(reached)
        balances.append(better - worse - beyond)
        mean = 100 * sum(gain.value for gain in reached) / max(len(reached), 1)
        parts.append(
            f"at {price:g} an answer they are better on {better} of {len(gains)} crowds, worse on {worse}, by "
            f"{mean:+.1f} points on average{f', and cannot have the loss on {beyond}' if beyond else ''}"
        )
    return Finding(
        claim="At equal proven loss of all answers, two layers win on more crowds than they lose, and not where the "
        "loss is large alone.",
        source="reading T4, with the paper's truth discovery; a range from 0 on cannot have the small losses",
        judgement=judged(holds=min(balances) > 0),
        numbers=f"By more than {errors:.1f} standard errors: {'; '.join(parts)}.",
    )


def _one_answer(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="one answer")
    reached = [(choice, gain) for choice in found if (gain := choice.two_layer_gain) is not None]
    errors = errors_of(len(reached), reproduction.trials)
    better, worse = apart((gain for _, gain in reached), errors)
    places = ", ".join(f"{choice.crowd} at {choice.price:g}" for choice, gain in reached if apart([gain], errors)[0])
    return Finding(
        claim="At equal proven loss of one answer, two layers are never better than one.",
        source=f"reading T4: a worker's other answers tell what it drew; to {100 * _NEAR:g} points",
        judgement=all_above(
            (Measurement(_NEAR - gain.value, gain.standard_error) for _, gain in reached), trials=reproduction.trials
        ),
        numbers=f"In {len(reached)} of {len(found)} cases they can have the loss, and are better in {better}"
        f"{f' ({places})' if better else ''} and worse in {worse}, by more than {errors:.1f} standard errors.",
    )


def _estimator(reproduction: Reproduction, mechanism: str) -> Finding:
    rows = where(reproduction.comparisons, unit="claimed", mechanism=mechanism, estimator="auto")
    leads = [(row, row.lead) for row in rows if row.lead is not None]
    trials = reproduction.comparison_trials
    errors = errors_of(len(leads), trials)
    ahead, _ = apart((lead for _, lead in leads), errors)
    back = [f"{row.crowd} at ε = {row.price:g}" for row, lead in leads if apart([lead], errors)[1]]
    listed, mean = ", ".join(back), average(lead for _, lead in leads)
    least = min((deviation(lead, _ZERO) for _, lead in leads), default=0.0)
    return Finding(
        claim=f"On the reports of {MECHANISM_NAMES[mechanism]}, auto finds more truths than the paper's weights.",
        source="reading T6",
        judgement=on_average([mean], least, len(leads), trials=trials),
        numbers=f"It is ahead in {ahead} of {len(leads)} cells by more than {errors:.1f} standard errors, behind in "
        f"{len(back)}{f' ({listed})' if back else ''}, and on average by {mean:+%} points.",
    )


def _auto_mechanism(reproduction: Reproduction) -> Finding:
    taken = [
        (choice, Measurement(gain.value if choice.auto_mechanism == "two_layer" else -gain.value, gain.standard_error))
        for choice in reproduction.choices
        if choice.unit != "claimed" and (gain := choice.two_layer_gain) is not None
    ]
    errors = errors_of(len(taken), reproduction.trials)
    wrong = [(choice.crowd, -gain.value) for choice, gain in taken if apart([gain], errors)[1]]
    most = dict(sorted(wrong, key=operator.itemgetter(1)))
    listed = ", ".join(f"{crowd}, by up to {100 * behind:.1f} points" for crowd, behind in most.items())
    return Finding(
        claim="The mechanism that promises more at one proven price is the better one.",
        source=f'the mechanism "auto", which looks at no answer; with the paper\'s weights, to {100 * _NEAR:g} points',
        judgement=all_above(
            (Measurement(_NEAR + gain.value, gain.standard_error) for _, gain in taken), trials=reproduction.trials
        ),
        numbers=f"Where both mechanisms can have the price, the other one is better, by {errors:.1f} standard errors, "
        f"in {len(wrong)} of {len(taken)} cases{f' ({listed})' if wrong else ''}.",
    )


def _auto(choices: Sequence[ChoiceRow], words: str, trials: int) -> Finding:
    errors = errors_of(len(choices), trials)
    ahead, back = apart((choice.auto_lead for choice in choices), errors)
    listed = ", ".join(
        f"{choice.crowd} at {choice.price:g}" for choice in choices if apart([choice.auto_lead], errors)[1]
    )
    mean = average(choice.auto_lead for choice in choices)
    least = min(deviation(choice.auto_lead, _ZERO) for choice in choices)
    return Finding(
        claim=f"At {words}, auto is ahead of the paper's method on average, and nowhere behind it.",
        source="trial by trial",
        judgement=on_average([mean], least, len(choices), trials=trials),
        numbers=f"It is ahead by {mean:+%} points on average; by more than {errors:.1f} standard errors in {ahead} of "
        f"{len(choices)} cases, and behind in {back}{f' ({listed})' if listed else ''}.",
    )


def _winners(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="all answers")
    counts = collections.Counter(choice.best_estimator for choice in found)
    ordered = counts.most_common()
    widest = max(found, key=lambda choice: choice.best.value - choice.paper.value)
    return Finding(
        claim="No single estimator is the best on every crowd.",
        source="at equal proven loss of all answers, with the mechanism that suits each",
        judgement=judged(holds=len(counts) > 1),
        numbers=f"The best is {', '.join(f'{ESTIMATOR_NAMES[name]} in {count}' for name, count in ordered)} of "
        f"{len(found)} cases. Furthest ahead of truth discovery is {ESTIMATOR_NAMES[widest.best_estimator]} on "
        f"{widest.crowd} at {widest.price:g} an answer: {widest.best:%} % against {widest.paper:%} %.",
    )
