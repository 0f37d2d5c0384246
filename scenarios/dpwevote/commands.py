"""`power`: how often each partner decides."""

from pathlib import Path

import click

from ..cli.options import load, make_folder, scenario_options, tell_folder
from ..cli.reports import leave_page


@click.command(short_help="Show how often each partner of a weighted vote decides, with noise and without.")
@scenario_options
@click.option(
    "--trials",
    type=click.IntRange(min=100, max=1_000_000),
    default=2_000,
    show_default=True,
    help="Votes that are simulated where the power in what is released has no exact law.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of these votes.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write power.csv, a picture and a page."
)
def power(
    scenario: str, settings: tuple[str, ...], data: str | None, *, trials: int, seed: int, out: Path | None
) -> None:
    """Show how often each partner decides in the weighted game behind SCENARIO's vote.

    Shapley-Shubik and Banzhaf indices are exact. Next to them is how often a partner's opinion changes the released
    decision, with the noise of the scenario's mechanism. Weights must be public, or partners synthetic.

    \b
    psephos power eu-council
    psephos power imf --set quota_fraction=0.85 --out power
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.dpwevote import DPWeVote
    from ...protocol.errors import refuse
    from ..presentation import make_console
    from ..running.resolution import resolve
    from ..system import find_protocol
    from .power import measure_power, show_power, write_power

    loaded_scenario = load(scenario, settings, data)
    allowed = f"Power is of weighted votes ({DPWeVote.name}). {scenario} is of protocol {loaded_scenario.protocol!r}."
    refuse(
        not issubclass(find_protocol(loaded_scenario.protocol), DPWeVote), "protocol", loaded_scenario.protocol, allowed
    )
    side = resolve(loaded_scenario)
    folder = None if out is None else make_folder(out, "")
    powers = measure_power(side, trials=trials, seed=seed)
    console = make_console()
    show_power(console, powers)
    if folder is not None:
        with leave_page(folder, is_wanted=True):
            write_power(powers, folder, title=loaded_scenario.title or loaded_scenario.name)
        tell_folder(console, folder)
