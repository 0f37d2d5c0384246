"""An audit's case: a loss, the neighbors that should show it best, and samplers of their outputs.

An audit bounds a loss from below by telling neighbors apart. A case says what is claimed and proven of what unit, under
which relation, and brings pairs of neighbors; each side of a pair has an exact law over finitely many outputs, a way to
draw outputs, or both. What is drawn comes from the code that runs in a session, never from the law: with the noise of
simulations, with that of deployments, or with each.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import RowMechanism
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, TrustModel, total_of

NO_PLACE: Final = -1  # in place of a column: what was drawn is an output that neither law has
Source: TypeAlias = Literal["simulated", "secure"]
"""Whose randomness is audited: that of simulations, or that of deployments."""
FULL_SAMPLES: Final[Mapping[Source, int]] = {"simulated": 500_000, "secure": 20_000}
"""Outputs of each neighbor in a full run, of which a case takes its share; of secure ones each takes up to a
millisecond."""
OutputSampler: TypeAlias = Callable[[int, int], IntArray]
"""(number, stream) → that many independent outputs, int64, shape (number, width); streams share no randomness."""
Score: TypeAlias = Callable[[IntArray], FloatArray]
"""Outputs → for each the number that tells the neighbors apart, best the log-likelihood ratio; shape (number,)."""


_CHUNK: Final = 1 << 16
_FIRST_STREAM: Final = 1 << 40


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbors.

    Args:
        name: what they differ in, as a phrase.
        laws: their exact laws over the same finitely many outputs, shape (2, outputs); None where there are too many.
        draws: how outputs are drawn from the one and from the other; None where the law is all that there is. Where
            there are laws, an output that is drawn is the number of their column, shape (number, 1), or `NO_PLACE`.
        score: what to tell drawn outputs apart by; None to let the audit learn it.
        secure: as `draws`, with the noise of deployments; None where that takes too long, or there is no such noise.

    Examples:
        >>> Pair("yes and no", laws=np.array([[0.75, 0.25], [0.25, 0.75]])).laws.shape
        (2, 2)
    """

    name: str
    laws: FloatArray | None = None
    draws: tuple[OutputSampler, OutputSampler] | None = None
    score: Score | None = None
    secure: tuple[OutputSampler, OutputSampler] | None = None

    def __post_init__(self) -> None:
        if self.laws is None and self.draws is None and self.secure is None:
            raise ValueError(f"the pair {self.name!r} has neither laws nor draws")
        if self.laws is not None and (self.laws.ndim != 2 or len(self.laws) != 2):  # noqa: PLR2004  two neighbors
            raise ValueError(f"expected laws of shape (2, outputs), got {self.laws.shape}")


@dataclasses.dataclass(frozen=True, eq=False)
class OutputView:
    """What is looked at in an output, with its exact law.

    Args:
        name: what is looked at, as a phrase.
        law: probabilities of finitely many outcomes, in an order whose two ends are the law's tails, shape (outcomes,).
        places: outputs, shape (number, width) → the outcome of each, or `NO_PLACE`; shape (number·each,).
        each: independent outcomes of one output.

    Examples:
        >>> heads = OutputView("heads", np.array([0.5, 0.5]), lambda outputs: outputs[:, 0])
        >>> heads.places(np.array([[0], [1]])).tolist()
        [0, 1]
    """

    name: str
    law: FloatArray
    places: Callable[[IntArray], IntArray]
    each: int = 1


@dataclasses.dataclass(frozen=True, eq=False)
class LawCheck:
    """One input, whose outputs are drawn and held against their exact law.

    Neighbors tell how far two inputs are apart; a check tells that a sampler does what its proof is of, for inputs that
    are not the worst neighbors too, and for numbers of one output together.

    Args:
        name: the input, as a phrase.
        views: what is looked at in its outputs.
        draw: how they are drawn; None where they are not.
        secure: as `draw`, with the noise of deployments.
        mechanism: whose outputs they are; None where they are not those of a single randomizer.
        least: outputs that are drawn of it, whatever the case's share is.

    Examples:
        >>> heads = OutputView("heads", np.array([0.5, 0.5]), lambda outputs: outputs[:, 0])
        >>> LawCheck("a fair coin", [heads]).least
        100
    """

    name: str
    views: Sequence[OutputView]
    draw: OutputSampler | None = None
    secure: OutputSampler | None = None
    mechanism: RowMechanism | None = None
    least: int = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A loss to audit.

    Args:
        name: the mechanism, or the protocol with its variant: distinct within its group.
        group: what `psephos audit` calls the mechanisms or the protocol that it belongs to.
        unit: the unit of protection.
        claimed: ε that the paper states, in nats.
        proven: ε that is proven, in nats; ∞ where nothing is.
        pairs: makes the neighbors to try; called once, since it may search.
        relation: which data sets are neighbors.
        model: whom the loss is bounded against.
        is_tight: whether the proof is known to be attained, so that a good audit comes near it.
        note: what a reader should know, as a sentence.
        share: the part of the asked samples that is drawn, in (0, 1]: less than 1 where an output costs much time.
        secure_share: the same of outputs with the noise of deployments.
        law_checks: makes the inputs that are held against their laws; as many outputs as of one neighbor, or somewhat
            fewer, are shared by all of them.

    Examples:
        >>> answers = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response at ε = ln 3
        >>> pair = Pair("yes and no", laws=answers)
        >>> case = Case(name="coin", group="mine", unit="answer", claimed=1.0, proven=1.1, pairs=lambda: [pair])
        >>> case.model.value, case.relation.value
        ('local', 'replace-one')
    """

    name: str
    group: str
    unit: str
    claimed: float
    proven: float
    pairs: Callable[[], Sequence[Pair]]
    relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE
    model: TrustModel = TrustModel.LOCAL
    is_tight: bool = False
    note: str = ""
    share: float = 1.0
    secure_share: float = 1.0
    law_checks: Callable[[], Sequence[LawCheck]] = tuple

    @classmethod
    def against(cls, losses: Iterable[LedgerEntry | PrivacyLoss], **given: Any) -> "Case":
        """Return a case with the relation, the model and the numbers that losses of one person add up to.

        Args:
            losses: as they are stated, or as a ledger was charged.
            given: the other fields.
        """
        total = total_of(losses)
        return cls(relation=total.relation, model=total.model, claimed=total.claimed, proven=total.proven, **given)

    def __post_init__(self) -> None:
        if not (self.claimed >= 0 and self.proven >= 0) or math.isnan(self.claimed):
            raise ValueError(f"losses must be at least 0, got {self.claimed} and {self.proven}")
        if not (0 < self.share <= 1 and 0 < self.secure_share <= 1):
            raise ValueError(f"shares must be in (0, 1], got {self.share} and {self.secure_share}")


class Streams:
    """Numbers of streams of a seed, each given out once."""

    def __init__(self, seed: int) -> None:
        self._next = seed * _FIRST_STREAM

    def chunks(self, draw: OutputSampler, number: int) -> Iterator[IntArray]:
        """Yield so many outputs, some at a time, each time from a stream of their own."""
        for start in range(0, number, _CHUNK):
            size = min(_CHUNK, number - start)
            self._next += 1
            outputs = draw(size, self._next)
            if outputs.ndim != 2 or len(outputs) != size:  # noqa: PLR2004  a table
                raise ValueError(f"expected outputs of shape ({size}, width), got {outputs.shape}")
            yield outputs

    def all(self, draw: OutputSampler, number: int) -> IntArray:
        """Return so many outputs. See `chunks`."""
        return np.concatenate(list(self.chunks(draw, number)))
