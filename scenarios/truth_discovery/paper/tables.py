"""The reproduction's tables as people read them."""

from collections.abc import Iterator
from typing import Final

from ...experiments.sheets import Words, listing, pivoting, where
from ...tables import Table
from .rows import ComparisonRow, Reproduction
from .trials import MECHANISM_NAMES

_UNIT_NAMES: Final = {
    "claimed": "the paper's ε of one answer, as claimed",
    "all answers": "all answers of the worker with most answers, proven (the loss a time their number)",
    "one answer": "one answer of that worker, the others known, proven",
}
_OF_CROWDS: Final = (
    "gold: tasks with a known truth and an answer; most: answers of one worker; const: always the most frequent truth; "
    "MV: majority voting; TD: the paper's truth discovery; auto: our choice."
)
_OF_STAND_IN: Final = (
    " peer-grading is a made-up stand-in of the size that Table 1 gives: the paper's own data are not published."
)
_HEADERS: Final = {
    "truth_discovery": "TD",
    "majority": "MV",
    "one_coin": "1C",
    "dawid_skene": "DS",
    "noise_aware": "NA",
    "noise_aware_dawid_skene": "NADS",
}
"""Of estimators, in the order of their columns; the last is "auto"."""
_LAYERS: Final = {"one_layer": "one", "two_layer": "two"}


def _accuracy_or_lead(row: ComparisonRow) -> str:
    if row.lead is None:
        return f"{row.accuracy:%}" if row.estimator == "truth_discovery" else ""
    return f"{row.lead:+%}" if row.estimator == "auto" else f"{100 * row.lead.value:+.1f}"


_WORDS: Final[Words] = {
    "estimator": _HEADERS,
    "best_estimator": _HEADERS,
    **dict.fromkeys(("mechanism", "best_mechanism", "paper_mechanism", "auto_mechanism"), _LAYERS),
    "method": lambda row: row.method.replace(" with ", " ").removesuffix("-layer"),
    "accuracy_or_lead": _accuracy_or_lead,
}


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    yield listing(
        reproduction.crowds,
        "crowd: {crowd} | tasks: {tasks:,} | workers: {workers} | answers: {answers:,} | gold: {gold:,}"
        " | labels: {labels} | most: {most_answers:,} | const: {largest_class:.1%} | MV: {majority:.1%}"
        " | TD: {truth_discovery:.1%} | auto: {auto:.1%}",
        caption="The crowds, and the accuracy of what is found in their clean answers, in percent",
        note=_OF_CROWDS + ("" if reproduction.own else _OF_STAND_IN),
    )
    yield from _published(reproduction)
    if reproduction.own:
        yield listing(
            where(reproduction.weights, is_drawn=True),
            "worker: {name} | answers: {num_answers:,} | p^f: {flip_probability:.2f} | from the answers: {clean:.3f}"
            " | from the reports: {reported:.3f} | wrong: {error:.1%} | Im: {importance:.3g}",
            caption="Figure 2: weights of the workers with most answers, in one trial",
            note="p^f: the flip probability that the worker drew; wrong: of its answers with a known truth, in %; "
            "Im: importance, 1/G of that share; figure-2.csv has all workers",
        )
    for unit, words in _UNIT_NAMES.items():
        yield _mechanisms(reproduction, unit, f"One layer or two, at one price: {words}")
    for mechanism, words in MECHANISM_NAMES.items():
        rows = where(reproduction.comparisons, unit="claimed", mechanism=mechanism)
        yield pivoting(
            "crowd: {crowd} | ε: {price:g}",
            *((where(rows, estimator=name), "{estimator}: {accuracy_or_lead}") for name in (*_HEADERS, "auto")),
            caption=f"What else finds truths, {words}, at equal claimed ε",
            note="TD: accuracy in percent; others: points more or less, on the same reports. MV: majority voting, 1C: "
            "one coin, DS: Dawid-Skene, NA and NADS: the two that know the perturbation. comparisons.csv has each "
            "lead's error.",
            words=_WORDS,
        )
    for unit, words in _UNIT_NAMES.items():
        yield listing(
            where(reproduction.choices, unit=unit),
            "crowd: {crowd} | price: {price:g} | best: {best_estimator} on {best_mechanism} | accuracy: {best:%}"
            " | TD on: {paper_mechanism} | TD: {paper.value:.1%} | auto on: {auto_mechanism}"
            " | auto: {auto.value:.1%} | lead: {auto_lead:+%}",
            caption=f"Who wins at one price: {words}",
            note="accuracy in percent; at equal claimed ε the mechanism is the paper's, two layers; at equal proven "
            "loss TD has the mechanism that is better for it, which a user would have to know; lead: auto less TD, "
            "trial by trial",
            words=_WORDS,
        )
    for epsilon in dict.fromkeys(row["epsilon"] for row in reproduction.hypers):
        found = where(reproduction.hypers, epsilon=epsilon)
        yield pivoting(
            "hyper-distribution: {hyper}",
            (found, "J m = {num_answers}: {all_answers:.3f} | R m = {num_answers}: {one_answer:.3f}"),
            caption=f"Hyper-distributions of mean {found[0]['mean']:.3f}, claimed ε = {epsilon:.3g}, two labels",
            note="what is proven for a worker with m answers: J for all of them, R for one, the others known",
        )
    yield listing(
        reproduction.bounds,
        "workers: {num_workers} | p: {quality:g} | exact error: {exact:.3g} | bound (7): {printed:.3g}"
        " | Chernoff's: {chernoff:.3g}",
        labels=0,
        caption="The error bound (7), workers all alike (reading T8)",
        note="p in the paper's folding: ½ is the worst worker; a bound below the error is none",
    )


def _published(reproduction: Reproduction) -> Iterator[Table]:
    own = reproduction.own
    beside = "" if own else " | paper: {published.value:.2%} | diff: {difference:+.1f}"
    for title, cells in (
        ("Table 2, peer grading (a made-up stand-in)", reproduction.table_2),
        (f"Table 3, {own or 'Duchenne smiles'}", reproduction.table_3),
    ):
        if not cells:
            continue
        for mechanism, words in MECHANISM_NAMES.items():
            yield pivoting(
                "ε: {epsilon:g}",
                (where(cells, mechanism=mechanism), f"{{estimator}}: {{change:%}}{beside}"),
                labels=0,
                caption=f"{title}: error rate change, {words}, in percentage points",
                note="± is one standard error"
                if own
                else "ours ± the standard error; diff: ours less the paper's, in joint standard errors, the paper's "
                "means being taken as of 100 trials that spread as ours do",
                words=_WORDS,
            )
        yield pivoting(
            "ε: {epsilon:g}",
            (cells, "{method}: {error_rate:%}"),
            (
                where(cells, estimator="majority"),
                "R {mechanism}: {epsilon_answer:.3g} | J {mechanism}: {epsilon_worker:,.4g}",
            ),
            labels=0,
            caption=f"{title}: error rates in percent, and what is proven",
            note="the paper has the changes alone, each against the method's own clean error; R, J: what is proven for "
            "one answer and for all answers of the worker with most answers, with one layer and with two; the paper "
            "says ε for both",
            words=_WORDS,
        )


def _mechanisms(reproduction: Reproduction, unit: str, title: str) -> Table:
    rows = where(reproduction.comparisons, unit=unit)
    return pivoting(
        "crowd: {crowd} | price: {price:g}",
        *(
            (where(rows, estimator=estimator, mechanism=mechanism), "{estimator} {mechanism}: {accuracy:%}")
            for estimator in ("truth_discovery", "auto")
            for mechanism in MECHANISM_NAMES
        ),
        ([row for row in where(reproduction.choices, unit=unit) if row.two_layer_gain], "gain: {two_layer_gain:+%}"),
        missing="–",
        caption=title,
        note="accuracy in percent; flips: the probability that an answer is reported as another label, on average; "
        f"gain: TD with two layers less TD with one, of {reproduction.trials:,} trials; –: two layers cannot have this "
        "price",
        words=_WORDS,
    )
