"""Kemeny's winner and ranking from a trusted aggregator: by noisy pairwise counts, and chosen by their scores.

`.venv/bin/python benchmarks/kemeny.py`. Mechanism "pairwise" puts Laplace noise on the counts, and everything is read
from them. Beside it are the exponential mechanism and permute-and-flip, which tell one choice alone: a winner, one of
m, each by the greatest score of a ranking that has it first, or a ranking, one of m!, each by its own. Replacing a
voter moves a score by m(m − 1) at most. The best score with Gumbel's noise is the exponential mechanism's choice, with
exponential noise permute-and-flip's (Ding, Kifer, Steinke et al. 2021). Voters are Mallows's of dispersion .95; what is
printed are the shares of right winners and, for rankings, of majorities that are the wrong way round, each weighed by
its lead: means of 2,000 elections, in percent.
"""

import itertools
from typing import Final

import numpy as np
from psephos.protocol.fair_voting.pairwise import preferences_of
from psephos.scenarios.fair_voting.data.mallows import draw_mallows

__all__: list[str] = []

_SIZES: Final = (3, 4, 6)
_EPSILONS: Final = (0.2, 1.0, 4.0)
_VOTERS: Final = 300
_DISPERSION: Final = 0.95
_ELECTIONS: Final = 2_000


def _elections(size: int, epsilon: float, generator: np.random.Generator) -> list[float]:
    """Return the shares of right winners by counts, exponential and flips, then those of wrong majorities."""
    orders = np.array(list(itertools.permutations(range(size))))
    signs = preferences_of(np.argsort(orders, axis=1))  # 1 where a ranking has the first of two before the second
    scale = size * (size - 1) / epsilon
    sums = np.zeros(6)
    for _ in range(_ELECTIONS):
        uniforms = generator.random((_VOTERS, size - 1))
        positions = draw_mallows(uniforms, center=list(range(size)), dispersion=_DISPERSION)
        leads = preferences_of(positions).sum(axis=0)
        scores = signs @ leads
        of_winners = np.array([scores[orders[:, 0] == place].max() for place in range(size)])
        noisy = leads + generator.laplace(scale=scale, size=len(leads))
        read = int(np.argmax(signs @ noisy))
        # The rate of both is ε/(2Δ): a score's noise has twice the scale of a count's.
        noises = [(draw(size=size), draw(size=len(orders))) for draw in (generator.gumbel, generator.exponential)]
        winners = [orders[read, 0], *(int(np.argmax(of_winners + 2 * scale * own)) for own, _ in noises)]
        rankings = [read, *(int(np.argmax(scores + 2 * scale * own)) for _, own in noises)]
        sums[:3] += [of_winners[winner] == of_winners.max() for winner in winners]
        sums[3:] += [np.maximum(-signs[ranking] * leads, 0).sum() / max(np.abs(leads).sum(), 1) for ranking in rankings]
    return (100 * sums / _ELECTIONS).tolist()


def _main() -> None:
    names = ("pairwise", "exponential", "flips")
    print(f"{'right winners':>49}{'wrong majorities':>42}")
    print(f"m     ε{''.join(f'{name:>14}' for name in names * 2)}")
    for size, epsilon in itertools.product(_SIZES, _EPSILONS):
        found = _elections(size, epsilon, np.random.default_rng([size, round(10 * epsilon)]))
        print(f"{size}   {epsilon:3g}{''.join(f'{own:14.1f}' for own in found)}", flush=True)


if __name__ == "__main__":
    _main()
