"""`trade-off`: what privacy costs one's own voters, by mechanism and price; `group-prices`: that of private groups."""

from pathlib import Path

import click

from ..cli.options import load, make_folder, out_option, scenario_options, tell_folder


@click.command("trade-off", short_help="Draw what privacy costs a fair vote's voters in fairness and welfare.")
@scenario_options
@click.option("--trials", type=int, default=400, show_default=True, help="Elections for each point.")
@click.option("--epsilons", metavar="ε,ε,...", help="The prices of a voter.  [default: 0.1,0.2,0.5,1,2,5]")
@click.option(
    "--mechanism",
    "mechanisms",
    metavar="NAME",
    multiple=True,
    help="One to compare; may be repeated.  [default: all; joint only where groups are private]",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The seed of all noise.")
@out_option
def trade_off(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    *,
    trials: int,
    epsilons: str | None,
    mechanisms: tuple[str, ...],
    seed: int,
    out: Path | None,
) -> None:
    """Draw what privacy costs the voters of SCENARIO, a fair vote, in fairness and welfare.

    For each mechanism and price, many elections of the same voters are held with simulated noise. A table and a picture
    show the mean disparity and the mean welfare of the winners, with standard errors, beside the proven loss. Of
    exponential and permute_and_flip the law is computed, and there is no error. The scenario says what is elected. Of
    features that overlap, the disparity is the greatest between the groups of any of them. In joint, groups are
    private; in all other mechanisms they are public.

    The numbers are computed from the rankings themselves and are not private. A price at which a mechanism cannot be
    had is left out, and the reason is told.

    \b
    psephos trade-off two-societies --set objective=penalized
    psephos trade-off two-features --epsilons 0.5,1,2
    psephos trade-off private-groups --mechanism joint --mechanism local
    psephos trade-off two-societies --set voters=rankings.csv --epsilons 0.5,1 --mechanism laplace --mechanism local

    \b
    mechanisms: laplace; sampling, by label; sampling, proven; exponential; permute_and_flip; local; joint
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import ConfigurationError, refuse
    from ...protocol.fair_voting import FairVoting
    from ..presentation import make_console
    from ..presentation.numbers import in_a_row
    from ..running.resolution import Streamed, resolve
    from ..system import find_protocol
    from . import trade_offs
    from .presentation.curves import save_trade_off, show_trade_off

    loaded = load(scenario, settings, data)
    allowed = f"{FairVoting.name!r}, in which fairness and welfare are traded"
    refuse(not issubclass(find_protocol(loaded.protocol), FairVoting), "protocol", loaded.protocol, allowed)
    side = resolve(loaded)
    if isinstance(side, Streamed):
        raise ConfigurationError(field="stream", value=True, allowed="false: elections are held again and again")
    assert isinstance(side.protocol, FairVoting)  # noqa: S101  as was checked
    found = trade_offs.trade_off(
        side.protocol,
        side.inputs,
        epsilons=trade_offs.EPSILONS if epsilons is None else _numbers(epsilons),
        mechanisms=mechanisms,
        trials=trials,
        seed=seed,
    )
    console = make_console()
    show_trade_off(console, found)
    folder = make_folder(out, f"{loaded.name}-trade-off")
    features = [feature.name for feature in side.protocol.parameters.features or ()]
    groups = f"{len(side.names):,} voters in {len(side.protocol.parameters.groups):,} groups"
    groups += f", fair by {in_a_row(features)}" if features else ""
    save_trade_off(folder, found, title=f"{loaded.title}: ", setting=f"{groups} · ε as proven for one voter")
    tell_folder(console, folder, draws=True)


def _numbers(text: str) -> list[float]:
    """Return numbers between commas."""
    from ...protocol.errors import ConfigurationError

    numbers: list[float] = []
    for part in text.split(","):
        try:
            numbers.append(float(part))
        except ValueError:
            allowed = "numbers with commas between them, such as 0.5,1,2"
            raise ConfigurationError(field="epsilons", value=text, allowed=allowed) from None
    return numbers


@click.command(name="group-prices", short_help="Compare private groups with public ones at equal ε.")
@scenario_options
def group_prices(scenario: str, settings: tuple[str, ...], data: str | None) -> None:
    """Compare the errors of SCENARIO's fair vote if its groups are private, and if they are public, at equal ε.

    \b
    psephos group-prices private-groups
    psephos group-prices two-societies --set scores=plurality
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import refuse
    from ...protocol.fair_voting import FairVoting
    from ..presentation import make_console
    from ..running.resolution import resolve_served
    from ..system import find_protocol
    from .group_prices import show_group_prices

    loaded = load(scenario, settings, data)
    allowed = f"{FairVoting.name!r}, whose voters have groups"
    refuse(not issubclass(find_protocol(loaded.protocol), FairVoting), "protocol", loaded.protocol, allowed)
    show_group_prices(make_console(), resolve_served(loaded).protocol.parameters)
