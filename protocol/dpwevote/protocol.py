"""DPWeVote as a list of phases: randomized weights, randomized opinions, release."""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..arrays import ExactSums, FloatArray, IntArray, counts_of_rows, distinct_rows
from ..columns import CodedColumn
from ..errors import ConfigurationError, refuse, require
from ..phases import Column, Entries, InputBlock, Inputs, Phase, PhasedProtocol
from ..privacy import TrustModel
from ..privacy_levels import PrivacyLevels, check_alone
from ..tally import Tally, TallyBlock
from .central import CentralVariant
from .choice import decide, with_noise_weight
from .outcome import Outcome
from .parameters import DEFAULT_EPSILON, LEFT_OUT, Parameters
from .quotas import share_in
from .rounding import nearest_places
from .variant import Holdings, Variant, VoteDecisions

OPINIONS: Final[Mapping[str, float]] = MappingProxyType(
    {"yes": 1.0, "y": 1.0, "true": 1.0, "no": 0.0, "n": 0.0, "false": 0.0}
)
"""Words for an opinion, in lower case; 1 and 0 are also accepted."""
OPINION_WORDS: Final = "yes or no (y/n, true/false, 1/0)"
_AT_ONCE: Final = 1 << 18  # rows of a table per batch, since copies of millions of rows take much memory
_NO_WORDS: Final[Mapping[str, float]] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class VoteTruths:
    """The results of many sessions without noise.

    Args:
        supports: the support of each candidate, float64, shape (sessions, candidates).
        totals: the total weight, float64, shape (sessions,).
        quotas: the quota, float64, shape (sessions,).
        should_pass: which candidates pass, Boolean, shape (sessions, candidates); exact, by the weights as written.

    Examples:
        >>> vote = DPWeVote(Parameters(candidates=("merger",)))
        >>> inputs = vote.encode({"weight": [3, 1, 2], "merger": ["yes", "no", "no"]})
        >>> vote.truths(InputBlock.from_inputs(inputs)).should_pass.tolist()
        [[True]]
    """

    supports: FloatArray
    totals: FloatArray
    quotas: FloatArray
    should_pass: NDArray[np.bool_]


class DPWeVote(PhasedProtocol[Parameters, Outcome]):
    """Weighted yes/no voting under differential privacy in the local, distributed or central model.

    Args:
        parameters: the parameters of the session; variant "auto" is replaced by the variant that is chosen.

    Privacy:
        Replace-one; unit: all data of one partner; for k candidates. Claimed and proven loss agree (reading W5).

        - Local variants, against a coalition of all others: (ε_weight + k·ε_opinion)-LDP with weights collected once,
          k(ε_weight + ε_opinion)-LDP with weights collected for each candidate, and kε-LDP with signed weights (with
          levels, ε is the partner's level, which is public). T votes of one game are (ε_weight + T·k·ε_opinion)-LDP in
          all: the weight's report is drawn in the first vote and repeated in the others, which so depend on the data
          only through the first report and T independent draws for opinions.
        - "central": kε-DP of the release, against an observer of the release; the server sees all votes.
        - "masked": kε-DP against a coalition of the server and `colluders` partners (`phases.MaskedPhase`).

    Source:
        Yan, Liu and Liu (2018), Sections 4.1 to 4.5; readings W1 to W8.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> vote = DPWeVote(Parameters(candidates=("merger",), epsilon=3.0))
        >>> inputs = vote.encode({"weight": [3, 1, 2, 2] * 50, "merger": ["yes", "no", "yes", "yes"] * 50})
        >>> outcome = run_population(vote, inputs, noise=SimulatedNoise(1, session="board")).outcome
        >>> (outcome.candidates[0].decision, outcome.epsilon_total)
        ('passes', 3.0)
        >>> vote.truth(inputs)
        {'merger': 350.0, 'total weight': 400.0, 'quota': 200.0}
    """

    name: ClassVar[str] = "dpwevote"
    client_role: ClassVar[str] = "partner"
    server_role: ClassVar[str] = "cloud-server"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    computes_twice: ClassVar[bool] = False
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = (
        (TrustModel.LOCAL, {}),
        (TrustModel.DISTRIBUTED, {"variant": "masked"}),
        (TrustModel.CENTRAL, {"variant": "central"}),
    )

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.parameters = decide(self.parameters)

    @functools.cached_property
    def _own_levels(self) -> PrivacyLevels:
        return self.parameters.own_levels

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the candidates, from the columns; of public weights their set, and `central`'s noise weight."""
        parameters = dict(fields)
        if isinstance(share := fields.get("quota_fraction"), str):
            parameters["quota_fraction"] = float(share_in(share, field="parameters.quota_fraction"))
        if {"weight_matrix", "opinion_matrix"} & fields.keys() and fields.get("epsilon") == DEFAULT_EPSILON:
            # The parameters themselves detect other costs that must be omitted.
            raise ConfigurationError(field="parameters.epsilon", value=fields["epsilon"], allowed=LEFT_OUT)
        check_alone(fields, cls.client_role)
        columns = {"weight", "epsilon"} if "epsilons" in fields else {"weight"}
        parameters.setdefault("candidates", [name for name in table if name not in columns])
        if parameters.get("public_weights") and "weights" not in parameters and "weight" in table:
            weights = np.unique(_numbers(table["weight"]))
            parameters["weights"] = weights[np.isfinite(weights)].tolist()
        if "weight" in table:
            # If parties come in batches, the table is empty here, and the source counts their weights.
            parameters |= complete_noise_weight(parameters, lambda: (table["weight"], None))
        return parameters

    def make_phases(self) -> Iterator[Phase]:
        return self._variant.make_phases()

    def columns(self) -> tuple[Column, ...]:
        parameters = self.parameters
        allowed = _allowed(parameters.weights, parameters.rounding)
        weight = Column("weight", private=not parameters.public_weights, description=allowed)
        opinions = (Column(name, private=True, description="yes or no") for name in parameters.candidates)
        return (weight, *self._own_levels.columns, *opinions)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        self.check_columns(table)
        number = len(table["weight"])
        if number <= _AT_ONCE or any(len(column) != number for column in table.values()):
            return self._encode_table(table)
        inputs: Inputs | None = None
        for start in range(0, number, _AT_ONCE):
            batch = slice(start, start + _AT_ONCE)
            try:
                part = self._encode_table({name: column[batch] for name, column in table.items()})
            except ConfigurationError:
                return self._encode_table(table)  # its error names the row
            if inputs is None:
                inputs = Inputs(
                    *(np.zeros((number, part_rows.shape[1]), np.int64) for part_rows in (part.private, part.public))
                )
            for rows, part_rows in ((inputs.private, part.private), (inputs.public, part.public)):
                if part_rows.any():  # pages that are never written take no memory
                    rows[batch] = part_rows
        assert inputs is not None  # noqa: S101  there are rows
        return inputs

    def _encode_table(self, table: Mapping[str, Entries]) -> Inputs:
        parameters = self.parameters
        places = _indices(table["weight"], parameters.weights, field="weight", tolerance=parameters.rounding)
        opinions = [_indices(table[name], (0.0, 1.0), field=name, words=OPINIONS) for name in parameters.candidates]
        is_table = all(len(column) == len(places) for column in opinions)
        require(is_table, "table", "columns of different length", "columns of one length")
        holdings = Holdings(places, np.stack(opinions).T if len(opinions) > 1 else opinions[0][:, None])
        rows = self._variant.encode(holdings)
        levels = self._own_levels.encode(table, num_parties=len(places))
        return Inputs(rows.private, np.hstack([rows.public, levels])) if levels.shape[1] else rows

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        if not self.parameters.public_weights:
            return self._own_levels.encode(table, num_parties=num_parties)
        unknown = {name: np.zeros(num_parties) for name in self.parameters.candidates}
        return self.encode({**table, **unknown}).public

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        return self._own_levels.encode_chosen(entries)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        return self._own_levels.write(public)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        if levels := self._own_levels.epsilons:
            self.check_public(public)
            self._own_levels.check_own(entries, public)
            return super().encode_own({**entries, "epsilon": levels[public[-1]]}, public)
        if not self.parameters.public_weights or not public:
            return super().encode_own(entries, public)
        self.check_public(public)
        weight = self.parameters.weights[public[1]]
        inputs = self.encode({name: [entry] for name, entry in {"weight": weight, **entries}.items()})
        is_servers = inputs.public[0].tolist() == list(public)  # true also if the entries lack the weight
        require(is_servers, "weight", entries.get("weight"), f"{weight:g}, as the server has it")
        return tuple(inputs.private[0].tolist())

    def write_counted(self, row: Sequence[int], public: Sequence[int]) -> dict[str, str]:
        if not self.parameters.rounding:
            return {}
        (weight,) = self.weights_of(Inputs(np.array([row], dtype=np.int64), np.array([public], dtype=np.int64)))
        return {"weight": f"{weight:.10g}"}

    def check_public(self, public: Sequence[int]) -> None:
        rows, allowed = self._public_rows
        if tuple(public) not in rows:
            raise ConfigurationError(field="the server's public row", value=list(public), allowed=allowed)

    @functools.cached_property
    def _public_rows(self) -> tuple[Collection[tuple[int, ...]], str]:
        """The possible public rows, and their description in words."""
        if levels := self._own_levels.epsilons:
            return {(place,) for place in range(len(levels))}, f"the place of an ε, in [0, {len(levels) - 1}]"
        if self.parameters.public_weights:
            groups = self.parameters.group_of_weight
            return {(group, place) for place, group in enumerate(groups)}, "a weight of the public set"
        return {()}, "empty: weights are private"

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        if self.masked_phase is not None:
            self._variant.check_rows(Inputs(np.array([row], dtype=np.int64), np.array([public], dtype=np.int64)))

    def check_inputs(self, inputs: Inputs) -> None:
        super().check_inputs(inputs)
        self._variant.check_rows(inputs)

    def check_roster(self, public: IntArray) -> None:
        self.check_numbers(*distinct_rows(public))

    def check_numbers(self, rows: IntArray, numbers: IntArray) -> None:
        num_partners = int(numbers.sum())
        self._variant.check_roster(num_partners)
        quota, weights = self.parameters.quota, self.parameters.weights
        if quota is None:
            return
        if self.parameters.public_weights:
            of_each: list[tuple[int, int]] = list(zip(rows[:, 1].tolist(), numbers.tolist(), strict=True))
            total = float(sum(Fraction(weights[place]) * number for place, number in of_each))
            total *= 1 + self.parameters.rounding
            sum_name = "the weight of all partners"
        else:
            total, sum_name = num_partners * weights[-1], "the greatest weight of so many partners"
        require(quota <= total, "quota", quota, f"at most {sum_name}, {total:g}")

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        return self._variant.outcome(tallies)

    def decisions(self, tallies: Sequence[TallyBlock]) -> VoteDecisions:
        return self._variant.decisions(tallies)

    def weights_of(self, inputs: Inputs) -> tuple[float, ...]:
        """Return the partners' weights, which rows were made of."""
        places: list[int] = self._variant.decode(inputs).places.tolist()
        return tuple(self.parameters.weights[place] for place in places)

    def truth(self, inputs: Inputs) -> dict[str, float]:
        """Return the noise-free support of each candidate, the total weight and the quota."""
        truths = self.truths(InputBlock.from_inputs(inputs))
        supports = zip(self.parameters.candidates, truths.supports[0].tolist(), strict=True)
        return {**dict(supports), "total weight": float(truths.totals[0]), "quota": float(truths.quotas[0])}

    def should_pass(self, inputs: Inputs) -> dict[str, bool]:
        """Return which candidates pass without noise, exactly by the weights as written."""
        (passing,) = self.truths(InputBlock.from_inputs(inputs)).should_pass.tolist()
        return dict(zip(self.parameters.candidates, passing, strict=True))

    def truths(self, inputs: InputBlock) -> VoteTruths:
        """Return the results without noise of many sessions."""
        rows, number = inputs.flatten(len(inputs.private)), len(inputs.private)
        holdings = self._variant.decode(rows)
        margin, support, quota = self._true_sums
        size = len(self.parameters.weights)
        codes = holdings.places[:, None] + size * holdings.opinions
        pairs = [counts_of_rows(values.reshape(number, -1), 2 * size) for values in codes.T]
        yes, counts = [values[:, size:] for values in pairs], pairs[0][:, :size] + pairs[0][:, size:]
        margins = np.stack([margin.numerators(np.concatenate([values, counts], axis=1)) for values in yes], axis=1)
        return VoteTruths(
            supports=np.stack([support.to_floats(values) for values in yes], axis=1),
            totals=support.to_floats(counts),
            quotas=quota.to_floats(counts),
            should_pass=(margins >= 0 if self.parameters.passes == "at_least" else margins > 0).astype(np.bool_),
        )

    @functools.cached_property
    def _true_sums(self) -> tuple[ExactSums, ExactSums, ExactSums]:
        """The margin without noise by how many of each weight say yes, and are there; support; and quota, by each."""
        unit, units = self._variant.lattice
        weights, share = [unit * values for values in units], self.parameters.exact_fraction
        fixed = Fraction(str(self.parameters.quota or 0))
        quotas = [share * values for values in weights]
        return ExactSums([*weights, *(-part for part in quotas)], -fixed), ExactSums(weights), ExactSums(quotas, fixed)

    def reach(self, public: IntArray) -> float | None:
        """Return the margin from which on a decision is wrong with probability at most the level, whatever the truth.

        Args:
            public: the partners' public rows, int64, shape (n, public columns).

        Returns:
            A proven bound in units of weight; None for a variant without such a bound. If private weights are rounded,
            and the quota is a share of all weight, it assumes that partners have the mean weight of the set.
        """
        parameters, numbers = self.parameters, [len(public)]
        if number := len(parameters.weights if parameters.public_weights else self._own_levels.epsilons):
            numbers = np.bincount(public[:, -1], minlength=number).tolist()
        reach, rounded = self._variant.reach(numbers), self._variant.share_rounded
        if reach is None or (parameters.quota is None and parameters.reports_signed_weights):
            return reach
        total = 1.0
        if parameters.quota is None:
            weights, is_public = parameters.weights, parameters.public_weights
            shares = numbers if is_public else len(public) / len(weights)
            total = math.fsum(np.multiply(weights, shares).tolist())
        return reach + rounded * total

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return the contribution of each partner's reports to each candidate's margin.

        If all partners reported in every phase, a margin is the sum of its column minus a fixed quota, up to rounding.

        Args:
            reports: int64, shape (n, columns) for each phase in order.
            public: int64, shape (n, public columns).

        Returns:
            float64, shape (n, candidates), in units of weight.
        """
        return self._variant.contributions(reports, public)

    @property
    def tells_support(self) -> bool:
        """Whether the release tells support and quota apart, whatever the quota is; else margins alone."""
        return self._variant.tells_support

    def release_noise(self, uniforms: FloatArray) -> FloatArray | float:
        """Return a trusted server's noise on one margin in this many releases; 0 in the local model.

        Args:
            uniforms: float64 in [0, 1), shape (n, 1).

        Returns:
            float64, shape (n,), in units of weight.
        """
        return self._variant.release_noise(uniforms)

    def response_noise(self, opinion: int, uniforms: FloatArray, public: IntArray) -> FloatArray | float:
        """Return the noise of a trusted server's randomized response to opinions. See `Variant.response_noise`."""
        return self._variant.response_noise(opinion, uniforms, public)

    @functools.cached_property
    def _variant(self) -> Variant:
        return self.make_variant()

    @property
    def own_variant(self) -> Variant | None:
        """How the vote is held where that is somebody's own way (`make_variant`), and has no name in `variant`."""
        return None if type(self._variant) is self.parameters.kind else self._variant

    def make_variant(self) -> Variant:
        """Return the variant of the vote.

        A subclass with another variant returns a subclass of `Variant` for the name that it replaces, and calls this
        method for any other name.
        """
        return self.parameters.kind(self.parameters)


def complete_noise_weight(
    fields: Mapping[str, Any], count: Callable[[], tuple[Entries, Sequence[int] | None]]
) -> dict[str, float]:
    """Return the best noise weight for known weights of partners, as a parameter; empty if none is better.

    Errors in the parameters or weights are reported elsewhere.

    Args:
        fields: the known parameters.
        count: returns the weights, and the number of partners with each; None if each weight is that of one partner. It
            is called only if the parameters allow a noise weight.

    Examples:
        >>> fields = {"variant": "central", "public_weights": True, "epsilon": 2.0, "weights": [1, 10]}
        >>> complete_noise_weight(fields, lambda: ([1, 10], [50, 1]))
        {'noise_weight': 1.0}
    """
    if not fields.get("public_weights") or fields.get("variant") != CentralVariant.name or "noise_weight" in fields:
        return {}
    try:
        converted = msgspec.convert({"candidates": ["any"], **fields}, Parameters)
        entries, repeats = count()
        places = _indices(entries, converted.weights, field="weight", tolerance=converted.rounding)
    except (ConfigurationError, msgspec.ValidationError):
        return {}
    numbers = np.zeros(len(converted.weights), dtype=np.int64)
    np.add.at(numbers, places, 1 if repeats is None else np.array(repeats, dtype=np.int64))
    noise_weight = with_noise_weight(converted, numbers.tolist()).noise_weight
    return {} if noise_weight is msgspec.UNSET else {"noise_weight": noise_weight}


def _allowed(choices: Sequence[float], tolerance: float) -> str:
    """Describe in words which numbers are allowed."""
    text = ", ".join(f"{choice:g}" for choice in choices[:12])
    ellipsis = ", ..." if len(choices) > 12 else ""  # noqa: PLR2004  as many as are shown
    tolerance_text = f"within {100 * tolerance:.4g} % of " if tolerance else ""
    return f"{tolerance_text}one of {text}{ellipsis}"


def _indices(
    entries: Entries,
    allowed: Sequence[float],
    *,
    field: str,
    words: Mapping[str, float] = _NO_WORDS,
    tolerance: float = 0.0,
) -> IntArray:
    """Return the index in `allowed` of each entry: a number, its text, or a word; ConfigurationError for any other.

    With `tolerance`, it is the index of the choice with the smallest relative difference to the number.
    """
    if isinstance(entries, np.ndarray) and entries.strides == (0,) and len(entries) > 1:  # all entries are equal
        return np.broadcast_to(
            _indices(entries[:1], allowed, field=field, words=words, tolerance=tolerance), len(entries)
        )
    numbers = _numbers(entries, words)
    refuse(numbers.ndim != 1, field, f"shape {numbers.shape}", "one entry for each party")
    choices = np.array(allowed)
    places: IntArray
    if tolerance:
        places = nearest_places(numbers, choices)
        wrong = np.flatnonzero(~(np.abs(numbers - choices[places]) <= tolerance * choices[places]))
    elif len(choices) <= 2:  # noqa: PLR2004  yes and no, or one weight: a tenth of a search
        is_last = numbers == choices[-1]
        is_known = is_last | (numbers == choices[0])
        wrong = np.flatnonzero(~is_known) if not is_known.all() else np.empty(0)
        places = is_last * np.int64(len(choices) - 1)
    else:
        places = np.minimum(np.searchsorted(choices, numbers), len(choices) - 1)
        wrong = np.flatnonzero(choices[places] != numbers)
    if wrong.size:
        first = int(wrong[0])
        described = OPINION_WORDS if words else _allowed(allowed, tolerance)
        if words and field == "epsilon":
            described += ", as of a candidate: nobody has an ε of its own here"
        value = entries[first].item() if isinstance(entries[first], np.generic) else entries[first]
        raise ConfigurationError(field=f"{field} in row {first + 1}", value=value, allowed=described)
    return places


def _numbers(entries: Entries, words: Mapping[str, float] = _NO_WORDS) -> FloatArray:
    """Return the entries as numbers; what is neither one nor a word becomes nan, which is in no public set."""
    if isinstance(entries, CodedColumn):
        return _numbers(entries.names, words)[entries.codes]
    try:
        return np.asarray(entries, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(entry, words) for entry in entries], dtype=np.float64)


def _number(entry: object, words: Mapping[str, float]) -> float:
    if isinstance(entry, str) and (meant := words.get(entry.strip().casefold())) is not None:
        return meant
    try:
        return float(entry)  # pyright: ignore[reportArgumentType]  whatever it is, it is a number or refused below
    except (TypeError, ValueError, OverflowError):
        return math.nan
