"""`audit`: lower bounds on privacy losses, compared with the claimed and the proven ones."""

import contextlib
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .group import cli
from .options import cluster_option, folder_option, json_option, make_folder, print_json, tell_folder
from .reports import command_of_context, leave_page, report_option

if TYPE_CHECKING:
    from ..audit.case import Case, Source

_REFUTED = 1
_ROTATIONS = 100_000
_PAPERS = "papers"
_SCENARIOS = {".toml", ".json"}
_PAPERS_TAKE = {"name", "as_json"}


@cli.command(short_help="Measure lower bounds on privacy losses; check the papers' claims.")
@click.argument("name", metavar="MECHANISM|PROTOCOL|SCENARIO|all|papers")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Set any value of SCENARIO, or a parameter of your own PROTOCOL.",
)
@click.option(
    "--data", metavar="FOLDER", help="The folder of data sets, for a SCENARIO (default: the variable PSEPHOS_DATA)."
)
@click.option(
    "--source",
    type=click.Choice(["simulated", "secure", "both"]),
    default="both",
    show_default=True,
    help="Which noise to audit: simulated, secure (as in deployments), or both.",
)
@click.option(
    "--samples",
    type=int,
    help="Outputs to draw of each neighbor (default: 500,000; with secure noise at most 20,000).",
)
@click.option("--thorough", is_flag=True, help="Draw ten times as many samples.")
@click.option(
    "--quick", is_flag=True, help="Draw a tenth of the samples. It takes a minute or two, and finds only gross faults."
)
@click.option(
    "--confidence",
    type=float,
    default=0.99,
    show_default=True,
    help="The confidence of all bounds together, in (0, 1).",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The seed of the simulated noise."
)
@click.option(
    "--rotation",
    type=click.IntRange(min=0),
    help="Which session sizes to combine (default: a random choice, which the audit prints).",
)
@click.option(
    "--workers", type=click.IntRange(min=0), default=0, help="Number of worker processes (default: one per core)."
)
@cluster_option
@json_option("audit.json")
@folder_option("--out", help="Also write audit.json and audit.csv here (default: nowhere).")
@report_option
def audit(
    name: str,
    settings: tuple[str, ...],
    data: str | None,
    source: Literal["simulated", "secure", "both"],
    samples: int | None,
    confidence: float,
    seed: int,
    rotation: int | None,
    workers: int,
    cluster: str | None,
    out: Path | None,
    *,
    thorough: bool,
    quick: bool,
    as_json: bool,
    with_report: bool,
) -> None:
    """Find a lower bound on the privacy loss of MECHANISM, PROTOCOL or SCENARIO, or of all of them.

    The audit searches for two neighboring inputs, and tells them apart by their outputs. If the outputs are finitely
    many, the bound is exact. Otherwise the audit draws outputs from the code that runs, and bounds the probability of
    an event by Clopper-Pearson intervals. It also compares the outputs with their stated distributions. A table shows
    the audited bound next to the claimed and the proven loss.

    \b
    mechanisms  k-rr subset-selection hadamard-response local-hashing channels laplace vector-laplace
                spherical-laplace threshold answers rankings joint-rankings exponential permute-and-flip
                sampled-choice released-sums response-sum subsample disclosure noise-shares
    protocols   dpwevote truth-discovery moral-preferences fair-voting
    papers      each claim of the papers, what is true, the numbers, and the command that shows them

    You can audit any other registered protocol by its name, with --set for its parameters, or by a scenario, whose
    public columns count. Neighbors are two rows that a party may hold: those that the protocol's method
    possible_entries() returns, or else those that its mechanisms accept.

    The exit status is 1 if a proof is refuted. `all` takes some minutes.

    \b
    psephos audit all
    psephos audit all --quick
    psephos audit k-rr --source simulated --samples 100000
    psephos audit my-protocol --set epsilon=2
    psephos audit my-scenario.toml
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import refuse
    from ..audit.running import (
        QUICK,
        SECURE_SAMPLES,
        SIMULATED_SAMPLES,
        THOROUGH,
        audit_all,
        sources_of,
    )
    from ..audit.showing import show_report, write_report
    from ..audit.size_grid import SizeGrid
    from ..presentation import make_console
    from ..running.cluster import open_cluster
    from ..running.progress import steps

    if name == _PAPERS:
        _show_papers(as_json=as_json)
        return
    refuse(quick and thorough, "--quick and --thorough", "both", "given one at a time")
    cases = _own_cases(name, settings, data)  # refuse a wrong name before a folder is made
    allowed = "left out, but for --source simulated of our own names: no task draws secure noise"
    refuse(cluster is not None and (source != "simulated" or cases is not None), "--cluster", cluster, allowed)
    folder = None if out is None else make_folder(out, "")
    default_samples: dict[Source, int] = {"simulated": SIMULATED_SAMPLES, "secure": SECURE_SAMPLES}
    numbers: dict[Source, int] = {
        source_or_number: default_samples[source_or_number] if samples is None else samples
        for source_or_number in sources_of(source)
    }
    if source == "both":  # secure noise is drawn slowly, one by one: the full number only if it alone is requested
        numbers["secure"] = min(numbers["secure"], SECURE_SAMPLES)
    cluster_context = contextlib.nullcontext() if cluster is None else open_cluster(cluster, workers=workers)
    with cluster_context as pool, steps(make_console(stderr=True)) as tell:
        report = audit_all(
            name,
            samples={
                source_or_number: numbers[source_or_number] * (THOROUGH if thorough else 1) // (QUICK if quick else 1)
                for source_or_number in numbers
            },
            confidence=confidence,
            seed=seed,
            workers=workers,
            pool=pool,
            on_progress=tell,
            cases=cases,
            grid=SizeGrid(secrets.randbelow(_ROTATIONS) if rotation is None else rotation, quick),
        )
    if folder is not None:
        with leave_page(folder, is_wanted=with_report, command=command_of_context()):
            write_report(folder, report)
    if as_json:
        print_json(report)
    else:
        console = make_console()
        show_report(console, report)
        if folder is not None:
            tell_folder(console, folder)
    if report.num_left:
        raise KeyboardInterrupt
    if report.is_refuted:
        sys.exit(_REFUTED)


def _own_cases(name: str, settings: tuple[str, ...], data: str | None) -> "list[Case] | None":
    """Return the cases of a scenario, or of a protocol without its own audits; None if the name is a group's."""
    from ...protocol.errors import refuse
    from ..audit.any_protocol import cases_of_scenario
    from ..audit.running import ALL, cases_of, group_names
    from ..running.config import list_scenarios, list_series
    from ..system import protocol_names

    is_group = name == ALL or name in group_names()
    if not is_group and (
        name in {*protocol_names(), *list_scenarios(), *list_series()} or Path(name).suffix in _SCENARIOS
    ):
        return cases_of_scenario(name, settings, data=data or "")
    cases_of(name)
    allowed = f"left out of an audit of {name}, whose parameters are fixed"
    refuse(settings, "--set", next(iter(settings), ""), allowed)
    refuse(data, "--data", data, allowed)
    return None


def _show_papers(*, as_json: bool) -> None:
    """Print the findings on the papers' claims, none of which refutes a proof of Psephos."""
    from ...protocol.errors import refuse
    from ..experiments.findings import findings_on_papers
    from ..experiments.findings_shown import bounded_finding_to_dict, show_bounded_findings
    from ..presentation import make_console

    context = click.get_current_context()
    for option in context.command.params:
        option_name = str(option.name)
        is_given = context.get_parameter_source(option_name) is click.core.ParameterSource.COMMANDLINE
        if option_name in context.params and option_name not in _PAPERS_TAKE:  # `--traceback` is always allowed
            refuse(is_given, option.opts[0], str(context.params[option_name]), f"left out of an audit of {_PAPERS}")
    if as_json:
        print_json([bounded_finding_to_dict(finding) for finding in findings_on_papers()])
    else:
        show_bounded_findings(make_console(), findings_on_papers())
