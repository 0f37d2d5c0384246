"""Budgets over periods of time: at most ε in any sliding window of length P.

The rule: a loss at time t is admitted if it fits into the budget together with all losses after t − P. Losses of age P
or older no longer count.

**Proof for every window.** Take any window [s, s + P), and the last loss in it, at time t. All losses of the window are
at s or later, and s > t − P. So all of them were added up when the last one was admitted, and fitted into the budget.
With a δ, the same holds for the filter's sums of ε and ρ. So the losses in a window that is fixed in advance are (ε, δ)
together, even if votes depend on earlier outcomes (`Budget`).

**Why the window slides.** With calendar weeks, ε late on a Sunday and ε early on Monday would be 2ε within hours,
although each week complies. A sliding window never exceeds ε. It does not bound the total: n periods may cost up to nε.
A budget without a period bounds that.

**Sessions that last.** Budget for a session is reserved as it begins, and its losses are charged later, each with its
time. Let a loss be charged at t, and let b be the time at which the latest reservation before t was made. Every loss
after t − P was charged after b − P. So it was counted at b, or it comes from a reservation that existed at b or was
made then. All of these together fitted into the budget at b.

**Releases and retransmissions.** A window bounds what is sent in it. A report may be sent again after it was drawn. If
a sum is unmasked or noise added only at the release, what the release reveals is sent days after the report. So a loss
is dated by the time at which the release was received; until then it counts as new. Take any window, the losses of
which something is sent in it, and of these the loss whose reservation was checked last, at time b. It is sent at b or
later, so the window began after b − P. Each other loss is sent in the window, so after b − P for the last time. Hence
at b it was reserved, or its release had not been received, or had been received less than P before. So all of them were
counted together at b, and fitted into the budget.

**Memoized reports.** A report that later sessions of its scope repeat (`memoized_reports`) is drawn once, and counts
once, in the windows of the session that drew it. Lemma: let x and x' be neighbors, Y all that was sent before a window,
f(Y) the repeated reports in it, and Z what is drawn in it. Then P[f(Y), Z | Y, x] / P[f(Y), Z | Y, x'] = P[Z | Y, x] /
P[Z | Y, x'], which is at most e^ε for the window's ε, since Y determines f(Y). So for an observer who has Y, such as
the server, the window adds at most its budget. An observer without Y also learns from the repeated report: at most the
window's ε plus that of the report, by sequential composition. A budget over all time bounds both.

Source: the caps that Wang et al. (2019, section 6) quote: in Chrome 2 for each datum and 9 for each user; in Apple's
systems 1 to 2 for each datum and day, which was found to be 16 (Tang et al., 2017).
"""

import math
from collections.abc import Iterable
from typing import TypeVar

from ..errors import require

T = TypeVar("T")


def check_period(seconds: float, *, field: str = "budget_period") -> float:
    """Return the length of a period in seconds, which must be positive and finite.

    Raises:
        ConfigurationError: it is not.

    Examples:
        >>> check_period(86_400)
        86400
        >>> check_period(0)
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: budget_period is 0: use a length of time above 0
    """
    require(0 < seconds < math.inf, field, seconds, "a length of time above 0")
    return seconds


def keep_recent(timed: Iterable[tuple[float, T]], *, now: float, seconds: float) -> list[T]:
    """Return the entries that still count at time `now`: those less than a period old.

    Args:
        timed: losses, each with its time in seconds. A time after `now` counts, since a clock may have been set back.
        now: the current time in seconds.
        seconds: the length of the period, positive.

    Raises:
        ConfigurationError: `seconds` is not positive and finite.

    Examples:
        >>> keep_recent([(0.0, "old"), (90.0, "new")], now=100.0, seconds=60.0)
        ['new']
    """
    check_period(seconds)
    return [entry for time, entry in timed if time > now - seconds]
