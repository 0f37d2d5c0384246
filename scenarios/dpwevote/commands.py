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
    from ...protocol.dpwevote import DPWeVote, Parameters
    from ...protocol.errors import ConfigurationError
    from ..presentation import make_console
    from ..running.resolution import resolve
    from ..system import find_protocol
    from .variants import show_variants

    loaded = load(scenario, settings, data)
    if not issubclass(find_protocol(loaded.protocol), DPWeVote):
        allowed = f"{DPWeVote.name!r}, of whose votes there are variants to compare"
        raise ConfigurationError(field="protocol", value=loaded.protocol, allowed=allowed)
    side = resolve(loaded, is_served=True)
    parameters: Parameters = side.protocol.parameters
    if parameters.public_weights:
        allowed = (
            "false: if weights are public, only opinions are reported, by 'joint'; variants report private weights"
        )
        raise ConfigurationError(field="public_weights", value=True, allowed=allowed)
    show_variants(make_console(), parameters, num_partners=len(side.names))
