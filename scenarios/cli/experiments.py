"""`trials`, `variants` and `plan`: experiments on a scenario, and comparisons of its variants."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import cli
from .options import (
    cluster_option,
    json_option,
    load,
    make_folder,
    out_option,
    pictures_option,
    print_json,
    resume_option,
    scenario_options,
    tell_folder,
)
from .reports import command_of_context, leave_page, report_option

if TYPE_CHECKING:
    from ..experiments.variants import VariantTable


@cli.command(short_help="Run a scenario many times, and measure how good its outcomes are.")
@scenario_options
@click.option(
    "--trials", "number", type=int, help="Number of runs of the scenario, or of each cell of a grid (default: 500)."
)
@click.option(
    "--error",
    metavar="[MEASURE=]E",
    help="Run until the mean of MEASURE (default: the verdict's) is known within ±E (95 %), at most --trials times "
    "(default: 100000).",
)
@click.option(
    "--grid",
    metavar="KEY=A,B,...",
    multiple=True,
    help="Try each of these values; may be repeated. KEY,KEY=A/B,C/D,... varies keys together: A with B, C with D.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of the simulated noise.")
@click.option(
    "--synthetic-yes",
    metavar="[SHARE]",
    is_flag=False,
    flag_value="60%",
    help="Try synthetic voters in place of yours: as many, with the same weights, of whom this share votes yes (60%).",
)
@click.option(
    "--redraw",
    metavar="[K]",
    type=click.IntRange(0, 1000),
    default=0,
    is_flag=False,
    flag_value=2,
    help="Draw synthetic parties anew for every K trials (2), and report the variance between draws and within.",
)
@click.option("--workers", type=int, default=0, help="Number of worker processes (default: automatic).")
@cluster_option
@out_option
@resume_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet"]),
    default="csv",
    show_default=True,
    help="The format of the table with a row for each trial.",
)
@json_option("summary.json")
@pictures_option("the measures")
@report_option
def trials(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    number: int | None,
    error: str | None,
    grid: tuple[str, ...],
    seed: int | None,
    synthetic_yes: str | None,
    redraw: int,
    workers: int,
    cluster: str | None,
    out: Path | None,
    resume: Path | None,
    form: str,
    *,
    as_json: bool,
    pictures: bool,
    with_report: bool,
) -> None:
    """Run SCENARIO many times, each time with fresh simulated noise, and compare its outcomes with the truth.

    \b
    psephos trials consortium
    psephos trials consortium --grid epsilon=0.5,1,2 --grid variant=joint,laplace
    psephos trials two-societies --trials 2000 --grid mechanism=laplace,exponential
    psephos trials consortium --error 0.5% --cluster local
    psephos trials committee.toml --synthetic-yes 55%
    psephos trials consortium --redraw

    The parties stay the same, unless --redraw has their generator make others; each trial is one session, as
    `psephos run` would run it. Every trial would spend real participants' ε again, so trials need synthetic
    participants; --synthetic-yes generates them. A grid runs every combination of its values; one that cannot be run
    is N/A, with the reason. Results depend on the seed only, not on the number of processes or on a cluster. To
    continue interrupted trials, repeat the command with --resume FOLDER in place of --out.
    """  # noqa: D301  the character makes click keep the lines
    import contextlib
    import secrets

    from ..experiments.grids import load_cells
    from ..experiments.measured import TrialCell, precision_of
    from ..experiments.trials import check_trials, open_journal, prepare_all, run_trials, synthetic_like, usual_trials
    from ..experiments.trials_shown import check_form, number_of_trials, show_trials, summary_in_json, write_trials
    from ..presentation import make_console, numbers
    from ..running.cluster import open_cluster
    from ..running.journaling import seed_in
    from ..running.plugin_errors import blame_plugins
    from ..running.progress import steps
    from ..running.report import show_heading
    from ..running.statements import setting_of

    number = usual_trials(redraw, is_known=error is None) if number is None else number
    check_trials(number, workers, redraw=redraw)
    check_form(form)
    seed = seed_in(resume) if resume is not None and seed is None else seed
    seed_drawn = secrets.randbits(128)
    scenario_cells = load_cells(scenario, settings, grid=grid, data=data, seed=seed)
    if synthetic_yes is not None:
        share = _share_in(synthetic_yes, field="--synthetic-yes")
        scenario_cells = [(trial_cells, synthetic_like(each, share)) for trial_cells, each in scenario_cells]
    prepared_cells, refused_cells = prepare_all(scenario_cells, seed=seed_drawn, redraws=redraw > 0)
    first = prepared_cells[0][2]
    name, title = first.scenario.name, first.scenario.title or first.scenario.name
    console = make_console()
    plugins = [plugin for _, _, resolved in prepared_cells for plugin in resolved.plugins]
    with blame_plugins(plugins, is_private=False, is_last=True):
        trial_cells = [
            TrialCell(settings=trial_cells, scenario=each, redraw=redraw) for trial_cells, each, _ in prepared_cells
        ]
        locals_ = [resolved for _, _, resolved in prepared_cells]
        precision = None if error is None else precision_of(*_measure_and_error(error), locals_)
        folder = make_folder(out, f"trials-{name}", resume=resume)
        cells = f"{len(prepared_cells):,} cells of " if len(prepared_cells) > 1 else ""
        facts = [
            numbers.pluralize(len(first.names), first.protocol.client_role),
            f"protocol {first.protocol.name}",
            f"{cells}{'' if precision is None else 'at most '}{number:,} trials",
            *([f"synthetic: {synthetic_yes} vote yes"] if synthetic_yes is not None else []),
            *([f"drawn anew: {redraw} trials a draw"] if redraw else []),
        ]
        if not as_json:
            show_heading(console, title=title, facts=facts, description="", trust="")
        errors = make_console(stderr=True)
        with (
            contextlib.closing(open_journal(folder.path, trial_cells, locals_, resumes=resume is not None)) as journal,
            contextlib.nullcontext() if cluster is None else open_cluster(cluster, workers=workers) as pool,
            steps(errors) as tell,
        ):
            trial_results = run_trials(
                trial_cells,
                trials=number,
                workers=workers,
                setups={trial_cells: resolved for trial_cells, _, resolved in prepared_cells},
                precision=precision,
                pool=pool,
                journal=journal,
                on_progress=tell if len(prepared_cells) > 1 or errors.is_terminal else None,
            )
        of_each = setting_of(first.protocol, len(first.names)) if len(prepared_cells) == 1 else facts[0]
        setting = (
            f"{of_each} · {number_of_trials(trial_results)} trials{' of each cell' if len(prepared_cells) > 1 else ''}"
        )
        with leave_page(folder, is_wanted=with_report, command=command_of_context()):
            heading = {"name": name, "title": title, "setting": setting, "form": form}
            write_trials(
                folder, trial_results, **heading, pictures=pictures, precision=precision, refused_cells=refused_cells
            )
        journal.drop()
    if as_json:
        print_json(summary_in_json(trial_results, name=name, precision=precision, refused_cells=refused_cells))
        return
    show_trials(console, trial_results, precision=precision, refused_cells=refused_cells)
    tell_folder(console, folder, draws=True)


@cli.command(short_help="Compare the error of a scenario's variants at its ε.")
@scenario_options
@click.option(
    "--error", metavar="E", help="Also show the ε of each variant for this error, in the table's unit or as 5%."
)
@click.option(
    "--trials",
    "number",
    type=int,
    default=200,
    show_default=True,
    help="Trials for each error that has no exact formula.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of the trials' noise.")
@json_option("it as JSON")
def variants(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    error: str | None,
    number: int,
    seed: int | None,
    *,
    as_json: bool,
) -> None:
    """Compare the error of SCENARIO's variants at its ε, in the unit of its protocol.

    \b
    psephos variants consortium
    psephos variants consortium --set epsilon=3 --set 'candidates=["a", "b", "c"]'
    psephos variants consortium --error 50
    psephos variants crowd --error 5%

    ε is the proven loss of one party over the whole session. Errors are exact in DPWeVote. In the other systems they
    come from trials of the same parties, which have to be synthetic.
    """  # noqa: D301  the character makes click keep the lines
    import math

    from ...protocol.errors import refuse
    from ..experiments.plain_variants import variants_of
    from ..experiments.trials import check_trials
    from ..experiments.variants import table_of

    loaded_scenario = load(scenario, settings, data, seed=seed)
    kind = variants_of(loaded_scenario.protocol)
    precision = None if error is None else _share_in(error)
    refuse(precision is not None and not 0 < precision < math.inf, "--error", error, "above 0, and finite")
    check_trials(number, 0)
    table = table_of(kind, loaded_scenario, trials=number)
    if precision is not None and error is not None and error.strip().endswith("%"):
        precision *= table.unit.whole
    _compare(table, error=precision, as_json=as_json)


def _compare(table: "VariantTable", *, error: float | None = None, as_json: bool) -> None:
    """Print each variant's error at the session's ε, and if an error is given, the ε that each variant needs for it."""
    import itertools

    from ..experiments.variants import VariantOffer, price_for
    from ..experiments.variants_shown import show_variants, variants_in_json
    from ..presentation import make_console
    from ..running.progress import steps

    errors = make_console(stderr=True)
    total = len(table.names) * (1 if error is None else 2)
    with steps(errors) as on_step:
        counter = itertools.count()

        def tell(line: str) -> None:
            if table.needs_values or errors.is_terminal:
                on_step(line, next(counter), total)

        offers = table.offers(tell)
        prices: dict[str, VariantOffer | None] = {}
        for name in () if error is None else table.names:
            tell(f"the price of {name}")
            prices[name] = price_for(table, name, error or 0.0)
    if as_json:
        print_json(variants_in_json(table, offers, prices, error=error))
        return
    show_variants(make_console(), table, offers, prices, error=error)


@cli.command(short_help="Find the ε, the error or the number of people from the other two.")
@scenario_options
@click.option(
    "--error", metavar="E", help="The error that you accept: a share as 0.05 or 5%, or a number of votes as 3."
)
@click.option("--epsilon", type=float, metavar="EPSILON", help="The privacy loss that one person accepts.")
@click.option("--people", type=int, metavar="N", help="The number of people (default: the scenario's).")
@click.option(
    "--trials",
    "number",
    type=int,
    default=50,
    show_default=True,
    help="Trials for each error that has no exact formula.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=2,
    show_default=True,
    help="Start no more trials after this time, and show what is known.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of the trials' noise.")
@out_option
@json_option("plan.json")
@pictures_option("error over ε")
def plan(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    error: str | None,
    epsilon: float | None,
    people: int | None,
    number: int,
    minutes: float,
    seed: int | None,
    out: Path | None,
    *,
    as_json: bool,
    pictures: bool,
) -> None:
    """Plan SCENARIO before anybody votes: of error, ε and people, two give the third.

    \b
    psephos plan consortium --error 5%
    psephos plan consortium --people 30 --error 10%
    psephos plan consortium --epsilon 1
    psephos plan two-societies --error 5% --epsilon 0.5

    For each variant and model of trust, `plan` explains ε in odds, and proposes alternatives. Without --error,
    --epsilon and --people it compares the variants at the scenario's own ε, as `psephos variants` does. Errors of votes
    and rankings are exact, and depend on nobody's values. In the other systems they come from trials of synthetic
    parties, which take time: --minutes limits it.
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import refuse
    from ..experiments.plans import make_plan, make_table
    from ..experiments.plans_shown import plan_in_json, show_plan, write_plan
    from ..experiments.trials import check_trials
    from ..presentation import make_console
    from ..presentation.numbers import pluralize
    from ..running.progress import steps
    from ..running.report import show_heading

    loaded_scenario = load(scenario, settings, data, seed=seed)
    check_trials(number, 0)
    precision = None if error is None else _share_in(error)
    is_whole = (
        precision is not None and precision >= 1 and str(error).strip().endswith("%")
    )  # otherwise 200 % would mean 2 votes
    refuse(is_whole, "--error", error, "below 100%")
    table = make_table(loaded_scenario, trials=number, people=people)
    if error is None and epsilon is None and people is None:
        _compare(table, as_json=as_json)
        return
    errors = make_console(stderr=True)
    with steps(errors) as on_step:
        plan_found = make_plan(
            table,
            error=precision,
            epsilon=epsilon,
            has_curves=pictures,
            seconds=60 * minutes,
            tell=on_step if table.needs_values or errors.is_terminal else None,
        )
    folder = make_folder(out, f"plan-{loaded_scenario.name}")
    write_plan(folder, plan_found, table, pictures=pictures)
    if as_json:
        print_json(plan_in_json(plan_found, table))
        return
    console = make_console()
    protocol = table.resolved.protocol
    facts = [pluralize(plan_found.people, protocol.client_role), f"protocol {protocol.name}", "nobody has voted yet"]
    show_heading(
        console,
        title=f"A plan for: {loaded_scenario.title or loaded_scenario.name}",
        facts=facts,
        description="",
        trust="",
    )
    show_plan(console, plan_found, table, source=scenario)
    tell_folder(console, folder, draws=True)


def _measure_and_error(text: str) -> tuple[str, float]:
    """Parse an error such as "0.5%" or "accuracy=0.5%" into its measure, which may be empty, and a fraction."""
    measure, _, error = text.rpartition("=")
    return measure.strip(), _share_in(error)


def _share_in(text: str, *, field: str = "--error") -> float:
    """Parse a number or a percentage."""
    from ...protocol.errors import ConfigurationError

    number = text.strip().removeprefix("±").strip()
    try:
        return float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        allowed = "a number, as 0.05, or percent, as 5%"
        raise ConfigurationError(field=field, value=text, allowed=allowed) from None
