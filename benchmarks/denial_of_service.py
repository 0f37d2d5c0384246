"""A vote of fifty parties on a real server, while others do to it what they can: how much longer, how much memory.

Alone, by hand, over all transports and attacks or over those that are named:

    python benchmarks/denial_of_service.py [--transport tls] [--attack "slow handshakes"] [--trials 3]
"""

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attacked_votes import AttackedVote
from hostile import ATTACKS_OVER_TCP, ATTACKS_OVER_TLS
from table import Row, at_most, to_text

__all__ = ["measure"]

_NUM_PARTIES: Final = 50
_NUM_CANDIDATES: Final = 10
_TRIALS: Final = 3
_MOST_SLOWER: Final = 2.0
_MOST_MEGABYTES: Final = 200
_ATTACKS: Final[Mapping[str, Sequence[str]]] = {"tcp": tuple(ATTACKS_OVER_TCP), "tls": tuple(ATTACKS_OVER_TLS)}


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds and memory of a vote under each attack, beside those of the same vote without one."""
    for transport, attacks in _ATTACKS.items():
        for attack in attacks:
            yield from _measure_attack(transport, attack, trials=1 if quick else _TRIALS)


def _measure_attack(transport: str, attack: str, *, trials: int) -> Iterator[Row]:
    vote = AttackedVote(num_parties=_NUM_PARTIES, num_candidates=_NUM_CANDIDATES, transport=transport)
    # In turns, so that whatever else the machine does meets both.
    turns = [(vote.hold(), vote.hold(attack)) for _ in range(trials)]
    alone, attacked = (statistics.median(held.seconds for held in each) for each in zip(*turns, strict=True))
    ratio = statistics.median(with_it.seconds / without.seconds for without, with_it in turns)
    peak_alone, peak = (max(held.megabytes for held in each) for each in zip(*turns, strict=True))
    what = f"vote of {_NUM_PARTIES} parties over {transport.upper()}, {attack}"
    yield Row(what, f"{attacked:.2f} s", f"{alone:.2f} s", f"{ratio:.2f}", at_most(ratio, _MOST_SLOWER))
    limits = at_most(peak, _MOST_MEGABYTES, unit=" MB")
    yield Row(f"{what}: the server's memory", f"{peak:.0f} MB", f"{peak_alone:.0f} MB", "", limits)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transport", action="append", choices=_ATTACKS)
    parser.add_argument("--attack", action="append")
    parser.add_argument("--trials", type=int, default=_TRIALS)
    options = parser.parse_args()
    rows = [
        row
        for transport in options.transport or _ATTACKS
        for attack in _ATTACKS[transport]
        if options.attack is None or attack in options.attack
        for row in _measure_attack(transport, attack, trials=options.trials)
    ]
    print(to_text(rows))


if __name__ == "__main__":
    _main()
