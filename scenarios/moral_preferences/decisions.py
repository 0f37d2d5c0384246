"""Decide which alternative the society of a released run prefers.

An outcome is read from a run's folder, from that of a voter who took part (`psephos join`), or from a file of either.
Alternatives are two, pairs, or a list (`alternatives`). A decision is computed from the release only: it costs no
privacy, and needs no parties.

There are two probabilities. The probability that the society prefers an alternative comes from the choice model. The
certainty of a choice despite the noise comes from the release's standard errors and a named prior. A verdict needs no
prior, and is "undecided" if noise alone would change choices too often.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.moral_preferences import Decision, MoralPreferences, Outcome, PriorName, Ranking, decide
from ...protocol.moral_preferences.certainty import why_no_certainty, why_no_verdict
from ...protocol.moral_preferences.parameters import MAX_BOUND, MAX_FEATURES_OF_COEFFICIENTS, MAX_RECORDS, MIN_BOUND
from ..presentation.numbers import pluralize
from ..presentation.terminal import show_label, show_note, show_table
from ..reading.conversion import convert
from ..reading.files import readable
from ..running.folder import check_schema
from ..tables import Cell, Entry, Table
from ..verdicts import UNDECIDED, at_most
from .alternatives import AlternativePair

_RUN: Final = "RUN"
_SIDES: Final = ("first", "second")
_SURE_OF_NOTHING: Final = "How much the noise may have changed that is not known."
_GREATEST: Final = 1e100  # bound of released numbers, so that products with features are finite
_PRIORS: Final = {
    "ball": "that are anywhere in the ball of the bound (prior: ball); of weaker ones it claims too much",
    "size": "that are in a ball of any size up to the bound (prior: size); of strong ones it claims too little",
}


def read_outcome(run: Path) -> Outcome:
    """Read a run's outcome from its folder, a voter's folder, or a file `result.json` or `outcome.json`.

    Raises:
        ConfigurationError: there is no such run, it released nothing, it has another protocol, or the file has no
            outcome.
    """
    path = run
    if run.is_dir():
        path = next((run / name for name in ("result.json", "outcome.json") if (run / name).exists()), run)
        reason = "it has neither result.json nor outcome.json"
        if (run / "run.json").exists():
            reason = "nothing was released; run.json says why"
        refuse(path == run, _RUN, str(run), f"the folder of a run with an outcome ({reason})")
    with readable(path, field=_RUN, value=run, what="the folder of a run, or its result.json or outcome.json"):
        content = path.read_bytes()
    try:
        outcome_fields: Any = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        allowed = f"a run's result or outcome in JSON ({error})"
        raise ConfigurationError(field=_RUN, value=str(path), allowed=allowed) from None
    check_schema(outcome_fields, path.name)
    own_name = MoralPreferences.name
    if {"protocol", "outcome"} <= outcome_fields.keys():  # a `result.json`
        allowed = f"Name a run of protocol {own_name!r}. {run} is of {outcome_fields['protocol']!r}."
        require(outcome_fields["protocol"] == own_name, _RUN, str(run), allowed)
        outcome_fields = outcome_fields["outcome"]
    try:
        outcome: Outcome = convert(outcome_fields, Outcome, path.name)
    except ConfigurationError as error:
        allowed = f"a run of protocol {own_name!r} ({error})"
        raise ConfigurationError(field=_RUN, value=str(run), allowed=allowed) from None
    names = [society.name for society in outcome.society_outcomes]
    allowed = f"a run of protocol {own_name!r} (each society needs a name of its own)"
    refuse(len(set(names)) < len(names), _RUN, str(run), allowed)
    _check(outcome, run)
    for society in outcome.society_outcomes:
        if society.preferences is not None:
            _check(outcome.society_outcome(society.name), run)
    return outcome


def _check(outcome: Outcome, run: Path) -> None:
    """Refuse an outcome that no session releases, such as a file edited by hand."""
    errors = (0.0,) * len(outcome.features) if outcome.errors is None else outcome.errors
    maxima, width = outcome.maxima, len(outcome.features)
    faults = {
        "its features are none, or repeated": not 0 < len(set(outcome.features)) == width,
        "its preferences are not a number for each feature": not _are_numbers(outcome.preferences),
        "its errors are not a number of at least 0 for each feature": not _are_numbers(errors)
        or min(errors, default=0) < 0,
        "its levels are none, or one has no voters, or an epsilon or weight of 0": not outcome.levels
        or any(
            not (0 < level.epsilon <= _GREATEST and 0 < level.weight <= _GREATEST and level.num_voters > 0)
            for level in outcome.levels
        ),
        "the radius of its ball is not above 0": outcome.ball is not None and not 0 < outcome.ball.radius <= _GREATEST,
        "its maxima are of no record, or their radius or scale is not above 0": maxima is not msgspec.UNSET
        and not (
            1 <= maxima.num_records <= MAX_RECORDS
            and MIN_BOUND <= maxima.radius <= MAX_BOUND
            and 0 < maxima.scale <= _GREATEST
        ),
        f"its noisy maxima have more than {MAX_FEATURES_OF_COEFFICIENTS} features": maxima is not msgspec.UNSET
        and width > MAX_FEATURES_OF_COEFFICIENTS,
    }
    for fault, is_there in faults.items():
        refuse(is_there, _RUN, str(run), f"a run of protocol {MoralPreferences.name!r} ({fault})")


def _are_numbers(numbers: Sequence[float]) -> bool:
    # Comparisons with nan are false.
    return all(abs(number) <= _GREATEST for number in numbers)


def decide_pairs(
    outcome: Outcome, pairs: Sequence[AlternativePair], *, level: float | None = None, prior: PriorName | None = None
) -> list[Decision]:
    """Return the society's choice in each pair; see `decide`. Post-processing of a release costs no privacy."""
    return [decide(outcome, pair.first, pair.second, level=level, prior=prior) for pair in pairs]


def decide_by_society(
    outcome: Outcome, pair: AlternativePair, *, level: float | None = None, prior: PriorName | None = None
) -> dict[str, Decision]:
    """Return the choice of each society with reports, as `decide_pairs`; empty if there is a single society."""
    names = [society.name for society in outcome.society_outcomes if society.preferences is not None]
    return {name: decide_pairs(outcome.society_outcome(name), [pair], level=level, prior=prior)[0] for name in names}


def show_decision(
    console: Console,
    outcome: Outcome,
    pair: AlternativePair,
    decision: Decision,
    by_society: Mapping[str, Decision] | None = None,
) -> None:
    """Print one decision like a run: verdict, estimates, privacy cost, and trust statement.

    The decision of all voters is followed by that of each of several societies.
    """
    societies = by_society or {}
    console.print()
    _show_verdict(console, *_verdict_on(outcome, decision))
    if societies:
        choices = {choices_of_society.choice for choices_of_society in societies.values()}
        agreement_text = "All societies choose alike" if len(choices) == 1 else "The societies do not choose alike"
        if {"first", "second"} <= {choices_of_society.verdict for choices_of_society in societies.values()}:
            agreement_text += ", nor do their verdicts"
        console.print(Text(f"{agreement_text}.", style="bold"))
    console.print()
    chances = dict.fromkeys(_SIDES, decision.probability)
    if decision.probability is not None:
        chances["second"] = 1 - decision.probability
    rows: list[Sequence[Entry]] = []
    for side, alternative in zip(_SIDES, (pair.first, pair.second), strict=True):
        described = ", ".join(f"{name} {value:g}" for name, value in alternative.items() if value)
        chance = chances[side]
        cells = [side, described or "0 of every feature", *([] if chance is None else [_probability(chance)])]
        rows.append([Cell(each, tone="strong" if side == decision.choice else "") for each in cells])
    columns = ("Alternative", "Features", *(() if decision.probability is None else ("Preferred",)))
    show_table(console, Table(columns=columns, rows=rows, labels=2))
    for note in _notes_of(outcome, [decision]):
        show_note(console, note)
    if societies:
        console.print()
        _show_table(console, outcome, "Society", societies.items())
        show_note(console, "each society by its own release; its noise is independent of the others'")
    _show_price(console, outcome)


def _show_verdict(console: Console, sentence: str, is_sure: bool) -> None:  # noqa: FBT001  as it is returned
    """Print a verdict, highlighted if it is a decision."""
    console.print(Text(sentence, style="bold" if is_sure else "bold yellow"))


def _verdict_on(outcome: Outcome, decision: Decision) -> tuple[str, bool]:
    """Return a decision in sentences, and whether it is a verdict."""
    if decision.choice is None:
        reason = "both are worth the same to it" if any(outcome.preferences) else "the reports cancel out"
        return f"The society prefers neither: {reason}.", False
    if decision.level is None:
        certainty_text = _sure_on_average("the choice", decision.certainty, decision.prior, "")
        return f"By the release the society prefers the {decision.choice}. {certainty_text}", False
    if decision.verdict == decision.choice:
        return f"The society prefers the {decision.choice}. {_wrong(decision.level)}", True
    sentence = f"Undecided at {_percent(decision.level)}. By the release the society prefers the {decision.choice}"
    return f"{sentence}, but the noise alone may have made it so.", False


def _sure_on_average(subject: str, certainty: float | None, prior: str | None, qualifier: str) -> str:
    """Return a sentence on the certainty of an undecided choice, if it is known."""
    if certainty is None:
        return _SURE_OF_NOTHING
    chance = _probability(certainty)
    chance = chance if chance.startswith(">") else f"{qualifier}{chance}"
    average = f"on average over societies (prior: {prior}); no verdict holds for each of them"
    return f"Without the noise {subject} is the same with a probability of {chance}, {average}."


def _wrong(level: float) -> str:
    return f"Wrong in at most {_percent(level)} of such votes, whatever the society is."


def _show_price(console: Console, outcome: Outcome) -> None:
    """Print a decision's privacy cost and trust statement."""
    show_label(console, "Privacy loss per person", "none: a decision is computed from the release alone.", style="")
    voters = "1 voter" if outcome.num_voters == 1 else f"{outcome.num_voters:,} voters"
    voters = f"up to {voters}" if outcome.relation == "add-remove-one" else voters
    trust = f"The release of {voters} ({outcome.paradigm}, {outcome.mechanism}) is taken as it is."
    show_label(console, "Trust", trust, style="")
    console.print()


def show_decisions(
    console: Console, outcome: Outcome, pairs: Sequence[AlternativePair], decisions: Sequence[Decision]
) -> None:
    """Print the number of decided pairs, a row for each decision, and explanations."""
    counts = Counter(decision.choice for decision in decisions)
    parts = [f"the {side} in {counts[side]:,}" for side in _SIDES]
    if counts[None]:
        parts.append(f"neither in {counts[None]:,}")
    sentence, close = f"Of {pluralize(len(decisions), 'pair')} the society prefers {', '.join(parts)}.", 0
    if why_no_verdict(outcome) is None:
        close = sum(decision.verdict == UNDECIDED for decision in decisions)
        sentence += f" {close:,} {'is' if close == 1 else 'are'} undecided."
    console.print()
    _show_verdict(console, sentence, not close)
    console.print()
    _show_table(console, outcome, "Pair", zip((pair.name for pair in pairs), decisions, strict=True))
    for note in _notes_of(outcome, decisions):
        show_note(console, note)
    _show_price(console, outcome)


def _show_table(console: Console, outcome: Outcome, heading: str, decisions: Iterable[tuple[str, Decision]]) -> None:
    """Print a row for each decision, by the name of its pair or society."""
    with_probability = not outcome.is_direction
    with_certainty, with_verdict = why_no_certainty(outcome) is None, why_no_verdict(outcome) is None
    columns = [heading, "Choice", "Margin", *["P(first)"] * with_probability, *["Certainty"] * with_certainty]
    columns += ["Verdict"] * with_verdict
    rows: list[Sequence[Entry]] = []
    for name, decision in decisions:
        choice_cell = Cell(decision.choice or "neither", tone="strong" if decision.choice else "warning")
        cells: list[Entry] = [name, choice_cell, f"{decision.margin:+,.4g}" if decision.margin else "0"]
        if with_probability:
            cells.append("" if decision.probability is None else _probability(decision.probability))
        if with_certainty:
            cells.append("" if decision.certainty is None else _probability(decision.certainty))
        if with_verdict:
            is_sure = decision.verdict in _SIDES
            verdict_text = (decision.verdict or "") if is_sure or decision.verdict is None else UNDECIDED
            cells.append(Cell(verdict_text, tone="" if is_sure else "warning"))
        rows.append(cells)
    show_table(console, Table(columns=columns, rows=rows, labels=2), drop=("Margin",))


def show_ranking(console: Console, outcome: Outcome, ranking: Ranking) -> None:
    """Print the winner, then the alternatives from the best to the worst."""
    level = ranking.level
    with_ranges = level is not None and any(each.least_rank is not None for each in ranking.alternatives)
    columns = ["Alternative", "Utility", "Rank", *["Ranks without noise"] * with_ranges]
    rows: list[Sequence[Entry]] = []
    for each in ranking.alternatives:
        is_winner = each.name == ranking.winner
        cells = [Cell(each.name, tone="strong" if is_winner else ""), f"{each.utility:+,.4g}", f"{each.rank}"]
        if with_ranges:
            is_one = each.least_rank == each.greatest_rank
            cells.append(f"{each.least_rank}" if is_one else f"{each.least_rank} to {each.greatest_rank}")
        rows.append(cells)
    console.print()
    _show_verdict(console, *_verdict_of_ranking(ranking))
    console.print()
    show_table(console, Table(columns=columns, rows=rows))
    certainty_text = f" {_probability(ranking.certainty_at_least)}" if ranking.certainty_at_least else ""
    certainty = [
        (
            f"certainty{certainty_text}: at least the chance of the same winner without the noise, on average over "
            "societies"
        )
    ]
    verdict = ""
    if level is not None:
        verdict = f"ranks without noise: noise makes any of them wrong with a probability of at most {_percent(level)}"
    for note in _notes(outcome, prior=ranking.prior, certainty=certainty, verdict=verdict):
        show_note(console, note)
    _show_price(console, outcome)


def _verdict_of_ranking(ranking: Ranking) -> tuple[str, bool]:
    """Return the winner in sentences, and whether it is a verdict."""
    number = len(ranking.alternatives)
    if ranking.winner is None:
        return "The society prefers none: the best are worth the same to it.", False
    sentence = f"of {number:,} alternatives the society prefers {ranking.winner}"
    if ranking.level is None:
        certainty_text = _sure_on_average("the winner", ranking.certainty_at_least or None, ranking.prior, "at least ")
        return f"By the release, {sentence}. {certainty_text}", False
    if ranking.verdict == ranking.winner:
        return f"{sentence[:1].upper()}{sentence[1:]}. {_wrong(ranking.level)}", True
    close = f"Undecided at {_percent(ranking.level)}"
    return f"{close}. By the release, {sentence}, but the noise alone may have made it so.", False


def _notes_of(outcome: Outcome, decisions: Sequence[Decision]) -> list[str]:
    """Return explanations of decisions, and why a number is missing."""
    decided = [decision for decision in decisions if decision.choice]
    if outcome.is_direction:
        probability = "no probability: only the direction of preferences was released, no strength"
    else:
        column = "preferred" if len(decisions) == 1 else "P(first)"
        probability = f"{column}: the probability by the probit model, Φ(margin), for the preferences as released"
    certainty_text = (
        f" {_probability(decided[0].certainty)}" if len(decisions) == len(decided) == 1 and decided[0].certainty else ""
    )
    certainty = [
        f"certainty{certainty_text}: the chance of the same choice without the noise, on average over societies"
    ]
    if errors := [decision.certainty_error for decision in decided if decision.certainty_error is not msgspec.UNSET]:
        certainty.append(f"certainty: by simulating the noise in objectives, to within about {2 * max(errors):.3f}")
    prior, verdict = None, ""
    if decided:
        prior, wrong = decided[0].prior, _percent(decided[0].level or 0.0)
        if len(decisions) > 1:  # for a single decision, the verdict says so
            verdict = f"verdict: each wrong in at most {wrong} of such votes, whatever the society is"
    return [probability, *_notes(outcome, prior=prior, certainty=certainty, verdict=verdict)]


def _notes(outcome: Outcome, *, prior: str | None, certainty: Sequence[str], verdict: str) -> list[str]:
    """Return the meaning of certainties and verdicts, or why there are none."""
    notes: list[str] = []
    if reason := why_no_certainty(outcome):
        notes.append(f"no certainty: {reason}")
    elif prior is not None:
        first, *other_sentences = certainty
        notes += [f"{first} {_PRIORS[prior]}", *other_sentences]
    if reason := why_no_verdict(outcome):
        notes.append(f"no verdict: {reason}")
    elif verdict:
        notes.append(verdict)
    return notes


def _probability(probability: float) -> str:
    """Format a probability, never as if it were certain, since floats near 1 are rounded."""
    least_shown = 0.001
    if probability < least_shown:
        return f"< {least_shown:g}"
    return f"{probability:.3f}" if probability <= 1 - least_shown else f"> {1 - least_shown:g}"


def _percent(share: float) -> str:
    return f"{at_most(100 * share)} %"
