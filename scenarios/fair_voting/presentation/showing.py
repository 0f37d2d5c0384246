"""Show a fair vote's outcome in a terminal: the winner, the mechanism, ε, and the utilities to all groups.

If groups are many or have long names, only the worst-off and the best-off are shown. Non-private winners are shown only
if the truth may be shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ....protocol.estimators import Estimate
from ....protocol.fair_voting import RULES, Feature, Outcome
from ....protocol.fair_voting.assurance import CONFIRMED
from ....protocol.fair_voting.kinds import JOINT
from ....protocol.fair_voting.objective import OBJECTIVES
from ....protocol.fair_voting.posteriors import DIFFERENCES, UTILITIES
from ....protocol.privacy import TrustModel
from ...presentation.drawing import MOST_ROWS
from ...presentation.numbers import rounded
from ...presentation.presenter import Known
from ...presentation.terminal import show_facts, show_note, show_table
from ...tables import Cell, Entry, Table
from ...verdicts import at_most, round_down
from .alternatives import (
    CROSSINGS,
    Alternative,
    alternatives_of,
    contests_won,
    decimals_of_disparity,
    decimals_of_estimates,
    format_chance,
    has_a_price,
    in_order,
)

_MECHANISMS: Final = {
    "laplace": "noise on the groups' utilities",
    "sampling": "random questions to random voters; now and then anything wins",
    "exponential": "the better an alternative, the likelier it wins",
    "permute_and_flip": "the better an alternative, the likelier it wins",
    "pairwise": "noise on how many prefer one alternative to another",
    "masked": "masked sums of the groups' utilities, with a share of noise from each voter",
    "sampled_pair": "voters compare two random alternatives each, and may lie",
    "sampled_position": "voters tell where they rank a random alternative, and may lie",
    "whole_ranking": "voters tell a whole ranking each, and may lie",
    "noisy_scores": "voters add noise to all their scores",
    "joint_pair": "voters compare two random alternatives each, as members of several groups at once",
    "joint_position": "voters tell their group and where they rank a random alternative, and may lie of both",
    "joint_ranking": "voters tell their group and a whole ranking each, and may lie of both",
    "joint_scores": "voters add noise to their scores and to those of every other group",
}
# Rules of non-private winners, by the truth's names: the session's objective, the paper's, and others.
_FAIREST: Final = "least disparity"
_RULES: Final = ("this objective", _FAIREST, *RULES)

_MOST_NAMED: Final = 8  # most groups in the line on voters
_WIDEST_NAME: Final = 24
"""Greatest width of an alternative's name when deciding whether all groups fit; longer names are wrapped."""
_WIDEST_GROUP: Final = 16


def show(console: Console, outcome: Outcome, known_truth: Known) -> None:
    """Print the winner, every alternative, and the non-private winners if they may be shown."""
    alternatives = in_order(alternatives_of(outcome, known_truth), outcome)
    if outcome.alternatives:
        _show_alternatives(console, outcome, alternatives, known_truth)
    else:
        show_note(console, "Only the winner is released, and no estimate.", style="yellow")
        if known_truth.truth is not None:
            console.print()
            show_note(console, "The truth, which nobody was told:")
            console.print()
            _show_alternatives(console, outcome, alternatives, known_truth)
    notes = list(_notes(outcome, known_truth))
    if known_truth.is_brief:
        if notes[1:]:
            show_note(console, f"{'; '.join(notes[1:])}.")
        return
    if outcome.features and (outcome.alternatives or known_truth.truth is not None):
        for number, feature in enumerate(outcome.features):
            console.print()
            _show_feature(console, outcome, alternatives, number, feature)
        console.print()
        _show_crossings(console, outcome, alternatives, known_truth)
    if known_truth.truth is not None:
        console.print()
        _show_rules(console, outcome, alternatives, known_truth.truth)
    for note in notes:
        show_note(console, note)
    console.print()
    _show_facts(console, outcome)


def conclude(outcome: Outcome) -> str:
    """Return sentences on the winner, the objective, and the probability that it is the best."""
    return (
        f"{outcome.winner} wins, elected for {_describe_objective(outcome)}{_describe_exceeding(outcome)}. "
        f"{_describe_assurance(outcome)}"
    )


def _describe_assurance(outcome: Outcome) -> str:
    """Return a sentence on the winner's certainty: a guarantee for all rankings, or else a probability."""
    assurance = outcome.assurance
    if outcome.objective not in OBJECTIVES:
        return "How sure that is stays open: the tests of winners are for Psephos's own objectives."
    level = f"{at_most(100 * assurance.level)} %"
    if assurance.verdict == CONFIRMED:
        return f"It is the best: wrong in at most {level} of such votes, whatever the rankings are."
    if assurance.shortfall is not None:
        certainty_text, max_shortfall = (
            f"{round_down(100 * (1 - assurance.level), 6):g} %",
            at_most(assurance.shortfall, 2),
        )
        return f"With {certainty_text} certainty no other one's quality is higher by {max_shortfall} or more."
    undecided_sentence = f"Whether it is the best is undecided at a level of {level}."
    if assurance.probability is not None:
        chance = format_chance(assurance.probability)
        prior = _PRIORS[assurance.prior] if assurance.prior in _PRIORS else str(assurance.prior)
        sentence = f"The probability that it is the best is {chance}, {prior}; near a tie it says nothing."
        return sentence if assurance.verdict is None else f"{undecided_sentence} {sentence}"
    if assurance.verdict is None:
        return "Nothing tells how near the others come: any of them may be better."
    return undecided_sentence


_PRIORS: Final = {
    UTILITIES: "if all utilities of all groups are equally likely",
    DIFFERENCES: "if all differences between the groups are equally likely",
}
"""Descriptions of priors."""


def _show_facts(console: Console, outcome: Outcome) -> None:
    """Print the voters, the mechanism, and the winner's certainty."""
    facts: dict[str, Entry] = {
        "Objective": Text(f"{outcome.objective}: {_describe_objective(outcome)}").append(
            _describe_exceeding(outcome), style="yellow"
        ),
        "Features": "; ".join(
            f"{feature.name} ({', '.join(map(_short, feature.groups[:_MOST_NAMED]))})"
            for feature in outcome.features or ()
        ),
        "Verdict": Text(_describe_assurance(outcome), "" if outcome.assurance.verdict == CONFIRMED else "yellow"),
        "Voters": _count_groups(outcome, outcome.group_sizes),
        # If groups are private, the numbers of reports by group are unknown.
        "Reports": f"{sum(outcome.num_reports):,}"
        if outcome.mechanism in JOINT
        else _count_groups(outcome, outcome.num_reports or outcome.group_sizes),
        "Mechanism": f"{outcome.mechanism}: {_MECHANISMS.get(outcome.mechanism, 'not known here')}",
    }
    details = outcome.details
    if not isinstance(details, msgspec.UnsetType) and details.gamma is not None:
        calibration_note = "chosen so that the loss is proven"
        facts["Sampling"] = f"γ = {details.gamma:.4g}, n_s = {details.num_samples:,}; {calibration_note}"
    if not isinstance(details, msgspec.UnsetType) and details.ranking:
        facts["Ranking"] = f"{' > '.join(details.ranking)} (Kemeny's)"
    if not isinstance(details, msgspec.UnsetType) and details.levels:
        by_level = ((level.epsilon, sum(level.num_reports)) for level in details.levels)
        facts["Reports by ε"] = ", ".join(f"{epsilon:g} ({number:,})" for epsilon, number in by_level)
    if not outcome.features:
        del facts["Features"]
    if facts["Reports"] == facts["Voters"] or sum(outcome.num_reports) == sum(outcome.group_sizes):
        del facts["Reports"]
    show_facts(console, facts, spaced=False)


def _describe_objective(outcome: Outcome) -> str:
    """Return the objective in words, or the quality that replaces it if its limit is a penalty."""
    weight, details = outcome.fairness_weight, outcome.details
    share = None if isinstance(details, msgspec.UnsetType) else details.welfare_share
    floor = "" if share is None else f"{100 * share:g} % of the greatest"
    if outcome.objective not in OBJECTIVES:
        return f"the most by the objective {outcome.objective}"
    if has_a_price(outcome):
        objective_text = _OF_PRICES[outcome.objective]
    else:
        objective_text = _OBJECTIVES[f"{outcome.objective} {'' if share is None else 'above a share'}".strip()]
    return objective_text.format(weight=weight, most=outcome.max_disparity, floor=floor)


_OF_PRICES: Final = {
    "constrained": "the most welfare less {weight:g} times the disparity beyond {most:g}",
    "welfare_constrained": "the least disparity plus {weight:g} times what welfare is short of {floor}",
}
_OBJECTIVES: Final = {
    "parity": "the least disparity",
    "constrained": "the most welfare within a disparity of {most:g}",
    "penalized": "the most welfare less {weight:g} times the disparity",
    "welfare": "the most welfare",
    "copeland": "the most contests of two alternatives won",
    "kemeny": "the first place in the ranking that agrees most with voters on pairs",
    "welfare_constrained": "the least disparity",
    "welfare_constrained above a share": "the least disparity among those with {floor} welfare",
}
"""Descriptions by objective, and by whether welfare must reach a fraction of the greatest."""


def _describe_exceeding(outcome: Outcome) -> str:
    """Return what is elected if no alternative keeps the limit; empty if one does, or there is no limit."""
    of_all = [alternative.disparity for alternative in outcome.alternatives]
    if outcome.objective == "constrained" and of_all and min(of_all) > outcome.max_disparity:
        return "; none is within it, so that the least disparity wins"
    return ""


def _count_groups(outcome: Outcome, numbers: Sequence[int]) -> str:
    """Return the numbers of voters in the first groups."""
    parts = [f"{number:,} of {_short(name)}" for name, number in zip(outcome.groups, numbers, strict=True)]
    if len(parts) > _MOST_NAMED:
        parts[_MOST_NAMED:] = [f"and {len(parts) - _MOST_NAMED:,} more groups"]
    return f"{sum(numbers):,}: {', '.join(parts)}"


def _short(name: str) -> str:
    """Shorten a group's name to a column's width."""
    text = Text(name)
    text.truncate(_WIDEST_GROUP, overflow="ellipsis")
    return text.plain


_LEFT_OUT: Final = (
    "Greatest",
    "Best off",
    "Worst off",
    "Least",
)  # columns that a narrow terminal drops, in order


def _names_of(alternatives: Sequence[Alternative]) -> list[Cell]:
    return [Cell(alternative.name, tone="good" if alternative.is_winner else "") for alternative in alternatives]


def _columns_table(columns: Mapping[str, Sequence[Entry]]) -> Table:
    return Table(columns=list(columns), rows=list(zip(*columns.values(), strict=True)))


def _show_alternatives(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], known_truth: Known
) -> None:
    """Print a row for each alternative: estimates with true values, or true values only.

    With overlapping features, utilities are in the tables below.
    """
    shown_alternatives = alternatives[:MOST_ROWS]
    served_utilities = [utilities for alternative in shown_alternatives if (utilities := alternative.known) is not None]
    true = [utilities for alternative in shown_alternatives if (utilities := alternative.true) is not None]
    welfare = _column([utilities.welfare for utilities in served_utilities])
    decimals = decimals_of_disparity(served_utilities)
    disparity = [f"{utilities.disparity:,.{decimals}f}" for utilities in served_utilities]
    truths: dict[str, Sequence[str]] = {}
    if outcome.alternatives and true:
        digits = decimals_of_estimates([utilities.welfare for utilities in served_utilities])
        truths["True welfare"] = [rounded(utilities.welfare.value, digits) for utilities in true]
        truths["True disparity"] = [f"{utilities.disparity:,.{decimals}f}" for utilities in true]
    names = _names_of(shown_alternatives)
    ends = {"Welfare": welfare}, {"Disparity": disparity}
    numbers = (
        {**ends[0], **ends[1]} if outcome.features else _group_columns(console, outcome, shown_alternatives, *ends)
    )
    if len(outcome.groups) == 1:
        numbers = ends[0]
        truths.pop("True disparity", None)
    if won := contests_won(outcome):
        numbers = {"Contests won": [f"{won[utilities.name]:g}" for utilities in shown_alternatives], **numbers}
    drop = ("True welfare", "True disparity", *_LEFT_OUT)
    show_table(console, _columns_table({"Alternative": names, **numbers, **truths}), drop=drop, whole=known_truth.table)
    if len(alternatives) > len(shown_alternatives):
        show_note(
            console, f"… and {len(alternatives) - len(shown_alternatives)} more alternatives in {known_truth.table}"
        )


def _show_crossings(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], known_truth: Known
) -> None:
    """Print each alternative's utilities to the crossings of features, and their disparity."""
    shown_alternatives = alternatives[:MOST_ROWS]
    served_utilities = [utilities for alternative in shown_alternatives if (utilities := alternative.known) is not None]
    decimals = decimals_of_disparity(served_utilities)
    disparity = [f"{utilities.disparity_of_groups:,.{decimals}f}" for utilities in served_utilities]
    last = {f"Disparity of {CROSSINGS}": disparity}
    numbers = _group_columns(console, outcome, shown_alternatives, {}, last)
    show_table(
        console,
        _columns_table({"Alternative": _names_of(shown_alternatives), **numbers}),
        drop=_LEFT_OUT,
        whole=known_truth.table,
    )


def _group_columns(
    console: Console,
    outcome: Outcome,
    shown_alternatives: Sequence[Alternative],
    first: Mapping[str, Sequence[str]],
    last: Mapping[str, Sequence[str]],
) -> dict[str, Sequence[str]]:
    """Return columns with the utility to each group; only to the worst-off and best-off if they do not fit."""
    served_utilities = [utilities for alternative in shown_alternatives if (utilities := alternative.known) is not None]
    numbers: dict[str, Sequence[str]] = {**first}
    for place, (group, size) in enumerate(zip(outcome.groups, outcome.group_sizes, strict=True)):
        numbers[f"{group} ({size:,})"] = _column([utilities.utilities[place] for utilities in served_utilities])
    numbers |= last
    if _fit(console, shown_alternatives, numbers):
        return numbers
    decimals = decimals_of_disparity(served_utilities)
    return {
        **first,
        "Least": _column([utilities.utilities[utilities.worst] for utilities in served_utilities], decimals),
        "Worst off": [_short(outcome.groups[utilities.worst]) for utilities in served_utilities],
        "Greatest": _column([utilities.utilities[utilities.best] for utilities in served_utilities], decimals),
        "Best off": [_short(outcome.groups[utilities.best]) for utilities in served_utilities],
        **last,
    }


def _show_feature(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], number: int, feature: Feature
) -> None:
    """Print each alternative's known utilities to the groups of one feature."""
    shown_alternatives = alternatives[:MOST_ROWS]
    served_utilities = [
        utilities.features[number] for alternative in shown_alternatives if (utilities := alternative.known) is not None
    ]
    names = _names_of(shown_alternatives)
    sizes = zip(feature.groups, feature.sizes(outcome.group_sizes), strict=True)
    numbers = {
        f"{_short(group)} ({size:,})": _column([utilities.utilities[place] for utilities in served_utilities])
        for place, (group, size) in enumerate(sizes)
    }
    decimals = decimals_of_estimates([utility for utilities in served_utilities for utility in utilities.utilities])
    disparity = [f"{utilities.disparity:,.{decimals}f}" for utilities in served_utilities]
    last = {f"Disparity of {_short(feature.name)}": disparity}
    show_table(console, _columns_table({"Alternative": names, **numbers, **last}), drop=tuple(numbers))


def _fit(console: Console, shown_alternatives: Sequence[Alternative], numbers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether all columns fit next to the alternatives' names."""
    names = min(max(cell_len(alternative.name) for alternative in shown_alternatives), _WIDEST_NAME)
    widths = [names, *(max(map(cell_len, (header, *cells))) for header, cells in numbers.items())]
    return sum(widths) + 3 * len(widths) <= console.width  # plus the space between columns of `show_table`


def _column(estimates: Sequence[Estimate], decimals: int | None = None) -> list[str]:
    """Return a column of estimates with the same decimals; by default as their errors require."""
    if decimals is None:
        decimals = decimals_of_estimates(estimates)
    with_errors = any(estimate.standard_error for estimate in estimates)
    return [
        rounded(estimate.value, decimals) + (f" ± {estimate.standard_error:,.{decimals}f}" if with_errors else "")
        for estimate in estimates
    ]


def _show_rules(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], truth: Mapping[str, Any]
) -> None:
    """Print the non-private winners, their rules, and their utilities."""
    utilities_of_name = {
        alternative.name: utilities for alternative in alternatives if (utilities := alternative.true) is not None
    }
    decimals = decimals_of_estimates([utilities.welfare for utilities in utilities_of_name.values()])
    rules_of: dict[str, list[str]] = {}
    for rule in _RULES:
        if rule == _FAIREST and len(outcome.groups) == 1:
            continue
        strictly = ", its limit kept" if rule == _RULES[0] and has_a_price(outcome) else ""
        rules_of.setdefault(truth[rule], []).append(rule + strictly)
    rows: list[Sequence[str]] = []
    for joined_name, rules in rules_of.items():
        tied_utilities = [utilities_of_name[name] for name in _tied(joined_name, outcome.candidates)]
        welfare = _range((utilities.welfare.value for utilities in tied_utilities), decimals)
        rows.append(
            (
                joined_name,
                ", ".join(rules),
                welfare,
                _range((utilities.disparity for utilities in tied_utilities), decimals),
            )
        )
    columns = ("Non-private winner", "By", "Its welfare", "Its disparity")
    if len(outcome.groups) == 1:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    show_table(console, Table(columns=columns, rows=rows, labels=2), drop=("Its welfare",))


def _tied(joined_name: str, candidates: Sequence[str]) -> Sequence[str]:
    """Split a true winner's text at commas into tied alternatives; names may contain commas."""
    if joined_name in candidates:
        return (joined_name,)
    beginnings: dict[str, tuple[str, ...]] = {"": ()}
    for name in candidates:
        for beginning, names in list(beginnings.items()):
            longer = f"{beginning}, {name}" if names else name
            if joined_name.startswith(longer):
                beginnings.setdefault(longer, (*names, name))
    return beginnings.get(joined_name, ())


def _range(values: Iterable[float], decimals: int) -> str:
    """Format the least and the greatest number; only once if they are equal when rounded."""
    number_texts = [rounded(value, decimals) for value in sorted(values)]
    low, high = number_texts[0], number_texts[-1]
    return low if low == high else f"{low} to {high}"


def _notes(outcome: Outcome, known_truth: Known) -> Iterable[str]:
    """Yield explanations of the tables."""
    if not outcome.alternatives and known_truth.truth is None:
        return
    yield "welfare: the mean utility of all voters; a utility is the score of a position"
    is_compared = len(outcome.groups) > 1
    if outcome.features:
        yield "disparity: the greatest mean utility of a group less the least, for the feature where that is most"
    elif is_compared:
        yield "disparity: the greatest mean utility of a group less the least"
    if not outcome.alternatives:
        return
    if is_compared:
        yield "noise makes it larger on average, most where it is small"
    # other models are shown elsewhere
    if outcome.model in {model.value for model in TrustModel if model.bounds_release}:
        yield "± is one standard error of the noise; who sent nothing counts as indifferent"
        return
    yield "± is one standard error of the randomization, not of how voters differ"
    if outcome.mechanism in JOINT:
        yield "every report is noise to every group; who sent nothing counts as indifferent"
        return
    if not all(outcome.num_reports):
        yield "a group without a report counts as indifferent"
