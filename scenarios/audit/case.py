"""An audit's case: a privacy loss, the neighbors that should show it best, and samplers of their outputs.

An audit bounds a loss from below by distinguishing neighbors. A case states the claimed and the proven loss with its
unit and relation, and has pairs of neighbors. Each neighbor has an exact law over finitely many outputs, a sampler, or
both. Samplers call the code that runs in a session, never the law, with the noise of simulations, of deployments, or
with both.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import RowMechanism
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, TrustModel, total_of

NO_PLACE: Final = -1  # in place of a column: the drawn output is in neither law
Source: TypeAlias = Literal["simulated", "secure"]
"""The audited noise: "simulated" for that of simulations, "secure" for that of deployments."""
FULL_SAMPLES: Final[Mapping[Source, int]] = {"simulated": 500_000, "secure": 20_000}
"""Outputs of each neighbor in a full run, before a case's share. A secure output takes up to a millisecond.
"""
OutputSampler: TypeAlias = Callable[[int, int], IntArray]
"""Maps (number, stream) to independent outputs, int64, shape (number, width); streams share no randomness."""
Score: TypeAlias = Callable[[IntArray], FloatArray]
"""Maps outputs to scores that distinguish the neighbors, ideally log-likelihood ratios, shape (number,)."""


_CHUNK: Final = 1 << 16
_FIRST_STREAM: Final = 1 << 40


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbors, with their laws or samplers.

    Args:
        name: their difference, as a phrase.
        laws: their exact laws over the same finite outputs, shape (2, outputs); None if there are too many.
        draws: samplers of the first and the second neighbor's outputs; None if there is only the law. If there are
            laws, an output is the index of its column, shape (number, 1), or `NO_PLACE`.
        score: the score that distinguishes drawn outputs; None to let the audit learn one.
        secure: as `draws`, with the noise of deployments; None if there is no such noise, or it is too slow.

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
            raise ValueError(f"laws have shape {self.laws.shape}: give shape (2, outputs)")


@dataclasses.dataclass(frozen=True, eq=False)
class OutputView:
    """A feature of outputs with its exact law.

    Args:
        name: the feature, as a phrase.
        law: probabilities of the outcomes, shape (outcomes,), ordered so that both ends are the law's tails.
        places: maps outputs, shape (number, width), to indices of outcomes or `NO_PLACE`, shape (number·each,).
        each: number of independent outcomes in one output.

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
    """One input, whose drawn outputs are compared with their exact law.

    Pairs show how far two inputs can be distinguished. A check tests whether a sampler follows the law that its proof
    assumes, also for inputs that are not the worst neighbors, and for several numbers of one output jointly.

    Args:
        name: the input, as a phrase.
        views: the features of its outputs that are tested.
        draw: the sampler of its outputs; None if there is none.
        secure: as `draw`, with the noise of deployments.
        mechanism: the randomizer that makes the outputs; None if it is not a single one.
        least: least number of outputs to draw, even if the case's share is smaller.

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
    """A privacy loss to audit.

    Args:
        name: the mechanism, or the protocol's variant; distinct within its group.
        group: the name of its mechanism or protocol in `psephos audit`.
        unit: the unit of protection.
        claimed: the ε that the paper states, in nats.
        proven: the proven ε, in nats; ∞ if there is no proof.
        pairs: returns the neighbors to try; called once, since it may search for them.
        relation: the neighboring relation.
        model: the trust model, which says against whom the loss is bounded.
        is_tight: whether some neighbors are known to attain the proven loss, so that a good audit comes near it.
        note: a remark for the reader, as a sentence.
        share: the fraction of the requested outputs that is drawn, in (0, 1]; less than 1 if an output is slow.
        secure_share: the same for outputs with the noise of deployments.
        law_checks: returns the inputs to compare with their laws; together they get about as many outputs as one
            neighbor.

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
        """Return a case with the relation, the model and the sums of claimed and proven losses of one person.

        Args:
            losses: the losses as a protocol states them, or as a ledger charged them.
            given: the case's other fields.
        """
        total = total_of(losses)
        return cls(relation=total.relation, model=total.model, claimed=total.claimed, proven=total.proven, **given)

    def __post_init__(self) -> None:
        if not (self.claimed >= 0 and self.proven >= 0) or math.isnan(self.claimed):
            raise ValueError(f"losses are {self.claimed} and {self.proven}: use at least 0")
        if not (0 < self.share <= 1 and 0 < self.secure_share <= 1):
            raise ValueError(f"shares are {self.share} and {self.secure_share}: use values above 0, up to 1")


class Streams:
    """Hands out numbers of streams, each once."""

    def __init__(self, seed: int) -> None:
        self._next = seed * _FIRST_STREAM

    def chunks(self, draw: OutputSampler, number: int) -> Iterator[IntArray]:
        """Yield outputs in chunks, each from a separate stream."""
        for start in range(0, number, _CHUNK):
            size = min(_CHUNK, number - start)
            self._next += 1
            outputs = draw(size, self._next)
            if outputs.ndim != 2 or len(outputs) != size:  # noqa: PLR2004  a table
                raise ValueError(f"outputs have shape {outputs.shape}: give shape ({size}, width)")
            yield outputs

    def all(self, draw: OutputSampler, number: int) -> IntArray:
        """Return all outputs in one array. See `chunks`."""
        return np.concatenate(list(self.chunks(draw, number)))
