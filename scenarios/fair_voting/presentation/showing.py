"""A fair and private vote's outcome in a terminal: who wins, by what, at what price, and how well that serves all.

Of many groups, or groups with long names, the worst and the best off are shown. Where the winner alone is released,
that is said; what would be elected without privacy is shown only where the truth may be.
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
    has_a_price,
    in_order,
    written_chance,
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
# What a vote without privacy elects, by the truth's names: the session's own objective, the paper's, and the others.
_FAIREST: Final = "least disparity"
_RULES: Final = ("this objective", _FAIREST, *RULES)

_MOST_NAMED: Final = 8  # groups in the line of voters
_WIDEST_NAME: Final = 24
"""An alternative's, where it is weighed whether all groups fit; longer ones go on in the next line."""
_WIDEST_GROUP: Final = 16


def show(console: Console, outcome: Outcome, known: Known) -> None:
    """Print who wins, every alternative, and what would be elected without privacy where that may be known."""
    alternatives = in_order(alternatives_of(outcome, known), outcome)
    if outcome.alternatives:
        _show_alternatives(console, outcome, alternatives, known)
    else:
        show_note(console, "Only the winner is released, and no estimate.", style="yellow")
        if known.truth is not None:
            console.print()
            show_note(console, "The truth, which nobody was told:")
            console.print()
            _show_alternatives(console, outcome, alternatives, known)
    notes = list(_notes(outcome, known))
    if known.is_brief:
        if notes[1:]:
            show_note(console, f"{'; '.join(notes[1:])}.")
        return
    if outcome.features and (outcome.alternatives or known.truth is not None):
        for number, feature in enumerate(outcome.features):
            console.print()
            _show_feature(console, outcome, alternatives, number, feature)
        console.print()
        _show_crossings(console, outcome, alternatives, known)
    if known.truth is not None:
        console.print()
        _show_rules(console, outcome, alternatives, known.truth)
    for note in notes:
        show_note(console, note)
    console.print()
    _show_facts(console, outcome)


def conclude(outcome: Outcome) -> str:
    """Return who wins, what for, and how sure it is that this is the best."""
    return f"{outcome.winner} wins, elected for {_elected_for(outcome)}{_exceeding(outcome)}. {_assured(outcome)}"


def _assured(outcome: Outcome) -> str:
    """Return how sure a winner is, as a sentence: what holds whatever the rankings are, or else a probability."""
    assurance = outcome.assurance
    if outcome.objective not in OBJECTIVES:
        return "How sure that is stays open: the tests of winners are for Psephos's own objectives."
    level = f"{at_most(100 * assurance.level)} %"
    if assurance.verdict == CONFIRMED:
        return f"It is the best: wrong in at most {level} of such votes, whatever the rankings are."
    if assurance.shortfall is not None:
        sure, most = f"{round_down(100 * (1 - assurance.level), 6):g} %", at_most(assurance.shortfall, 2)
        return f"With {sure} certainty no other one's quality is higher by {most} or more."
    undecided = f"Whether it is the best is undecided at a level of {level}."
    if assurance.probability is not None:
        chance = written_chance(assurance.probability)
        prior = _PRIORS[assurance.prior] if assurance.prior in _PRIORS else str(assurance.prior)
        told = f"The probability that it is the best is {chance}, {prior}; near a tie it says nothing."
        return told if assurance.verdict is None else f"{undecided} {told}"
    if assurance.verdict is None:
        return "Nothing tells how near the others come: any of them may be better."
    return undecided


_PRIORS: Final = {
    UTILITIES: "if all utilities of all groups are equally likely",
    DIFFERENCES: "if all differences between the groups are equally likely",
}
"""In words."""


def _show_facts(console: Console, outcome: Outcome) -> None:
    """Print what was elected by whom and by what, and how sure that is."""
    said: dict[str, Entry] = {
        "Objective": Text(f"{outcome.objective}: {_elected_for(outcome)}").append(_exceeding(outcome), style="yellow"),
        "Features": "; ".join(
            f"{feature.name} ({', '.join(map(_short, feature.groups[:_MOST_NAMED]))})"
            for feature in outcome.features or ()
        ),
        "Verdict": Text(_assured(outcome), "" if outcome.assurance.verdict == CONFIRMED else "yellow"),
        "Voters": _by_group(outcome, outcome.group_sizes),
        # Where groups are private, nobody knows how many of each reported.
        "Reports": f"{sum(outcome.num_reports):,}"
        if outcome.mechanism in JOINT
        else _by_group(outcome, outcome.num_reports or outcome.group_sizes),
        "Mechanism": f"{outcome.mechanism}: {_MECHANISMS.get(outcome.mechanism, 'not known here')}",
    }
    details = outcome.details
    if not isinstance(details, msgspec.UnsetType) and details.gamma is not None:
        told = "chosen so that the loss is proven"
        said["Sampling"] = f"γ = {details.gamma:.4g}, n_s = {details.num_samples:,}; {told}"
    if not isinstance(details, msgspec.UnsetType) and details.ranking:
        said["Ranking"] = f"{' > '.join(details.ranking)} (Kemeny's)"
    if not isinstance(details, msgspec.UnsetType) and details.levels:
        by_level = ((level.epsilon, sum(level.num_reports)) for level in details.levels)
        said["Reports by ε"] = ", ".join(f"{epsilon:g} ({number:,})" for epsilon, number in by_level)
    if not outcome.features:
        del said["Features"]
    if said["Reports"] == said["Voters"] or sum(outcome.num_reports) == sum(outcome.group_sizes):
        del said["Reports"]
    show_facts(console, said, spaced=False)


def _elected_for(outcome: Outcome) -> str:
    """Return what the objective asks for, or the quality that stands for it where a limit has a price."""
    weight, details = outcome.fairness_weight, outcome.details
    share = None if isinstance(details, msgspec.UnsetType) else details.welfare_share
    floor = "" if share is None else f"{100 * share:g} % of the greatest"
    if outcome.objective not in OBJECTIVES:
        return f"the most by the objective {outcome.objective}"
    if has_a_price(outcome):
        said = _OF_PRICES[outcome.objective]
    else:
        said = _OBJECTIVES[f"{outcome.objective} {'' if share is None else 'above a share'}".strip()]
    return said.format(weight=weight, most=outcome.max_disparity, floor=floor)


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
"""By the objective, and whether welfare has to reach a share of the greatest."""


def _exceeding(outcome: Outcome) -> str:
    """Return what is elected where nothing keeps the limit; empty where something does, or there is none."""
    of_all = [own.disparity for own in outcome.alternatives]
    if outcome.objective == "constrained" and of_all and min(of_all) > outcome.max_disparity:
        return "; none is within it, so that the least disparity wins"
    return ""


def _by_group(outcome: Outcome, numbers: Sequence[int]) -> str:
    """Return how many there are of each group, of the first groups."""
    named = [f"{number:,} of {_short(name)}" for name, number in zip(outcome.groups, numbers, strict=True)]
    if len(named) > _MOST_NAMED:
        named[_MOST_NAMED:] = [f"and {len(named) - _MOST_NAMED:,} more groups"]
    return f"{sum(numbers):,}: {', '.join(named)}"


def _short(name: str) -> str:
    """Return as much of a group's name as a column has room for."""
    text = Text(name)
    text.truncate(_WIDEST_GROUP, overflow="ellipsis")
    return text.plain


_LEFT_OUT: Final = (
    "Greatest",
    "Best off",
    "Worst off",
    "Least",
)  # where a line is too narrow, the first of them first


def _names_of(alternatives: Sequence[Alternative]) -> list[Cell]:
    return [Cell(own.name, tone="good" if own.is_winner else "") for own in alternatives]


def _by_columns(columns: Mapping[str, Sequence[Entry]]) -> Table:
    return Table(columns=list(columns), rows=list(zip(*columns.values(), strict=True)))


def _show_alternatives(console: Console, outcome: Outcome, alternatives: Sequence[Alternative], known: Known) -> None:
    """Print a row for each alternative: estimates, and the truth beside them; or the truth alone.

    With features that overlap, the utilities stand in the tables below.
    """
    shown = alternatives[:MOST_ROWS]
    served = [own for alternative in shown if (own := alternative.known) is not None]
    true = [own for alternative in shown if (own := alternative.true) is not None]
    welfare = _column([own.welfare for own in served])
    decimals = decimals_of_disparity(served)
    disparity = [f"{own.disparity:,.{decimals}f}" for own in served]
    truths: dict[str, Sequence[str]] = {}
    if outcome.alternatives and true:
        digits = decimals_of_estimates([own.welfare for own in served])
        truths["True welfare"] = [rounded(own.welfare.value, digits) for own in true]
        truths["True disparity"] = [f"{own.disparity:,.{decimals}f}" for own in true]
    names = _names_of(shown)
    ends = {"Welfare": welfare}, {"Disparity": disparity}
    numbers = {**ends[0], **ends[1]} if outcome.features else _by_groups(console, outcome, shown, *ends)
    if len(outcome.groups) == 1:
        numbers = ends[0]
        truths.pop("True disparity", None)
    if won := contests_won(outcome):
        numbers = {"Contests won": [f"{won[own.name]:g}" for own in shown], **numbers}
    drop = ("True welfare", "True disparity", *_LEFT_OUT)
    show_table(console, _by_columns({"Alternative": names, **numbers, **truths}), drop=drop, whole=known.table)
    if len(alternatives) > len(shown):
        show_note(console, f"… and {len(alternatives) - len(shown)} more alternatives in {known.table}")


def _show_crossings(console: Console, outcome: Outcome, alternatives: Sequence[Alternative], known: Known) -> None:
    """Print what each alternative is worth to the crossings of several features, and how far apart these are."""
    shown = alternatives[:MOST_ROWS]
    served = [own for alternative in shown if (own := alternative.known) is not None]
    decimals = decimals_of_disparity(served)
    disparity = [f"{own.disparity_of_groups:,.{decimals}f}" for own in served]
    last = {f"Disparity of {CROSSINGS}": disparity}
    numbers = _by_groups(console, outcome, shown, {}, last)
    show_table(console, _by_columns({"Alternative": _names_of(shown), **numbers}), drop=_LEFT_OUT, whole=known.table)


def _by_groups(
    console: Console,
    outcome: Outcome,
    shown: Sequence[Alternative],
    first: Mapping[str, Sequence[str]],
    last: Mapping[str, Sequence[str]],
) -> dict[str, Sequence[str]]:
    """Return columns with the utility to each group between others; to the worst and best off if those do not fit."""
    served = [own for alternative in shown if (own := alternative.known) is not None]
    numbers: dict[str, Sequence[str]] = {**first}
    for place, (group, size) in enumerate(zip(outcome.groups, outcome.group_sizes, strict=True)):
        numbers[f"{group} ({size:,})"] = _column([own.utilities[place] for own in served])
    numbers |= last
    if _fit(console, shown, numbers):
        return numbers
    decimals = decimals_of_disparity(served)
    return {
        **first,
        "Least": _column([own.utilities[own.worst] for own in served], decimals),
        "Worst off": [_short(outcome.groups[own.worst]) for own in served],
        "Greatest": _column([own.utilities[own.best] for own in served], decimals),
        "Best off": [_short(outcome.groups[own.best]) for own in served],
        **last,
    }


def _show_feature(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], number: int, feature: Feature
) -> None:
    """Print what each alternative is worth to the groups of one of several features, as it is known."""
    shown = alternatives[:MOST_ROWS]
    served = [own.features[number] for alternative in shown if (own := alternative.known) is not None]
    names = _names_of(shown)
    sizes = zip(feature.groups, feature.sizes(outcome.group_sizes), strict=True)
    numbers = {
        f"{_short(group)} ({size:,})": _column([own.utilities[place] for own in served])
        for place, (group, size) in enumerate(sizes)
    }
    decimals = decimals_of_estimates([utility for own in served for utility in own.utilities])
    disparity = [f"{own.disparity:,.{decimals}f}" for own in served]
    last = {f"Disparity of {_short(feature.name)}": disparity}
    show_table(console, _by_columns({"Alternative": names, **numbers, **last}), drop=tuple(numbers))


def _fit(console: Console, shown: Sequence[Alternative], numbers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a line has room for all these columns beside the alternatives' names."""
    names = min(max(cell_len(alternative.name) for alternative in shown), _WIDEST_NAME)
    widths = [names, *(max(map(cell_len, (header, *cells))) for header, cells in numbers.items())]
    return sum(widths) + 3 * len(widths) <= console.width  # what `show_table` puts between columns


def _column(estimates: Sequence[Estimate], decimals: int | None = None) -> list[str]:
    """Return a column of estimates with as many decimals each; by default as their errors deserve."""
    if decimals is None:
        decimals = decimals_of_estimates(estimates)
    with_errors = any(own.standard_error for own in estimates)
    return [
        rounded(own.value, decimals) + (f" ± {own.standard_error:,.{decimals}f}" if with_errors else "")
        for own in estimates
    ]


def _show_rules(
    console: Console, outcome: Outcome, alternatives: Sequence[Alternative], truth: Mapping[str, Any]
) -> None:
    """Print who would win without privacy, by which rules, and how well that serves the groups."""
    served = {alternative.name: own for alternative in alternatives if (own := alternative.true) is not None}
    decimals = decimals_of_estimates([own.welfare for own in served.values()])
    rules_of: dict[str, list[str]] = {}
    for rule in _RULES:
        if rule == _FAIREST and len(outcome.groups) == 1:
            continue
        strictly = ", its limit kept" if rule == _RULES[0] and has_a_price(outcome) else ""
        rules_of.setdefault(truth[rule], []).append(rule + strictly)
    rows: list[Sequence[str]] = []
    for joined, rules in rules_of.items():
        tied = [served[name] for name in _tied(joined, outcome.candidates)]
        welfare = _range((own.welfare.value for own in tied), decimals)
        rows.append((joined, ", ".join(rules), welfare, _range((own.disparity for own in tied), decimals)))
    columns = ("Non-private winner", "By", "Its welfare", "Its disparity")
    if len(outcome.groups) == 1:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    show_table(console, Table(columns=columns, rows=rows, labels=2), drop=("Its welfare",))


def _tied(joined: str, candidates: Sequence[str]) -> Sequence[str]:
    """Return the alternatives that a truth names, in their order, with commas between them; a name may hold some."""
    if joined in candidates:
        return (joined,)
    beginnings: dict[str, tuple[str, ...]] = {"": ()}
    for name in candidates:
        for beginning, names in list(beginnings.items()):
            longer = f"{beginning}, {name}" if names else name
            if joined.startswith(longer):
                beginnings.setdefault(longer, (*names, name))
    return beginnings.get(joined, ())


def _range(values: Iterable[float], decimals: int) -> str:
    """Return the least and the greatest of some numbers, as one where they are written alike."""
    written = [rounded(value, decimals) for value in sorted(values)]
    low, high = written[0], written[-1]
    return low if low == high else f"{low} to {high}"


def _notes(outcome: Outcome, known: Known) -> Iterable[str]:
    """Yield what readers of the tables need to know."""
    if not outcome.alternatives and known.truth is None:
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
    if outcome.model in {model.value for model in TrustModel if model.bounds_release}:  # what else it may be is shown
        yield "± is one standard error of the noise; who sent nothing counts as indifferent"
        return
    yield "± is one standard error of the randomization, not of how voters differ"
    if outcome.mechanism in JOINT:
        yield "every report is noise to every group; who sent nothing counts as indifferent"
        return
    if not all(outcome.num_reports):
        yield "a group without a report counts as indifferent"
