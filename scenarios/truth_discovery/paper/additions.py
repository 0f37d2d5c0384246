"""What we add to the paper: equal proven loss, other estimators, "auto"; every number comes from the rows."""

import collections
from collections.abc import Iterator, Sequence

from ...experiments.findings import Finding
from ...experiments.measurements import TOLERANCE, apart
from ...experiments.sheets import where
from .rows import ChoiceRow, Reproduction
from .trials import ESTIMATOR_NAMES, MECHANISM_NAMES

__all__ = ["own_findings"]

_MOST = 0.5


def own_findings(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper does not say, and whether it holds."""
    yield _large_losses(reproduction)
    yield _one_answer(reproduction)
    for mechanism in MECHANISM_NAMES:
        yield _estimator(reproduction, mechanism)
    yield _auto_mechanism(reproduction)
    for unit, words in (("claimed", "equal claimed ε"), ("all answers", "equal proven loss of all answers")):
        yield _auto(where(reproduction.choices, unit=unit), words)
    yield _winners(reproduction)


def _large_losses(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="all answers")
    parts: list[str] = []
    balances: list[int] = []
    for price in sorted({choice.price for choice in found}):
        gains = [choice.two_layer_gain for choice in where(found, price=price)]
        reached = [gain for gain in gains if gain is not None]
        better, worse = apart(reached, TOLERANCE)
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
        holds=min(balances) > 0,
        numbers=f"By more than {TOLERANCE:g} standard errors: {'; '.join(parts)}.",
    )


def _one_answer(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="one answer")
    reached = [(choice, gain) for choice in found if (gain := choice.two_layer_gain) is not None]
    better, worse = apart((gain for _, gain in reached), TOLERANCE)
    places = ", ".join(f"{choice.crowd} at {choice.price:g}" for choice, gain in reached if apart([gain], TOLERANCE)[0])
    return Finding(
        claim="At equal proven loss of one answer, two layers are never better than one.",
        source="reading T4: a worker's other answers tell what it drew",
        holds=not better,
        numbers=f"In {len(reached)} of {len(found)} cases they can have the loss, and are better in {better}"
        f"{f' ({places})' if better else ''} and worse in {worse}, by more than {TOLERANCE:g} standard errors.",
    )


def _estimator(reproduction: Reproduction, mechanism: str) -> Finding:
    rows = where(reproduction.comparisons, unit="claimed", mechanism=mechanism, estimator="auto")
    leads = [(row, row.lead) for row in rows if row.lead is not None]
    ahead, _ = apart((lead for _, lead in leads), 1)
    back = [f"{row.crowd} at ε = {row.price:g}" for row, lead in leads if apart([lead], 1)[1]]
    listed, mean = ", ".join(back), sum(lead.value for _, lead in leads) / len(leads)
    return Finding(
        claim=f"On the reports of {MECHANISM_NAMES[mechanism]}, auto finds more truths than the paper's weights.",
        source="reading T6",
        holds=mean > 0 and not back,
        numbers=f"It is ahead in {ahead} of {len(leads)} cells by more than a standard error, behind in {len(back)}"
        f"{f' ({listed})' if back else ''}, and on average by {100 * mean:+.1f} points.",
    )


def _auto_mechanism(reproduction: Reproduction) -> Finding:
    rows = where(reproduction.comparisons, estimator="auto")
    wrong: list[str] = []
    cases = 0
    for choice in reproduction.choices:
        offers = where(rows, crowd=choice.crowd, unit=choice.unit, price=choice.price)
        if choice.unit == "claimed" or len(offers) == 1:
            continue
        cases += 1
        (taken,) = where(offers, mechanism=choice.auto_mechanism)
        best = max(offers, key=lambda row: row.accuracy.value)
        spread = taken.accuracy.standard_error + best.accuracy.standard_error
        if best.accuracy.value - taken.accuracy.value > TOLERANCE * spread:
            wrong.append(f"{choice.crowd}, {choice.unit} at {choice.price:g}")
    return Finding(
        claim="The mechanism that promises more at one proven price is the better one.",
        source='the mechanism "auto", which looks at no answer',
        holds=not wrong,
        numbers=f"Where both mechanisms can have the price, another choice would be better, by {TOLERANCE:g} standard "
        f"errors of both, in {len(wrong)} of {cases} cases{': ' * bool(wrong)}{'; '.join(wrong)}.",
    )


def _auto(choices: Sequence[ChoiceRow], words: str) -> Finding:
    ahead, back = apart((choice.auto_lead for choice in choices), 1)
    listed = ", ".join(f"{choice.crowd} at {choice.price:g}" for choice in choices if apart([choice.auto_lead], 1)[1])
    return Finding(
        claim=f"At {words}, auto is nowhere behind the paper's method, and ahead of it on most crowds.",
        source="one standard error, trial by trial",
        holds=not back and ahead > _MOST * len(choices),
        numbers=f"It is ahead by more than a standard error in {ahead} of {len(choices)} cases, and behind in "
        f"{back}{f' ({listed})' if listed else ''}.",
    )


def _winners(reproduction: Reproduction) -> Finding:
    found = where(reproduction.choices, unit="all answers")
    counts = collections.Counter(choice.best_estimator for choice in found)
    ordered = counts.most_common()
    widest = max(found, key=lambda choice: choice.best.value - choice.paper.value)
    return Finding(
        claim="No single estimator is the best on every crowd.",
        source="at equal proven loss of all answers, with the mechanism that suits each",
        holds=len(counts) > 1,
        numbers=f"The best is {', '.join(f'{ESTIMATOR_NAMES[name]} in {count}' for name, count in ordered)} of "
        f"{len(found)} cases. Furthest ahead of truth discovery is {ESTIMATOR_NAMES[widest.best_estimator]} on "
        f"{widest.crowd} at {widest.price:g} an answer: {widest.best:%} % against {widest.paper:%} %.",
    )
