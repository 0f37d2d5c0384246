"""Masking graphs: all pairs mask; or, with many parties, each masks with k neighbors on a circle in random order.

The complete graph is secure against a malicious server. The circle is secure only against a *semi-honest* server, which
does not choose the order, and if collusion and drop-out do not depend on the order. Then for every party, fewer than
`needed` neighbors collude and at least `needed` stay; and no k/2 consecutive parties are gone, so that the circle stays
connected. This fails only with probabilities that are bounded here, for all parties together.

Source: Bell, Bonawitz, Gascón, Lepoint and Raykova (2020), for sparse graphs (SecAgg+).
"""

import dataclasses
import functools
import hashlib
import math
from fractions import Fraction
from typing import Final

from ..arguments import exact_arguments
from ..errors import ConfigurationError, require

LEAST_FOR_CIRCLE: Final = 1_001
"""The least threshold T for a circle; with a smaller one, the parties form a complete graph."""
_MOST_DEGREE: Final = 512
"""The most neighbors. With more, a circle has no advantage over the complete graph, and its degree is slow to find."""
_INSECURE: Final = Fraction(1, 2**40)
_INCORRECT: Final = Fraction(1, 2**30)


@dataclasses.dataclass(frozen=True)
class Complete:
    """The complete graph.

    Args:
        needed: T, the number of shares that reveal a secret, and of signatures that confirm the survivors.

    Examples:
        >>> graph = Complete(num_parties=4, needed=3)
        >>> graph.neighbors_of(1), graph.number_of(0, 2)
        ((0, 2, 3), 3)
    """

    num_parties: int
    needed: int

    @property
    def adversary(self) -> str:
        """The adversary that the graph withstands, as a phrase."""
        return "a server that lies"

    def neighbors_of(self, place: int) -> tuple[int, ...]:
        """Return the places of a party's neighbors, in order."""
        return (*range(place), *range(place + 1, self.num_parties))

    def number_of(self, dealer: int, holder: int) -> int:
        """Return at which number a holder has a dealer's polynomials, ≥ 1: one of its own, whoever deals."""
        del dealer
        return holder + 1


@dataclasses.dataclass(frozen=True)
class Circle:
    """A circle in pseudorandom order, on which each party masks with the k/2 next parties on either side.

    Args:
        needed: the number of shares that reveal a secret.
        degree: k, even.
        seed: the seed of the order: public, and drawn after the parties and the colluders are fixed.

    Examples:
        >>> circle = Circle(num_parties=1_001, needed=2, degree=4, seed=b"public")
        >>> circle.adversary
        'a semi-honest server only'
    """

    num_parties: int
    needed: int
    degree: int
    seed: bytes

    def __post_init__(self) -> None:
        require(self.num_parties >= LEAST_FOR_CIRCLE, "parties", self.num_parties, f"at least {LEAST_FOR_CIRCLE}")
        is_even = 0 < self.degree < self.num_parties and self.degree % 2 == 0
        require(is_even, "degree", self.degree, "even, at least 2 and less than the parties")
        require(1 <= self.needed <= self.degree, "needed", self.needed, f"in [1, {self.degree}], the degree")

    @property
    def adversary(self) -> str:
        """The adversary that the graph withstands, as a phrase."""
        return "a semi-honest server only"

    def neighbors_of(self, place: int) -> tuple[int, ...]:
        """Return the places of a party's neighbors, in order."""
        order, positions = self._order
        at = positions[place]
        half = self.degree // 2
        steps = (*range(-half, 0), *range(1, half + 1))
        return tuple(sorted(order[(at + step) % self.num_parties] for step in steps))

    def number_of(self, dealer: int, holder: int) -> int:
        """Return at which number a holder has a dealer's polynomials, ≥ 1: one for each distance on the circle."""
        _, positions = self._order
        return (positions[holder] - positions[dealer] + self.degree // 2) % self.num_parties + 1

    @functools.cached_property
    def _order(self) -> tuple[list[int], list[int]]:
        """Return the parties around the circle, and the position of each."""
        order = sorted(
            range(self.num_parties),
            key=lambda place: hashlib.blake2b(place.to_bytes(8, "big"), key=self.seed, digest_size=16).digest(),
        )
        positions = [0] * self.num_parties
        for position, place in enumerate(order):
            positions[place] = position
        return order, positions


@exact_arguments
def circle_for(num_parties: int, *, corrupt: Fraction, dropped: Fraction, seed: bytes) -> Circle:
    """Return the circle of the least degree that is secure up to 2⁻⁴⁰ and correct up to 2⁻³⁰.

    Args:
        num_parties: n > 1,000.
        corrupt: the share of the parties that collude with the server, in [0, 1).
        dropped: the share of the parties that leave, in [0, 1).

    Raises:
        ConfigurationError: no circle with at most `_MOST_DEGREE` neighbors is secure and correct.

    Examples:
        >>> circle_for(500, corrupt=Fraction(1, 10), dropped=Fraction(1, 10), seed=b"public")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: parties is 500: use at least 1001
    """
    for field, part in (("corrupt", corrupt), ("dropped", dropped)):
        require(0 <= part < 1, field, part, "in [0, 1)")
    degree_found = _degree_for(num_parties, math.floor(corrupt * num_parties), math.floor(dropped * num_parties))
    if degree_found is None:
        raise ConfigurationError(
            field="corrupt, dropped", value=(corrupt, dropped), allowed="smaller parts of the parties"
        )
    degree, needed = degree_found
    return Circle(num_parties, needed, degree, seed)


@functools.cache
def _degree_for(num_parties: int, num_corrupt: int, num_dropped: int) -> tuple[int, int] | None:
    """Return the least degree, and how many shares are needed; None where no degree is enough."""
    gone = min(num_corrupt + num_dropped, num_parties)
    for degree in range(2, min(num_parties, _MOST_DEGREE + 1), 2):
        all_gone = Fraction(math.perm(gone, degree // 2), math.perm(num_parties, degree // 2))
        if (allowed := _INSECURE / num_parties - all_gone) < 0:
            continue
        # The most neighbors that collude, and the most that leave, up to the allowed probabilities.
        most = _quantile(num_parties - 1, num_corrupt, degree, allowed)
        # A party that has left is one of those; a party that has not holds a share of its secret itself.
        leaving = _quantile(num_parties - 1, max(num_dropped - 1, 0), degree, _INCORRECT / num_parties)
        if most + 1 <= degree - leaving:
            return degree, most + 1
    return None


def _quantile(total: int, num_marked: int, num_drawn: int, chance: Fraction) -> int:
    """Return the least x such that more than x of those drawn are marked with at most this chance (hypergeometric)."""
    limit, num_above = math.floor(chance * math.comb(total, num_drawn)), 0
    for count in range(min(num_drawn, num_marked), -1, -1):
        num_above += math.comb(num_marked, count) * math.comb(total - num_marked, num_drawn - count)
        if num_above > limit:
            return count
    return 0
