"""What the paper says, and whether it holds: each claim once, judged by a law here and now or by a reproduction's rows.

`psephos audit papers` shows the former, `psephos reproduce` those of the experiments: both have one declaration.

Source: Wang et al. (2019), Sections 4 and 5; readings M2 to M7.
"""

import math
import operator
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.mechanisms import PostProcessed
from ....protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from ....protocol.moral_preferences.coefficients import coefficients_of_records, split
from ....protocol.moral_preferences.parameters import MechanismName
from ....protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from ....protocol.privacy import PrivacyLoss
from ....protocol.randomness import SimulatedNoise
from ...audit.bounds import lower_limits
from ...experiments.findings import BoundedFinding, Certainty, Finding, found_in, in_sentences
from ...experiments.judging import all_above, on_average
from ...experiments.measurements import Measurement
from ...experiments.sheets import where
from ...presentation.numbers import in_a_row
from ...verdicts import Judgement
from ..audit.sessions import exposure_of_preferences
from ..audit.witnesses import search_sensitivity
from .effects import ORDERS
from .methods import ALGORITHMS, METHODS
from .published import BASELINES, BOUNDS, DIMENSIONS, EPSILON_OF_BOUNDS, HIGH_RATIO, NAMED_BOUNDS, RATIO
from .rows import CurvePoint, Reproduction
from .societies import MACHINE_LIKE, OWN, SYNTHETIC, Setting, draw_society
from .trials import Cell, measure

_KINDS = {
    SYNTHETIC: "Section 5.1's voters",
    MACHINE_LIKE: "the stand-in for the Moral Machine's voters",
    OWN: "your data",
}
_CLOSE = 0.01
_MACHINE_FIGURE = 9
_OTHER_BOUNDS: Final = tuple(bound for bound in BOUNDS if bound not in NAMED_BOUNDS)
_ALONG_THE_AXIS = frozenset({"epsilon", "less conservative", "epsilon_conservative", "epsilon_moderate"})
_AUDIT: Final = "psephos audit moral-preferences"
_REPRODUCE: Final = "psephos reproduce moral-preferences"
_EPSILON: Final = 1.0
_FEATURES: Final = 10  # Section 5.1: d
_RECORDS: Final = 50  # Section 5.1: n
_DILEMMAS: Final = 13  # Section 5.2: n of the Moral Machine
_BOUND: Final = 2.0
_WIDE: Final = 1_000.0  # of what the paper's baseline quotes, which has no bound
_FAILURE: Final = 0.05
_SEED: Final = 1
_RISK: Final = 0.001
# The normal quantile of that risk, on one side.
_QUANTILE: Final = 3.09
_SOCIETIES: Final = 10
_VOTERS: Final = 50
# Inside of "ε > 1".
_EPSILON_OF_RATIO: Final = 2.0
_found: Final = found_in(__name__, paper="Moral preferences: Wang et al. (2019)")


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from _more_is_better(reproduction)
    yield from _order(reproduction)
    yield from _dimension(reproduction)
    yield from _groups(reproduction)
    yield from _bound(reproduction)
    yield from _machine(reproduction)
    yield from _baselines(reproduction)
    yield from _ratios(reproduction)
    yield from in_sentences(findings_on_moral_preferences(), "M6")


def findings_on_own_data(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says of the Moral Machine's voters, and whether it holds on somebody's own data."""
    yield from _groups(reproduction)
    yield from _machine(reproduction)
    yield from _ratios(reproduction)


_SHOWN: Final = 5e-4  # less is 0 in three digits


def share(measurement: Measurement) -> str:
    """Return a share as people write it, .912 ± .003: with a digit more where the error would be 0."""
    digits = 3 if measurement.standard_error >= _SHOWN else 4
    value, error = f"{measurement.value:.{digits}f}", f"{measurement.standard_error:.{digits}f}"
    return f"{value.removeprefix('0')} ± {error.removeprefix('0')}"


def _of_effect(
    reproduction: Reproduction,
    figure: int,
    panel: str,
    what: str,
    claim: str,
    source: str,
    *,
    extra: str = "",
    on_stand_in: bool = False,
) -> Finding:
    """Return the verdict on a difference: that it is no chance, and no single pair says the contrary."""
    (row,) = where(reproduction.effects, figure=figure, panel=panel, what=what)
    value, error = row.difference.value, row.difference.standard_error
    average, each = f"on average over {row.number} pairs", "single pairs"
    if what in _ALONG_THE_AXIS:
        average, each = "from one end of the axis to the other", "single steps"
    return Finding(
        claim=claim,
        source=source,
        judgement=on_average(row.difference, row.least, row.number, trials=row.trials),
        numbers=f"The accuracy differs by {100 * value:+.1f} ± {100 * error:.1f} points {average} "
        f"({each} by {row.least:+.1f} to {row.most:+.1f} standard errors).{extra}",
        on_stand_in=on_stand_in,
    )


def _more_is_better(reproduction: Reproduction) -> Iterator[Finding]:
    lost = "; the paper's values of n are lost (reading M11)"
    for figure, method in enumerate(ALGORITHMS, start=1):
        for what, claim, remark in (
            ("epsilon", "a smaller ε leads to a lower accuracy", ""),
            ("voters", "more voters give a better accuracy", ""),
            ("records", "more records of a voter give a better accuracy", lost),
        ):
            title, source = METHODS[method].title, f"Figure {figure}{remark}"
            yield _of_effect(reproduction, figure, "", what, f"{title}: {claim}.", source)


def _order(reproduction: Reproduction) -> Iterator[Finding]:
    for better, worse in ORDERS:
        titles = METHODS[better].title, METHODS[worse].title
        extra = ""
        if better == "algorithm-3":
            found = reproduction.of_figure(4, at=1.0)
            costs = [next(point.epsilon_voter for point in found if point.method == each) for each in (better, worse)]
            extra = (
                f" But ε is a record's for the one and a voter's for the other (reading M7): at ε = 1 a voter pays up "
                f"to {costs[0]:g} with {titles[0]} and {costs[1]:g} with {titles[1]}."
            )
        claim = f"{titles[0]} outperforms {titles[1]} at equal ε."
        yield _of_effect(reproduction, 4, "", f"{better} against {worse}", claim, "Figure 4", extra=extra)


def _dimension(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        claim = f"{METHODS[method].title}: the accuracy falls as the number of features grows."
        source = f"Figure 5({panel}), fewer against more of {in_a_row(map(str, DIMENSIONS))}"
        yield _of_effect(reproduction, 5, panel, "fewer features", claim, source)


def _on_machine(reproduction: Reproduction) -> str:
    """Return what the figures of the Moral Machine are of here."""
    return f"on {_KINDS[OWN]}" if reproduction.own else f"on {_KINDS[MACHINE_LIKE]} (reading M13)"


def _groups(reproduction: Reproduction) -> Iterator[Finding]:
    what = {
        (6, "a"): ("falls as more voters are conservative (f_C)", "less conservative"),
        (6, "b"): ("grows with ε_C", "epsilon_conservative"),
        (6, "c"): ("grows with ε_M", "epsilon_moderate"),
        (9, "a"): ("grows with ε_C", "epsilon_conservative"),
        (9, "b"): ("grows with ε_M", "epsilon_moderate"),
    }
    for (figure, panel), (claim, varied) in what.items():
        if not reproduction.own or figure == _MACHINE_FIGURE:
            is_machine = figure == _MACHINE_FIGURE
            said = f"Algorithm 3 with personalized ε: the accuracy {claim}."
            source = f"Figure {figure}({panel}){f', {_on_machine(reproduction)}' * is_machine}"
            yield _of_effect(reproduction, figure, panel, varied, said, source, on_stand_in=is_machine)
    if reproduction.own:
        return
    for panel in "bc":
        said = "Algorithm 3 with personalized ε: more voters lead to a better accuracy."
        yield _of_effect(reproduction, 6, panel, "voters", said, f"Figure 6({panel})")
    first, second = (reproduction.of_figure(6, panel, method="algorithm-3") for panel in "bc")
    lowest = min(point.accuracy.value for point in first)
    highest = max(point.accuracy.value for point in second)
    means = [sum(point.accuracy.value for point in each) / len(each) for each in (first, second)]
    yield _of_effect(
        reproduction,
        6,
        "",
        "(b) against (c)",
        "The accuracy of Figure 6(b) is higher than that of Figure 6(c).",
        "Section 5.1, at equal places of the axes",
        extra=f" On average over each panel it is {means[0]:.3f} against {means[1]:.3f}; the lowest point of (b) has "
        f"{lowest:.3f}, the highest of (c) {highest:.3f}.",
    )


def _bound(reproduction: Reproduction) -> Iterator[Finding]:
    for method in ("algorithm-1", "algorithm-2"):
        verdicts: set[Judgement] = set()
        parts: list[str] = []
        for panel in dict.fromkeys(point.panel for point in reproduction.of_figure(7)):
            found = reproduction.of_figure(7, panel, method=method, epsilon=EPSILON_OF_BOUNDS)
            ahead = [_ahead(reproduction, panel, f"{method}: {{}} against {bound:g}") for bound in _OTHER_BOUNDS]
            verdicts.add(all_above(ahead, trials=reproduction.trials))
            least = min(ahead, key=lambda each: each.value)
            best = max(found, key=lambda point: point.accuracy.value)
            parts.append(
                f"with {panel} the best is B = {best.at:g}, and 2 or 3 differ from the best of the others by "
                f"{100 * least.value:+.3f} ± {100 * least.standard_error:.3f} points"
            )
        yield Finding(
            claim=f"The accuracy of {METHODS[method].title} is relatively higher with a bound B around 2 or 3.",
            source=f"Figure 7, ε = {EPSILON_OF_BOUNDS:g}; reading M5",
            judgement=Judgement.HOLDS if verdicts == {Judgement.HOLDS} else Judgement.OPEN,
            numbers=f"The paper says neither N nor than what. Repetition by repetition, {'; '.join(parts)}.",
        )


def _ahead(reproduction: Reproduction, panel: str, what: str) -> Measurement:
    """Return the lead of that one of the named bounds of which it is surer."""
    tried = [what.format(f"{bound:g}") for bound in NAMED_BOUNDS]
    rows = [row for row in where(reproduction.effects, figure=7, panel=panel) if row.what in tried]
    return max(rows, key=lambda row: row.least).difference


def _machine(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        source = f"Figure 8({panel}), {_on_machine(reproduction)}"
        for what, claim in (("epsilon", "a larger ε gives"), ("voters", "more voters give")):
            said = f"{METHODS[method].title}: {claim} a better accuracy."
            yield _of_effect(reproduction, 8, panel, what, said, source, on_stand_in=True)
    for better, worse, claim in (
        ("algorithm-1", "algorithm-3", "Algorithm 1 outperforms Algorithm 3."),
        ("algorithm-3", "algorithm-2", "Algorithm 2 has a lower accuracy than Algorithm 3 in all cases."),
    ):
        source = f"Figure 8(d), {_on_machine(reproduction)}"
        yield _of_effect(reproduction, 8, "d", f"{better} against {worse}", claim, source, on_stand_in=True)


def _baselines(reproduction: Reproduction) -> Iterator[Finding]:
    for row in reproduction.baselines:
        if row.published is None or row.voter is None:
            continue
        alike = where(reproduction.baselines, setting=row.setting, voters=row.voters, records=row.records)
        wide = max(alike, key=lambda other: other.bound)
        words = ", ".join(f"{share(other.society)} with B = {other.bound:g}" for other in alike)
        stand_in = " (a stand-in, reading M13)" if row.setting == MACHINE_LIKE else ""
        yield Finding(
            claim=f"Without privacy the accuracy is {100 * row.published:g} % (N = {row.voters}, n = {row.records}, on "
            f"{_KINDS[row.setting]}).",
            source=f"Section 5.3, reading M2{stand_in}",
            judgement=Judgement.OPEN,  # of a method that is quoted, whose bound is not told
            numbers=f"The mean of all voters' fits has {words}: the method that the paper quotes has no bound B, and "
            f"the accuracy depends on it. Single voters' fits, each against the voter's own preferences, have "
            f"{share(row.voter)} with B = {row.bound:g}, and {share(wide.voter or row.voter)} with B = {wide.bound:g}.",
            on_stand_in=row.setting == MACHINE_LIKE,
        )


def _ratios(reproduction: Reproduction) -> Iterator[Finding]:
    panels = [("b", OWN)] if reproduction.own else [("a", SYNTHETIC), ("b", MACHINE_LIKE)]
    for panel, setting in panels:
        for method in ("algorithm-1", "algorithm-3"):
            found = sorted(reproduction.of_figure(10, panel, method=method), key=operator.attrgetter("at"))
            (low, much), (high, most) = RATIO, HIGH_RATIO
            beyond = [
                Measurement(point.ratio.value - (most if point.at > high else much), point.ratio.standard_error)
                for point in found
                if point.at > low
            ]
            coin = 50 * found[0].ratio.value / found[0].accuracy.value
            stays = " and ".join(_stays_above(found, level) for level in (much, most))
            yield Finding(
                claim=f"{METHODS[method].title} keeps more than {100 * much:g} % of the accuracy without privacy for ε "
                f"> {low:g}, and more than {100 * most:g} % for ε > {high:g}.",
                source=f"Section 5.3, Figure 10({panel}), on {_KINDS[setting]}; reading M5",
                judgement=all_above(beyond, trials=reproduction.trials),
                numbers=f"It {stays}. A coin keeps {coin:.0f} %.",
                on_stand_in=setting == MACHINE_LIKE,
            )


def _stays_above(found: list[CurvePoint], level: float) -> str:
    """Return from which ε on a ratio is above a level."""
    for place, point in enumerate(found):
        if all(other.ratio.value > level for other in found[place:]):
            return f"stays above {100 * level:g} % from ε = {point.at:g} on"
    return f"is not above {100 * level:g} % at the largest ε"


def findings_on_moral_preferences() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    loss = _loss(_protocol(Paradigm.RLCP, "pooled"))
    yield _found(
        key="M17",
        quantity="loss of a record at ε = 1, all voters' coefficients added up under one noise",
        claimed=math.inf,
        bound="=",
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        only="for the average of the voters' parameters, which is no optimum of an objective, as the paper says",
        note="The coefficients of all voters add up, and one noise on the sum protects them: this estimates another "
        "parameter, that of all records together.",
        compared="if it cannot",
    )
    yield _laplace(Paradigm.VLCP, "M15")
    # The union bound has d·e^(−α/scale) = γ.
    in_scales = math.log(_FEATURES / _FAILURE)
    yield _found(
        key="M18",
        quantity=f"that probability for γ = {_FAILURE:g} and {_FEATURES} features",
        claimed=1 - _FAILURE,
        bound="≥",
        found=(-math.expm1(-in_scales)) ** _FEATURES,
        note="The probability is slightly higher than claimed.",
    )
    yield _laplace(Paradigm.VLDP, "M16")
    direction = np.full(_FEATURES, 1 / math.sqrt(_FEATURES))
    # The scaled ones of a voter with alike records, and what is left of them beside one that is much longer.
    before = np.tile(direction, (_DILEMMAS, 1))
    after = np.vstack([-direction, np.zeros((_DILEMMAS - 1, _FEATURES))])
    sums: list[FloatArray] = [coefficients_of_records(records).sum(axis=0) for records in (before, after)]
    change = float(np.abs(sums[0] - sums[1]).sum())
    yield _found(
        key="M4",
        quantity=f"loss of one of {_DILEMMAS} records at ε = 1, all scaled by the largest norm among them",
        claimed=_EPSILON,
        found=_EPSILON * change / printed_sensitivity(_FEATURES),
        certainty=Certainty.FOUND,
        only="if each item is clipped by itself",
        note="If the data's own largest norm sets the scale, one long record changes all others.",
    )
    change, _ = search_sensitivity(_FEATURES, seed=_SEED, num_starts=16)
    yield _found(
        key="M6",
        quantity=f"largest change in the ℓ₁ norm, d = {_FEATURES} features",
        claimed=printed_sensitivity(_FEATURES),
        found=tight_sensitivity(_FEATURES),
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note=f"Less noise would do, since a smaller bound is proven. A search finds a change of {change:.2f}.",
    )
    loss = _loss(_protocol(Paradigm.RLDP, "functional", printed=True))
    yield _found(
        key="M19",
        quantity=f"loss of a record at ε = 1, {_FEATURES} features, each item clipped by itself",
        claimed=_EPSILON,
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="It loses less than claimed, since the printed noise is larger than needed.",
    )
    # Noisy objectives that rise in some direction without end.
    protocol = _protocol(Paradigm.RLDP, "functional", records=_RECORDS, printed=True)
    society = draw_society(
        Setting(records=_RECORDS, features=_FEATURES), num_voters=_VOTERS, seed=_SEED, start=0, stop=_SOCIETIES
    )
    rows = protocol.summary.rows_of(society.records)
    phase = protocol.phase
    assert isinstance(phase.mechanism, PostProcessed)  # noqa: S101  the maximum comes after the noise
    noise = SimulatedNoise(_SEED, session="paper")
    uniforms = noise.uniforms(
        protocol=protocol.name, phase=phase.name, start=0, stop=len(rows), slots=phase.mechanism.slots_of(rows.shape[1])
    )
    noisy = phase.mechanism.noise.randomize_rows(rows, uniforms).astype(np.float64)
    _, quadratic = split(noisy, num_features=_FEATURES)
    hits = np.count_nonzero(np.linalg.eigvalsh(quadratic)[:, -1] > 0)
    yield _found(
        key="M3",
        quantity=f"share of voters whose objective has no maximum, ε = 1, {_RECORDS} records, {_FEATURES} features",
        claimed=0.0,
        found=float(lower_limits(np.array([hits]), len(rows), _RISK)[0]),
        certainty=Certainty.SAMPLED,
        note="Hardly any voter has such a point: noise makes the quadratic indefinite, and it grows without end.",
    )
    # A voter whose records are all replaced.
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    yield _found(
        key="M7",
        quantity=f"loss of one of a voter's {_RECORDS} records by Algorithm 3 at ε = 1",
        claimed=_EPSILON,
        found=_loss(protocol).finest.proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="It holds of records. But the ε of Algorithms 1 and 2 protects a voter, too: by Algorithm 3 such a voter "
        f"loses {exposure.losses.max():.1f} at least, and is charged {_loss(protocol).proven:.1f}.",
    )
    setting = Setting(records=100, features=_FEATURES)
    base = Cell(setting=setting, voters=_VOTERS, method="algorithm-1", epsilon=math.inf)
    unbound = msgspec.structs.replace(base, bound=_WIDE)
    private = Cell(setting=setting, voters=_VOTERS, method="algorithm-3", epsilon=_EPSILON_OF_RATIO)
    found = measure([base, unbound, private], seed=_SEED, start=0, stop=_SOCIETIES)
    yield _found(
        key="M2",
        quantity=f"accuracy of the mean of all voters' fits with B = {_WIDE:,g}, over {_SOCIETIES} societies",
        claimed=BASELINES[SYNTHETIC],
        bound="=",
        found=_interval(found[unbound].accuracies)[0],
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        note=f"With B = {_BOUND:g} it is {100 * np.mean(found[base].accuracies):.1f} %.",
        undecided="The method that the paper quotes has no bound B, and the accuracy depends on it.",
    )
    ratio = np.array(found[private].accuracies) / np.mean(found[base].accuracies)
    yield _found(
        key="M5",
        quantity=f"share of the accuracy that 3 keeps at ε = {_EPSILON_OF_RATIO:g}, over {_SOCIETIES} societies",
        claimed=HIGH_RATIO[1],
        bound="≥",
        found=_interval(ratio.tolist())[1],
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        only="from a larger ε on",
        note="Preprocessing that does not leak leaves little signal under this noise.",
    )


def _protocol(
    paradigm: Paradigm, mechanism: MechanismName, *, records: int = 1, printed: bool = False
) -> MoralPreferences:
    return MoralPreferences(
        Parameters(
            features=tuple(f"x{place}" for place in range(1, _FEATURES + 1)),
            paradigm=paradigm,
            mechanism=mechanism,
            epsilon=_EPSILON,
            bound=_BOUND,
            max_records=records,
            sensitivity="printed" if printed else "tight",
            clipping="items" if printed else "difference",
        )
    )


def _loss(protocol: MoralPreferences) -> PrivacyLoss:
    (loss,) = protocol.losses
    return loss


def _laplace(paradigm: Paradigm, key: str) -> BoundedFinding:
    """Return the proven loss, and that of voters whose one record points one way or the other."""
    protocol = _protocol(paradigm, "laplace")
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    return _found(
        key=key,
        quantity="loss of a voter, and of a single record, at ε = 1",
        claimed=_EPSILON,
        found=_loss(protocol).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note=f"The proof gives the same bound. One record can move β from end to end of the ball, and loses "
        f"{exposure.losses.max():.6f}.",
    )


def _interval(values: list[float]) -> tuple[float, float]:
    """Return the ends of a confidence interval of a mean, by the normal law."""
    error = _QUANTILE * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return mean - error, mean + error
