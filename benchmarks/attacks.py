"""Attacks on many targets by arrays: seconds for ten thousand posteriors, protocol by protocol.

The raw limit beside each is drawing the same reports, which a simulation of the vote does anyway.

    python benchmarks/attacks.py [--quick]
"""

import argparse
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from psephos.protocol import SimulatedNoise
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import Coalition, find_attack, seen_by_arrays, seen_by_server
from table import Row, at_most, to_text
from trials import interleave, timed

__all__ = ["measure"]

_NUM_TARGETS: Final = 10_000
_MOST_SECONDS: Final = 5.0
_TRIALS: Final = 3
_LINE_UP: Final = 20
_SCENARIOS: Final = {
    "DPWeVote, joint": ("consortium", ["partners.count={n}"]),
    "DPWeVote, optimal": ("consortium", ["partners.count={n}", "variant=optimal"]),
    "truth discovery, two layers, 10 answers": (
        "crowd",
        ["workers.workers={n}", "workers.answers_per_task={crowd}", "mechanism=two_layer"],
    ),
    "moral preferences, VLDP": ("moral-synthetic", ["voters.voters={n}", "voters.records=5", "paradigm=VLDP"]),
    "fair voting, sampled pair of 4": (
        "two-societies",
        [
            "mechanism=sampled_pair",
            "objective=parity",
            "voters.groups.north.voters={half}",
            "voters.groups.south.voters={half}",
        ],
    ),
}


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each protocol.

    Args:
        quick: a tenth of the targets.
    """
    number = _NUM_TARGETS // (10 if quick else 1)
    for name, (scenario, settings) in _SCENARIOS.items():
        filled = [text.format(n=number, half=number // 2, crowd=number // 20) for text in settings]
        resolved = resolve(load_scenario(scenario, [*filled, "transport=array"]))
        yield _row(name, resolved.protocol, resolved.inputs, is_told=not quick)


def _row(name: str, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, is_told: bool) -> Row:
    targets = np.arange(len(inputs))
    # A line-up of everybody would be as many candidates as targets: some stand for all.
    attack = find_attack(protocol).against(Inputs(inputs.private[:_LINE_UP], inputs.public[:_LINE_UP]))
    noise = SimulatedNoise(1, session="bench")
    seen = (
        seen_by_server(protocol, inputs, noise=noise)
        if attack.infers_from_reports_alone
        else seen_by_arrays(protocol, inputs, noise=noise, coalition=Coalition((), has_server=True))
    )
    secret = attack.default_secret
    times = interleave(
        {
            "attack": lambda: timed(lambda: attack.posteriors([seen], targets, secret=secret)),
            "draw": lambda: timed(lambda: seen_by_server(protocol, inputs, noise=noise)),
        },
        trials=_TRIALS,
    )
    seconds = times.median("attack")
    return Row(
        f"posteriors of {len(targets):,} targets' {secret}, {name}",
        f"{seconds:.2f} s",
        f"{times.median('draw'):.2f} s (drawing their reports)",
        f"{times.ratio('attack', 'draw'):.1f}",
        at_most(seconds, _MOST_SECONDS if is_told else None, unit=" s"),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the targets")
    print(to_text([*measure(quick=parser.parse_args().quick)]))
