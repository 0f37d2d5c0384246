"""`variants`: what each mechanism offers at a scenario's price."""

import click

from ..cli.options import load, scenario_options

__all__ = ["variants"]


@click.command(short_help="Compare what the variants of a vote offer at its price.")
@scenario_options
def variants(scenario: str, settings: tuple[str, ...], data: str | None) -> None:
    """Compare what the variants of SCENARIO's vote offer at its price.

    \b
    psephos variants consortium
    psephos variants consortium --set epsilon=3 --set 'candidates=["a", "b", "c"]'
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.dpwevote import Parameters
    from ...protocol.errors import ConfigurationError
    from ..presentation import make_console
    from ..running.resolution import resolve
    from .variants import show_variants

    side = resolve(load(scenario, settings, data), is_served=True)
    parameters = side.protocol.parameters
    if not isinstance(parameters, Parameters):
        raise ConfigurationError(field="scenario", value=scenario, allowed="one of protocol 'dpwevote'")
    if parameters.public_weights:
        allowed = "one with private weights: if they are public, only opinions are reported, by 'joint'"
        raise ConfigurationError(field="scenario", value=scenario, allowed=allowed)
    show_variants(make_console(), parameters, num_partners=len(side.names))
