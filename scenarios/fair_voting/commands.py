"""`group-prices`: what it costs a vote that its groups are private."""

import click

from ..cli.options import load, scenario_options

__all__ = ["group_prices"]


@click.command(name="group-prices", short_help="Compare private groups with public ones at equal ε.")
@scenario_options
def group_prices(scenario: str, settings: tuple[str, ...], data: str | None) -> None:
    """Compare the errors of SCENARIO's fair vote if its groups are private, and if they are public, at equal ε.

    \b
    psephos group-prices private-groups
    psephos group-prices two-societies --set scores=plurality
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import ConfigurationError
    from ...protocol.fair_voting import FairVoting
    from ..presentation import make_console
    from ..running.resolution import resolve
    from ..system import find_protocol
    from .group_prices import show_group_prices

    loaded = load(scenario, settings, data)
    if not issubclass(find_protocol(loaded.protocol), FairVoting):
        allowed = f"{FairVoting.name!r}, whose voters have groups"
        raise ConfigurationError(field="protocol", value=loaded.protocol, allowed=allowed)
    show_group_prices(make_console(), resolve(loaded, is_served=True).protocol.parameters)
