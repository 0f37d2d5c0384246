"""What poisoners do to masked sums: each adds what it wishes, as many times as it likes, and nobody sees a row."""

import functools
from collections.abc import Iterator
from typing import Final

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.phases import MaskedPhase
from ...protocol.population import draw_reports
from .pushing import Pushed
from .role import Row

_UNWRAPPED: Final = 2**61  # modulo 2⁶⁴, whatever the noise is


class MaskedPush:
    """Poisoners of a masked session, of whom each adds a false value k times; nothing but the modulus bounds k."""

    def __init__(self, phase: MaskedPhase, pushed: Pushed) -> None:
        self._phase, self._pushed, context = phase, pushed, pushed.context
        poisoning, places = pushed.poisoning, pushed.places
        here, there = (each.wished_rows(context.inputs, places) for each in (poisoning, poisoning.turned()))
        self._span = (here - there)[:, phase.columns]
        self._drawn = draw_reports(
            phase, context.inputs, noise=context.noise(), protocol=context.protocol.name, start=0
        )
        self._base = self._drawn[places] + (here - context.inputs.private[places])[:, phase.columns]
        self.most = _UNWRAPPED // (len(context.names) * max(int(np.abs(self._span).max()), 1))

    def reports(self, times: int) -> IntArray:
        """Return everybody's rows with their shares, a false value being added so many times."""
        reports = self._drawn.copy()
        if times:
            reports[self._pushed.places] = self._base + (times - 1) * self._span
        return reports

    @functools.cached_property
    def _ends(self) -> dict[int, object]:
        """What is released, by how often a false value is added: not at all, once, ten times, and so on."""
        numbers = [0, *(10**power for power in range(len(str(self.most)))), self.most]
        return {times: self._pushed.outcome([self.reports(times)]) for times in numbers}

    @functools.cached_property
    def rows(self) -> list[Row]:
        """What is decided, for each of these."""
        noise = (len(self._pushed.context.names) * self._phase.share.noise_variance) ** 0.5
        shift = float(np.abs(self._span.sum(axis=0)).max()) / noise
        decided = self._pushed.poisoning.decided
        return [
            {"each adds": times, "in noise": times * shift, "decision": decided(end)}
            for times, end in self._ends.items()
        ]

    def sentences(self, times: int) -> Iterator[str]:
        """Say what is decided without them, and with rows that add so many times what they wish."""
        poisoning = self._pushed.poisoning
        (first, *_), own = self.rows, next(row for row in self.rows if row["each adds"] == times)
        yield (
            f"They push {poisoning.pushed} {'up' if poisoning.sign > 0 else 'down'}, and each adds a false value "
            f"{times:,} times: {own['in noise']:.3g} standard errors of the sum's noise. As drawn: "
            f"{first['decision']}. With their rows: {own['decision']}."
        )
        least = next((each for each, end in self._ends.items() if poisoning.has_reached(end)), None)
        yield f"The decision is theirs {'never' if least is None else f'from {least:,} times on'}, of those tried."
