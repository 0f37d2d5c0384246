"""Budgets over periods of time: at most ε in any window of a length, which slides.

The rule that holds here: a loss at time t is admitted if it, and all losses after t − P, fit into the budget. Losses
that are P old or older count no more.

**Why that holds in every window.** Take any window [s, s + P), and the last loss in it, at time t. All losses of the
window are at s or later, and s > t − P, so each of them was among those that were added up as that last one was
admitted. They fit into the budget then, and none came after. A window that holds fewer losses holds less. With a δ the
same is true of the filter's sums of ε and ρ, so that the losses in a window that was fixed in advance are (ε, δ)
together, also where votes are chosen as earlier outcomes say (`Budget`).

**Why it slides.** With weeks of a calendar, ε late on a Sunday and ε early on Monday are 2ε within hours, and both
weeks are in order. A window that slides is never above ε. It bounds no total: over n periods up to nε may be lost, and
a budget without a period is what bounds that.

**Sessions that last.** Room for a session is checked as it begins, at time b, and its losses are charged later, each
with the time of its own. That is sound: let a loss be charged at t, and let b be when the last session began that had
room by then. All losses after t − P were charged after b − P, and were counted as that session began, or come out of
room that was held at b or then taken. All of that together fits into the budget.

**Releases, and reports that are sent again.** What a window bounds is what leaves in it. A report that was drawn may
leave later, or once more, and what its session's release tells of it leaves with the release: days after the report,
where a sum is unmasked or noise is added only then. So a loss has the time at which the release was heard: until that
is known it counts as if it were new. Take any window, the losses of which something leaves in it, and of these the one
whose room was checked last, at time b. It leaves at b or later, so the window began after b − P. Each of the others
leaves in the window, so after b − P for the last time: at b it was held, or its release had not been heard, or was
heard less than P before. So all of them were counted together at b, and fit into the budget.

**Kept reports.** A report that a later session of its scope repeats (`memoized_reports`) is drawn once and counts once,
in the windows of the session that drew it. Lemma: let Y be all that left before a window, and what leaves in it be
f(Y), the reports that are repeated, with Z, what is drawn. Then P[f(Y), Z | Y, x] / P[f(Y), Z | Y, x'] = P[Z | Y, x] /
P[Z | Y, x'], which is at most e^ε for the window's ε: f(Y) is certain given Y. So to whoever has what left before, the
server first of all, the window adds no more than its budget. Who has seen nothing before it learns what the repeated
report tells as well: together at most the window's ε and that report's, by sequential composition. A budget over all
time holds for both.

Source: the caps that Wang et al. (2019, section 6) quote: in Chrome 2 for each datum and 9 for each user, in Apple's
systems 1 to 2 for each datum and day, which was found to be 16 (Tang et al., 2017).
"""

import math
from collections.abc import Iterable
from typing import TypeVar

from ..errors import require

T = TypeVar("T")


def check_period(seconds: float, *, field: str = "budget_period") -> float:
    """Return the length of a period in seconds, which must be above 0 and finite.

    Raises:
        ConfigurationError: it is no length.

    Examples:
        >>> check_period(86_400)
        86400
        >>> check_period(0)
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: budget_period must be a length of time above 0; it is 0
    """
    require(0 < seconds < math.inf, field, seconds, "a length of time above 0")
    return seconds


def keep_recent(timed: Iterable[tuple[float, T]], *, now: float, seconds: float) -> list[T]:
    """Return the entries that still count at a time: those less than a period old.

    Args:
        timed: losses, each with its time in seconds; one from after `now`, where a clock was set back, counts.
        seconds: the period's length, above 0.

    Raises:
        ConfigurationError: the length is none.

    Examples:
        >>> keep_recent([(0.0, "old"), (90.0, "new")], now=100.0, seconds=60.0)
        ['new']
    """
    check_period(seconds)
    return [entry for time, entry in timed if time > now - seconds]
