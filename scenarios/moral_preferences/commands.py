"""`decide`: the choices that the society of a released run would make."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click


@click.command(short_help="Say which alternative the society of RUN prefers.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--first", metavar="FEATURE=VALUE,...", help="An alternative; features that are not named are 0.")
@click.option("--second", metavar="FEATURE=VALUE,...", help="The other alternative.")
@click.option(
    "--pairs",
    "pairs_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead, a CSV of pair,alternative,<feature>,... with the lines first and second of each pair.",
)
@click.option(
    "--alternatives",
    "list_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead, a CSV of alternative,<feature>,... with a line for each of several alternatives, which are ranked.",
)
@click.option(
    "--level",
    type=float,
    metavar="SHARE",
    help="How often, at most, noise makes the verdict wrong; in (0, 0.5).  [default: 0.05]",
)
@click.option("--prior", metavar="NAME", help="The prior of the certainty: ball or size.  [default: ball]")
@click.option("--society", metavar="NAME", help="Of several societies, decide for this one alone.")
@click.option(
    "--differences",
    "with_differences",
    is_flag=True,
    help="Instead, say where several societies differ: all pairs of them and all features at once.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each decision and nothing else.")
def decide(
    run: Path,
    first: str | None,
    second: str | None,
    pairs_file: Path | None,
    list_file: Path | None,
    level: float | None,
    prior: Any,  # a name, which `decide` checks
    society: str | None,
    *,
    with_differences: bool,
    as_json: bool,
) -> None:
    """Say which of two alternatives, or of several, the society of RUN prefers.

    RUN is the folder of a run of moral preferences, the folder of a voter who took part in one (`psephos join`), or
    a result.json or outcome.json. The answer is computed from the release alone, so it costs no privacy.

    \b
    psephos decide runs/moral-machine --first "Man=1, Dog=0" --second "Man=0, Dog=2"
    psephos decide runs/moral-machine --pairs dilemmas.csv --json
    psephos decide runs/moral-machine --alternatives ways-out.csv
    psephos decide runs/cultures --differences --level 0.01

    \b
    pair,alternative,Man,Dog
    1,first,1,0
    1,second,0,2

    \b
    alternative,Man,Dog
    swerve,1,0
    stay,0,2

    Three things come with a choice. The probability is how likely the society is to prefer an alternative (with --json
    and in tables: the first). The certainty is how likely the same choice would be made without noise. It is an average
    over societies as the prior has them: their preferences are anywhere in the ball of possible ones ("ball"), or in a
    ball of any size up to that, so that weak preferences are as likely as strong ones ("size"). The verdict needs no
    prior: it is the choice, or "undecided". Of several alternatives all are ranked; certainty and verdict are
    those of the winner, and the ranks without noise are said as ranges.

    If the run has several societies, the answer is that of all voters together, and below it stands each society's own
    choice between --first and --second; --society NAME asks one of them alone. --differences says by how much each
    feature counts more to one society than to another. Its verdicts and intervals hold all at once.

    If only the direction of preferences was released, there is no probability. If the release has no standard errors,
    there is neither certainty nor verdict.
    """  # noqa: D301  the character makes click keep the lines
    import msgspec

    from ...protocol.errors import refuse
    from ...protocol.moral_preferences import rank
    from ..presentation import make_console
    from ..running.folder import to_json
    from .alternatives import AlternativePair, parse_alternative, read_alternatives, read_pairs
    from .decisions import (
        decide_by_society,
        decide_pairs,
        read_outcome,
        show_decision,
        show_decisions,
        show_ranking,
    )

    other_options = {"--first": first, "--second": second, "--pairs": pairs_file, "--alternatives": list_file}
    if with_differences:
        _say_differences(run, {**other_options, "--prior": prior, "--society": society}, level=level, as_json=as_json)
        return
    files = [option for option in ("--alternatives", "--pairs") if other_options[option] is not None]
    if files:
        for option, value in other_options.items():
            is_other = value is not None and option != files[0]
            refuse(is_other, option, str(value), f"left out, since {files[0]} is given")
    else:
        for option in ("--first", "--second"):
            allowed = "given: an alternative, as in 'Man=1, Dog=0' (or --pairs FILE, or --alternatives FILE)"
            refuse(other_options[option] is None, option, "nothing", allowed)
    outcome = read_outcome(run)
    if society is not None:
        outcome = outcome.society_outcome(society)
    if list_file is not None:
        ranking = rank(outcome, read_alternatives(list_file, outcome), level=level, prior=prior)
        if as_json:
            click.echo(to_json(ranking))
        else:
            show_ranking(make_console(), outcome, ranking)
        return
    if pairs_file is None:
        alternatives = {
            side: parse_alternative(text or "", outcome, field=f"--{side}")
            for side, text in (("first", first), ("second", second))
        }
        pairs = [AlternativePair(name="", **alternatives)]
    else:
        pairs = read_pairs(pairs_file, outcome)
    decisions = decide_pairs(outcome, pairs, level=level, prior=prior)
    by_society = {} if pairs_file is not None else decide_by_society(outcome, pairs[0], level=level, prior=prior)
    if as_json:
        for pair, decision in zip(pairs, decisions, strict=True):
            name = {} if pairs_file is None else {"pair": pair.name}
            click.echo(to_json({**name, **msgspec.to_builtins(decision)}))
        for name, decision in by_society.items():
            click.echo(to_json({"society": name, **msgspec.to_builtins(decision)}))
    elif pairs_file is None:
        show_decision(make_console(), outcome, pairs[0], decisions[0], by_society)
    else:
        show_decisions(make_console(), outcome, pairs, decisions)


def _say_differences(run: Path, other_options: Mapping[str, object], *, level: float | None, as_json: bool) -> None:
    """Print the differences between a run's societies; `other_options` are other given options, or None."""
    from rich.text import Text

    from ...protocol.errors import refuse
    from ...protocol.moral_preferences import MOST_COMPARED
    from ...protocol.moral_preferences.certainty import why_no_verdict
    from ..presentation import make_console
    from ..presentation.terminal import show_note
    from ..running.folder import to_json
    from .decisions import read_outcome
    from .societies import compare_largest, show_differences, verdict_on_differences

    for option, value in other_options.items():
        refuse(value is not None, option, str(value), "left out, since --differences is given")
    outcome = read_outcome(run)
    comparison = compare_largest(outcome, level=level)
    reason = why_no_verdict(outcome) or "fewer than two societies reported"
    refuse(not comparison, "--differences", str(run), f"left out: {reason}")
    if as_json:
        for difference in comparison:
            click.echo(to_json(difference))
        return
    console = make_console()
    console.print()
    console.print(Text(verdict_on_differences(comparison), style="bold"))
    console.print()
    show_differences(console, outcome, comparison)
    if (number := len(outcome.society_outcomes)) > MOST_COMPARED:
        show_note(console, f"of {number:,} societies the {MOST_COMPARED} with most voters are compared")
