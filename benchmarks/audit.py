"""What audits take, and how near they come: the time of all, and audited over proven ε where proofs are tight.

    python benchmarks/audit.py [--quick]

The targets are those of the project: ten minutes on two cores, and .9 of the proven ε for .1 ≤ ε ≤ 8. Ratios are of
outputs alone, without the exact laws, which give 1.
"""

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Final

from psephos.scenarios.audit import Case, Pair, audit
from psephos.scenarios.audit.mechanisms.noise import noise_cases
from psephos.scenarios.audit.mechanisms.responses import response_cases
from psephos.scenarios.audit.running import ALL, SECURE_SAMPLES, SIMULATED_SAMPLES, audit_all
from table import Row, at_least, at_most, to_text

__all__ = ["measure"]

_MOST_SECONDS: Final = 600
_LEAST_RATIO: Final = 0.9
_CONFIDENCE: Final = 1 - 0.01 / 24
"""Of each row, so that all 24 hold at once with .99: streams are shared, and so is their luck."""
_QUICK: Final = 100
"""How many times fewer outputs a quick run takes."""


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield the time of all audits, then the ratios of k-RR and Laplace noise."""
    divisor = _QUICK if quick else 1
    report = audit_all(ALL, samples={"simulated": SIMULATED_SAMPLES // divisor, "secure": SECURE_SAMPLES // divisor})
    yield Row(
        f"audit all, {len(report.rows)} losses",
        f"{report.seconds:.0f} s",
        goal=at_most(report.seconds, None if quick else _MOST_SECONDS, unit=" s"),
    )
    for case in (*response_cases(), *noise_cases()):
        if case.group in {"k-rr", "laplace"}:
            yield _ratio(case, SIMULATED_SAMPLES // divisor, is_told=not quick)


def _ratio(case: Case, samples: int, *, is_told: bool) -> Row:
    """Return how near the audit comes, exactly where the law is known, and by outputs alone."""
    found = audit(case, samples=samples, confidence=_CONFIDENCE)
    alone = audit(dataclasses.replace(case, pairs=lambda: _without_laws(case)), samples=samples, confidence=_CONFIDENCE)
    assert found is not None  # noqa: S101  both have draws
    assert alone is not None  # noqa: S101  the same
    exact, sampled = ((result.epsilon or 0.0) / case.proven for result in (found, alone))
    return Row(
        f"audited/proven, {case.name}, {samples:,} outputs",
        f"{exact:.3f} exact",
        f"{sampled:.3f} by outputs alone",
        f"{sampled / exact if exact else 0:.2f}",
        at_least(exact, _LEAST_RATIO if is_told else None),
    )


def _without_laws(case: Case) -> list[Pair]:
    return [dataclasses.replace(pair, laws=None) for pair in case.pairs()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the outputs, no targets")
    print(to_text(list(measure(quick=parser.parse_args().quick))))


if __name__ == "__main__":
    main()
