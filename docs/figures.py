"""The figures that pages quote, computed: each stands in its page between marks. `make docs` writes them.

    python docs/figures.py    # writes them alone

`evidence.md` has one number of each page of measurements and of each reproduced paper, from the files that these keep.
`how-many-people.md` has the least shares of yes that votes of one person, one vote can tell, and the prices that are
said to tell 10 %, beside those that the exact law needs. `planning.md` compares the ε of one answer with that of all
numbers, by the exact laws of the noise.
"""

import csv
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.parameters import VariantName
from psephos.protocol.estimators import DEFAULT_LEVEL
from psephos.protocol.mechanisms.exponential import greatest_flip_deficit
from psephos.scenarios.dpwevote.forecasts import forecasts_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from planted.faults import planted_faults

__all__ = ["TABLES", "with_tables", "write_tables"]

_DOCS: Final = Path(__file__).resolve().parent
_MARKED: Final = re.compile(r"(<!-- begin (?P<name>\w+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)
_WELL_USED: Final = 0.75
"""The least share of a level that is much of it."""
_MUCH: Final = 0.5
"""Points behind: what was aimed at."""
_CLAIMS: Final = re.compile(r"^Of (\d+) claims? (.+)\.$", re.MULTILINE)
_PEOPLE: Final = (30, 100, 300, 1_000, 10_000)
_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
_MANY: Final = 1_000
_LADDER: Final = (10, 20, 30, 40, 100, 150, 300, 1_000)
_NEAR: Final = 1e-4
_ASKED: Final = (2, 3, 4, 8, 16, 52)
_CHOICES: Final = (2, 3, 5, 10, 20)
_FEATURES: Final = (2, 5, 9, 20, 40)
_NODES: Final = (np.arange(4_000) + 0.5) / 4_000
"""Probabilities whose quantiles stand for a law in an integral."""
_RIGHT: Final = 1 - DEFAULT_LEVEL
_PAPERS: Final = {
    "dpwevote": "weighted votes",
    "truth-discovery": "truths from a crowd",
    "moral-preferences": "moral preferences",
    "fair-voting": "fair elections",
}


def _rows_of(*paths: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as opened:
            rows += csv.DictReader(opened)
    return rows


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _measured() -> str:
    """Return the table of the pages of measurements."""
    calibration = _DOCS / "tables" / "calibration"
    cells = _rows_of(*sorted(calibration.glob("*-cells.csv")))
    broken = sum(cell["holds"] != "True" for cell in cells)
    strain = max(float(cell["strain"]) for cell in cells)
    crowds = [row for row in _rows_of(calibration / "truth-discovery-auto.csv") if not row["crowd"].startswith("made")]
    behind = sum(float(row["behind"]) > _MUCH for row in crowds)
    speeds = _rows_of(_DOCS / "tables" / "performance.csv")
    asked = [row for row in speeds if row["met"] in {"yes", "no"}]
    met = sum(row["met"] == "yes" for row in asked)
    over_tcp = next(row for row in speeds if row["what"].startswith("session over TCP, 1,000 partners"))
    survey = (_DOCS / "survey-scale.md").read_text(encoding="utf-8").splitlines()
    clock, memory = (
        next(line for line in survey if line.startswith(f"| {what}")).split("|")[-2]  # of the most voters
        for what in ("moral preferences by four algorithms, file to results", "memory of all processes")
    )
    hours = float(clock.split()[0].replace(",", "")) / 60
    tests = [
        line.strip("| ").split(" | ")
        for line in (_DOCS / "verdicts.md").read_text(encoding="utf-8").splitlines()
        if re.match(r"\| .*\d\.\d\d \| .*\d \|$", line)
    ]
    well_used = sum(float(used.split()[-1]) >= _WELL_USED for _, used, _ in tests)
    return _markdown(
        ("page", "asked", "found", "printed by"),
        (
            (
                "[Calibration](calibration.md)",
                "Are stated probabilities and errors as large as those that are found?",
                f"**{broken} of {len(cells)}** cells are broken; the worst is at {strain:.2f} of its statement",
                "`python tests/calibrate.py all`",
            ),
            (
                "[Verdicts, measured](verdicts.md)",
                "Does a verdict use the level that it states?",
                f"At least {_WELL_USED:g} of it in **{well_used} of {len(tests)}** cells",
                "`python tests/verdicts.py --write`",
            ),
            (
                "[The estimator `auto`](truth-discovery-auto.md)",
                "Is it a safe choice on a crowd that nobody has seen?",
                f"No: more than half a point behind the best rival in **{behind} of {len(crowds)}** cells",
                "`python tests/calibrate.py truth-discovery --trials 100`, with the data sets",
            ),
            (
                "[What audits see and miss](audit-limits.md)",
                "Does an audit find a mistake that somebody has planted?",
                f"**{len(planted_faults())}** faults are planted, one at a time, and each is caught",
                "`python tests/audit_faults.py`",
            ),
            (
                "[Performance](performance.md)",
                "Is it as fast as we had aimed?",
                f"**{met} of {len(asked)}** targets are met; those that are missed stand there",
                "`make bench`",
            ),
            (
                "[How speed is measured](performance-measured.md)",
                "Compared with what? A session of 1,000 over TCP, say, with the same bytes and no vote in them",
                f"**{over_tcp['ratio']}** of the bare program's time",
                "`python benchmarks/run.py tcp`",
            ),
            (
                "[Survey scale](survey-scale.md)",
                "Does a survey of four million voters run on one machine?",
                f"Yes: in **{hours:.0f} minutes** and{memory.rstrip()} of memory",
                "`make bench-survey`",
            ),
        ),
    )


def _papers() -> str:
    """Return the table of the reproduced papers."""
    rows: list[tuple[str, ...]] = []
    for prefix, what in _PAPERS.items():
        claims = _CLAIMS.search((_DOCS / f"{prefix}-reproduced.md").read_text(encoding="utf-8"))
        assert claims is not None  # noqa: S101  so write it our own pages
        command = f"`psephos reproduce {prefix}`"
        rows.append((f"[{what.capitalize()}]({prefix}-reproduced.md)", claims[1], claims[2], command))
    return _markdown(("paper", "claims", "of which", "printed by"), rows)


def _people(variant: VariantName) -> str:
    """Return the table of the shares of yes from which on a vote passes, a row for each ε."""
    header = ["ε a motion", *(f"{number:,} people" for number in _PEOPLE)]
    rows: list[list[str]] = []
    for epsilon in _EPSILONS:
        parameters = Parameters(
            candidates=("motion",),
            weights=(1,),
            public_weights=True,
            passes="more_than",
            variant=variant,
            epsilon=epsilon,
        )
        rows.append([f"{epsilon:g}", *(_share(DPWeVote(parameters), number) for number in _PEOPLE)])
    return _markdown(header, rows)


def _share(vote: DPWeVote, number: int) -> str:
    """Return the least share of yes that is told; rounded up, so that the statement stays true."""
    reach = vote.reach(vote.encode_public({"weight": [1] * number}, num_parties=number))
    assert reach is not None  # noqa: S101  these variants have a bound
    yes = math.ceil(number / 2 + reach)
    if yes > number:
        return "none"
    digits = 0 if number < _MANY else 2
    return f"{math.ceil(yes * 10**digits * 100 / number) / 10**digits:.{digits}f} %"


def _prices() -> str:
    """Return the table of ε that tells 55 : 45, as it is said before a vote, and as the law of its reports needs it."""
    rows: list[list[str]] = []
    for number in _LADDER:
        parameters = Parameters(candidates=("motion",), weights=(1,), public_weights=True, epsilon=0.05)
        vote = DPWeVote(parameters)
        own, *_ = forecasts_of(vote, vote.encode({"weight": [1] * number, "motion": [1] * number}))
        assert own.price is not None  # noqa: S101  of so many people one is known
        rows.append([f"{number:,}", f"{own.price:g}", f"{_needed(number):.3g}"])
    return _markdown(("people", "ε that is said", "ε that is needed"), rows)


def _needed(number: int) -> float:
    """Return the least ε at which as many yes as 10 % of all votes above half are decided wrongly in 5 %."""
    yes, low, high = math.ceil(0.6 * number), 0.01, 16.0
    while high - low > _NEAR:
        lie = 1 / (1 + math.exp((low + high) / 2))
        no_of_yes, no_of_no = (
            np.asarray(scipy.stats.binom.pmf(range(size + 1), size, chance))
            for size, chance in ((yes, lie), (number - yes, 1 - lie))
        )
        wrong = float(np.convolve(no_of_yes, no_of_no)[math.ceil(number / 2) :].sum())
        low, high = (low, (low + high) / 2) if wrong <= DEFAULT_LEVEL else ((low + high) / 2, high)
    return high


def _laplace_cdf(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(scipy.stats.laplace.cdf(numbers))


def _least(is_right: Callable[[float], float]) -> float:
    """Return the least margin at which an answer is right with the wanted probability."""
    return float(scipy.optimize.brentq(lambda margin: is_right(margin) - _RIGHT, 0.0, 1e4))


_ALONE: Final = _least(lambda margin: float(_laplace_cdf(np.array(margin))))
"""The margin that one answer needs at ε = 1, times the most by which one person moves it."""


def _asked() -> str:
    """Return the table of one threshold that is asked often, until it is first reached.

    Adding ε draws noise of scale number/ε each time. The sparse vector (Lyu, Su and Li 2017, Algorithm 1 with one
    "yes") adds noise of scale 1/ε₁ to the threshold and of 2/ε₂ to each number, ε₁ + ε₂ = ε, here as is best.
    """

    def least_of(number: int, share: float) -> float:
        thresholds = scipy.stats.laplace.ppf(_NODES) / share
        rate = (1 - share) / 2

        def is_right(margin: float) -> float:
            no, miss = (_laplace_cdf((thresholds + by) * rate) for by in (margin, -margin))
            last = np.mean(no ** (number - 1) * (1 - miss))
            return float(min(np.mean(no**number), last, np.mean(1 - miss)))

        return _least(is_right)

    rows: list[list[str]] = []
    for number in _ASKED:
        adding = number * _least(lambda margin, number=number: float(_laplace_cdf(np.array(margin))) ** number)
        vector = min(least_of(number, float(share)) for share in np.linspace(0.2, 0.6, 21))
        rows.append([str(number), f"{adding:.1f}", f"{vector:.1f}"])
    return _markdown(("times asked", "sequential composition", "sparse vector"), rows)


def _winners() -> str:
    """Return the table of ε for all utilities over ε for the winner alone, where all others are equally good."""
    row = ["ε of all, by ε of the winner"]
    noise = scipy.stats.laplace.ppf(_NODES)
    for number in _CHOICES:
        gap = _least(lambda margin, number=number: float(np.mean(_laplace_cdf(noise + margin) ** (number - 1))))
        row.append(f"{gap * (number**2 // 2) / (2 * (number - 1) * greatest_flip_deficit(number, DEFAULT_LEVEL)):.1f}")
    return _markdown(["alternatives", *map(str, _CHOICES)], [row])


def _dilemmas() -> str:
    """Return the table of ε for all preferences over ε for one dilemma that is known before."""
    preferences, directions = ["`laplace`"], ["`direction`"]
    for number in _FEATURES:
        radii = scipy.stats.gamma.ppf(_NODES, number)  # of the noise's ℓ₂ norm; and one part of a sum of Laplace noise

        def sum_is_right(margin: float, number: int = number, radii: NDArray[np.float64] = radii) -> float:
            return float(np.mean(scipy.stats.gamma.cdf(radii + margin, number)))

        def direction_is_right(margin: float, number: int = number, radii: NDArray[np.float64] = radii) -> float:
            squares = np.minimum(margin / radii, 1.0) ** 2
            return float(1 - np.mean(scipy.stats.beta.sf(squares, 0.5, (number - 1) / 2)) / 2)

        preferences.append(f"{_least(sum_is_right) / _ALONE:.1f}")
        directions.append(f"{_least(direction_is_right) / _ALONE:.1f}")
    return _markdown(["features", *map(str, _FEATURES)], [preferences, directions])


TABLES: Final[Mapping[str, Mapping[str, Callable[[], str]]]] = {
    "evidence.md": {"measured": _measured, "papers": _papers},
    "planning.md": {"winners": _winners, "dilemmas": _dilemmas, "asked": _asked},
    "how-many-people.md": {"local": lambda: _people("joint"), "central": lambda: _people("central"), "prices": _prices},
}
"""Of each page, its tables by the names of their marks."""


def with_tables(page: str) -> str:
    """Return a page of the manual as it is to stand: with its tables computed anew.

    Args:
        page: its file's name.
    """
    tables = TABLES[page]
    text = (_DOCS / page).read_text(encoding="utf-8")
    assert [found["name"] for found in _MARKED.finditer(text)] == list(tables), page  # noqa: S101  our own page
    return _MARKED.sub(lambda found: f"{found[1]}{tables[found['name']]()}{found[3]}", text)


def write_tables() -> None:
    """Write each page's tables into it."""
    for page in TABLES:
        (_DOCS / page).write_text(with_tables(page), encoding="utf-8")


if __name__ == "__main__":
    write_tables()
