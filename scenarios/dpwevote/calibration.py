"""How well DPWeVote's claims hold: error probabilities under several priors, verdicts, and how often these decide.

A session is drawn as its tallies are: given how many partners hold what, the numbers of reports are multinomial, each
by its own row of the channel. The protocol's own outcome is then asked for decision, claim and verdict.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, get_args

import msgspec
import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.dpwevote import CandidateOutcome, DPWeVote, Parameters
from ...protocol.dpwevote.error_prior import ErrorPrior
from ...protocol.estimators import Verdict
from ...protocol.mechanisms import FiniteMechanism, RowMechanism
from ..experiments.calibration import Calibration, Claims, Drawn, claims_of
from ..experiments.pooling import CLAIM_COLUMNS, pool_by, verdict_columns, written_share
from ..experiments.sheets import flat
from ..tables import Table, listed

__all__ = ["CALIBRATION", "PRIORS", "Cell", "Prior", "matrices_of", "measure"]

_WEIGHTS: Final = np.array([1, 2, 3])
_VARIANTS: Final = (
    "joint",
    "printed",
    "laplace",
    "two_point",
    "signed_rr",
    "optimal",
    "public",
    "matrices",
    "central",
    "central public",
)
"""`public` is `joint` with public weights, `matrices` is `joint` with matrices of one's own (`matrices_of`); a trusted
server's `central` has private weights, or public ones."""
_PARTNERS: Final = (9, 30, 100, 1_000, 10_000)
_EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
# Noise of Laplace's law is drawn for each partner.
_MOST_DRAWN: Final = 1_000
# Times the trials of other cells, where shares of a hundredth count.
_POWER_TIMES: Final = 10
# Of entries of matrices, whose rows must add up to 1 as they are written.
_DIGITS: Final = 15


@dataclasses.dataclass(frozen=True)
class Prior:
    """A law of electorates.

    Args:
        words: what it is.
        draw: numbers of partners by weight and opinion, shape (3, 2).
    """

    words: str
    draw: Callable[[int, np.random.Generator], IntArray]


def _electorate(generator: np.random.Generator, number: int, shares: Sequence[float], yes: float) -> IntArray:
    """Return numbers by weight and opinion: weights by their shares, and each partner's yes by its own chance."""
    of_weights = generator.multinomial(number, shares)
    saying_yes = generator.binomial(of_weights, yes)
    return np.stack([of_weights - saying_yes, saying_yes], axis=1).astype(np.int64)


_EVEN: Final = (1 / 3, 1 / 3, 1 / 3)


def _uniform(number: int, generator: np.random.Generator) -> IntArray:
    return _electorate(generator, number, _EVEN, float(generator.random()))


def _coins(number: int, generator: np.random.Generator) -> IntArray:
    return _electorate(generator, number, _EVEN, 0.5)


def _mixed(number: int, generator: np.random.Generator) -> IntArray:
    return _coins(number, generator) if generator.random() < 1 / 2 else _uniform(number, generator)


def _close(number: int, generator: np.random.Generator) -> IntArray:
    return _electorate(generator, number, _EVEN, 0.45 + 0.1 * float(generator.random()))


def _heavy(number: int, generator: np.random.Generator) -> IntArray:
    return _electorate(generator, number, (0.0, 0.0, 1.0), float(generator.beta(8, 8)))


PRIORS: Final = {
    "mixed": Prior("half of the electorates as `uniform`, half as `coins`: what the claims assume", _mixed),
    "uniform": Prior("any share of yes is as likely as any other", _uniform),
    "coins": Prior("every partner tosses a fair coin: the paper's own workload", _coins),
    "close": Prior("a share of yes between 45 and 55 %", _close),
    "heavy": Prior("all weights are 3, and shares of yes about one half (beta 8, 8)", _heavy),
}
"""The named one first."""


class Cell(Claims, frozen=True, kw_only=True):
    """Claims and verdicts of one variant, size, price and prior.

    Args:
        variant: which.
        num_partners: how many.
        epsilon: the price of a candidate.
        prior: by which electorates were drawn.
        decided: the share of verdicts that are not too close to tell.
        verdicts_wrong: the share of all verdicts that are wrong.
    """

    variant: str
    num_partners: int
    epsilon: float
    prior: str
    decided: float
    verdicts_wrong: float


def measure(
    variant: str,
    *,
    num_partners: int,
    epsilon: float,
    prior: str,
    trials: int,
    seed: int,
    error_prior: ErrorPrior | None = None,
) -> Cell:
    """Return one cell.

    Args:
        variant: one of `_VARIANTS`.
        num_partners: how many.
        epsilon: the price.
        prior: one of `PRIORS`.
        trials: electorates, each with one session.
        seed: of everything drawn.
        error_prior: under which claims are meant; by default the protocol's own default.
    """
    given: dict[str, Any] = {"variant": variant, "epsilon": epsilon}
    if variant == "public":
        given |= {"variant": "joint", "public_weights": True}
    elif variant == "central public":
        given |= {"variant": "central", "public_weights": True}
    elif variant == "matrices":
        given = {"variant": "joint", **matrices_of(epsilon)}
    vote = DPWeVote(Parameters(candidates=("a",), weights=(1.0, 2.0, 3.0), error_prior=error_prior, **given))
    places = _VARIANTS.index(variant), num_partners, round(1000 * epsilon), list(PRIORS).index(prior)
    generator = np.random.default_rng([seed, *places])
    claimed = np.empty(trials)
    wrong, decided, misled = (np.zeros(trials, dtype=np.bool_) for _ in range(3))
    for trial in range(trials):
        electorate = PRIORS[prior].draw(num_partners, generator)
        candidate = _session(vote, electorate, generator)
        margin = int((_WEIGHTS * (electorate[:, 1] - electorate[:, 0])).sum())
        claimed[trial] = candidate.error_probability
        wrong[trial] = candidate.passed != (margin >= 0)
        decided[trial] = candidate.verdict.verdict is not Verdict.TOO_CLOSE
        misled[trial] = decided[trial] and (candidate.verdict.verdict is Verdict.PASSES) != (margin >= 0)
    return Cell(
        **msgspec.structs.asdict(claims_of(claimed, wrong)),
        variant=variant,
        num_partners=num_partners,
        epsilon=epsilon,
        prior=prior,
        decided=float(decided.mean()),
        verdicts_wrong=float(misled.mean()),
    )


def matrices_of(epsilon: float) -> dict[str, Any]:
    """Return matrices that are not k-RR's, nor alike in all values, at a price: half of it for each report.

    Opinions: a yes is told half as often as randomized response does, so that who reports one says more by it than who
    reports a no. Weights: the nearer a group is to the true one, the likelier it is reported, each step by e^(ε/4).

    Args:
        epsilon: the price of a candidate.
    """
    half = math.exp(epsilon / 2)
    yes = 0.5 / (1 + half)
    decays = np.exp(-epsilon / 4 * np.abs(np.subtract.outer(range(3), range(3))))
    weights: list[list[float]] = (decays / decays.sum(axis=1, keepdims=True)).round(_DIGITS).tolist()
    rows = [(own, middle, round(1 - own - middle, _DIGITS)) for own, middle, _ in weights]
    opinions = [(round(1 - own, _DIGITS), round(own, _DIGITS)) for own in (yes, yes * half)]
    return {"weight_matrix": tuple(rows), "opinion_matrix": tuple(opinions)}


def _session(vote: DPWeVote, electorate: IntArray, generator: np.random.Generator) -> CandidateOutcome:
    """Return what a session of such an electorate releases."""
    if not vote.parameters.kind.has_finite_reports:
        tallies = _tallies_by_rows(vote, electorate, generator)
    elif vote.parameters.public_weights:
        (channel,) = _channels(vote)
        table = np.array([_reports(channel, of_weight, generator) for of_weight in electorate])
        tallies = [Tally(int(electorate.sum()), table[None])]
    elif vote.parameters.reports_signed_weights:
        (channel,) = _channels(vote)
        by_value = np.concatenate([electorate[::-1, 0], electorate[:, 1]])
        tallies = [Tally(int(electorate.sum()), _reports(channel, by_value, generator)[None])]
    else:
        weights, opinions = _channels(vote)
        both = np.kron(weights, opinions).astype(np.float64)
        table = _reports(both, electorate.reshape(-1), generator).reshape(3, 2)
        number = int(electorate.sum())
        tallies = [Tally(number, table.sum(axis=1)), Tally(number, table[None])]
    return vote.outcome(tallies).candidates[0]


def _channels(vote: DPWeVote) -> list[FloatArray]:
    """Return the channel of each phase's randomizer, which has finitely many reports."""
    channels: list[FloatArray] = []
    for phase in vote.phases:
        assert isinstance(phase.mechanism, FiniteMechanism)  # noqa: S101  so all but Laplace's report
        channels.append(np.array(phase.mechanism.channel_matrix()))
    return channels


def _reports(channel: FloatArray, numbers: IntArray, generator: np.random.Generator) -> IntArray:
    """Return how often each report comes in from so many holders of each value."""
    return generator.multinomial(numbers, channel / channel.sum(axis=1, keepdims=True)).sum(axis=0).astype(np.int64)


def _tallies_by_rows(vote: DPWeVote, electorate: IntArray, generator: np.random.Generator) -> list[Tally]:
    """Return the tallies of a session whose reports are not counted by kind."""
    if vote.trusts_server:
        return [_released(vote, electorate, generator)]
    held = np.repeat(np.arange(6), electorate.reshape(-1))
    inputs = vote.encode({"weight": _WEIGHTS[held // 2], "a": held % 2})
    earlier: list[IntArray] = []
    tallies: list[Tally] = []
    for phase in vote.phases:
        uniforms = generator.random((len(held), phase.mechanism.slots_of(1)))
        reports = phase.mechanism.randomize_rows(inputs.private[:, phase.columns], uniforms)
        tallies.append(phase.tally(reports, earlier=earlier, public=inputs.public))
        earlier.append(reports)
    return tallies


def _released(vote: DPWeVote, electorate: IntArray, generator: np.random.Generator) -> Tally:
    """Return what a trusted server makes of the sums: those of one partner of each kind, as often as there are such."""
    (phase,) = vote.phases
    inputs = vote.encode({"weight": _WEIGHTS[np.arange(6) // 2], "a": np.arange(6) % 2})
    kinds = [
        phase.tally(inputs.private[place, None], earlier=[], public=inputs.public[place, None]).totals
        for place in range(6)
    ]
    totals = np.stack(kinds).T @ electorate.reshape(-1)

    def draw(mechanism: RowMechanism, row: Sequence[int]) -> Sequence[int]:
        uniforms = generator.random((1, mechanism.slots_of(len(row))))
        drawn: list[int] = mechanism.randomize_rows(np.array([row], dtype=np.int64), uniforms)[0].tolist()
        return drawn

    return phase.randomize_tally(Tally(int(electorate.sum()), totals), draw)


def _cells(asked: Drawn, *, priors: Sequence[str], variants: Sequence[str] = _VARIANTS) -> Iterator[Cell]:
    for variant in variants:
        asked.tell(f"dpwevote: {variant}")
        for number in _PARTNERS:
            if variant == "laplace" and number > _MOST_DRAWN:
                continue
            for epsilon in _EPSILONS:
                for prior in priors:
                    yield measure(
                        variant,
                        num_partners=number,
                        epsilon=epsilon,
                        prior=prior,
                        trials=asked.trials,
                        seed=asked.seed,
                    )


def _tables(asked: Drawn) -> Iterator[Table]:
    cells = list(_cells(asked, priors=tuple(PRIORS)))
    for prior, law in PRIORS.items():
        of_prior = [cell for cell in cells if cell.prior == prior]
        yield listed(
            pool_by(of_prior, "variant"),
            verdict_columns(variant="variant"),
            caption=f"Electorates drawn by `{prior}`",
            note=f"{law.words}. Over {', '.join(f'{n:,}' for n in _PARTNERS)} partners (Laplace noise up to "
            f"{_MOST_DRAWN:,}) and ε = {', '.join(f'{e:g}' for e in _EPSILONS)}.",
            name=prior,
            full=flat(of_prior),
        )
    named = [cell for cell in cells if cell.prior == next(iter(PRIORS))]
    yield listed(
        named,
        [
            ("variant", lambda row: row.variant),
            ("partners", lambda row: f"{row.num_partners:,}"),
            ("ε", lambda row: f"{row.epsilon:g}"),
            *verdict_columns(),
        ],
        caption="Each cell under the named prior",
        name="cells",
        full=flat(named),
    )
    yield from _of_coins(asked)


def _of_coins(asked: Drawn) -> Iterator[Table]:
    """Yield, of 100 fair coins at ε = 1, how often a verdict decides, and what the two priors claim."""
    asked.tell("dpwevote: fair coins")
    by_prior: dict[ErrorPrior, list[Cell]] = {
        error_prior: [
            measure(
                variant,
                num_partners=100,
                epsilon=1.0,
                prior="coins",
                trials=_POWER_TIMES * asked.trials,
                seed=asked.seed,
                error_prior=error_prior,
            )
            for variant in _VARIANTS
        ]
        for error_prior in get_args(ErrorPrior)
    }
    cells = by_prior["mixed"]
    yield listed(
        cells,
        [
            ("variant", lambda cell: cell.variant),
            ("decided", lambda cell: written_share(cell.decided)),
            ("decided and wrong", lambda cell: written_share(cell.verdicts_wrong)),
            ("right if one just decides", lambda cell: written_share(1 - cell.found)),
        ],
        caption="Power: 100 partners who toss fair coins, ε = 1",
        note=f"{_POWER_TIMES * asked.trials:,} electorates each. What is nearly a coin toss is rarely decided at 5 %.",
        name="power",
        full=flat(cells),
    )
    claims = [(error_prior, cell) for error_prior, of_prior in by_prior.items() for cell in of_prior]
    yield listed(
        claims,
        [
            ("claims by", lambda row: row[0]),
            ("variant", lambda row: row[1].variant),
            *((header, lambda row, cell=cell: cell(row[1])) for header, cell in CLAIM_COLUMNS),
        ],
        caption="The same electorates: claims by the two priors",
        note="Where all votes are coin tosses, a claim below 5 % is mostly luck of the noise, and wrong several times "
        "as often as it says; the mixture makes far fewer such claims.",
        labels=2,
        name="claims-on-coins",
        full=flat(cell for _, cell in claims),
    )


CALIBRATION: Final = Calibration(
    title="DPWeVote",
    about=(
        "A decision's `error_probability` is meant under the prior that the outcome names: `mixed` for majorities, "
        "half fair coins, half any share of yes equally likely (`error_prior`). *Verdicts given* is the share that is "
        "not too close to tell at 5 %, *verdicts wrong* the share of all electorates whose verdict is wrong. `public` "
        "is `joint` with public weights. `matrices` is `joint` with randomization matrices of one's own: a yes is told "
        "half as often as by randomized response, and a weight is the likelier reported the nearer it is to the true "
        "one. For them the claims take the greatest standard error that the matrices allow, so that they are too high "
        "rather than too low. In `central` and `central public` a trusted server adds noise once, and claims are by "
        "Laplace's law. `printed` decides by the paper's biased rule; its claims and verdicts are by the "
        "unbiased margin."
    ),
    tables=_tables,
    steps=len(_VARIANTS) + 1,
)
"""DPWeVote's part of `psephos calibrate`."""
