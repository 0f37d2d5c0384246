"""The misreporter: a voter who knows all other rankings, and would report a false one where that is worth more.

It follows the protocol with whatever ranking it reports, so that nothing detects it. What it gains at most is bounded
by the ε that protects it: a vote that hardly depends on one ranking hardly rewards a false one. Who does not follow the
protocol, and chooses its report where voters randomize themselves, is a poisoner.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, cast

import numpy as np

from ....agents.adversaries import SERVER
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.fair_voting import FairVoting
from ...adversaries.role import Figure, Happened, Lesson, Role, Row, Scene, Series, check_between
from .misreports import MOST_ALTERNATIVES, WITHOUT_PRIVACY, MisreportGain, check_law, gains_of

__all__ = ["MisreporterRole"]

_MOST_TRIALS: Final = 100_000
_LEAST_TRIALS: Final = 10


class MisreporterRole(Role, frozen=True, kw_only=True):
    """A voter who looks for the false ranking that is worth most.

    Args:
        members: that voter alone.
        trials: simulated elections, for each mechanism that releases more than the winner.
    """

    trials: int = 400

    name: ClassVar[str] = "misreporter"
    protocols: ClassVar[frozenset[str]] = frozenset({"fair-voting"})

    def check(self, scene: Scene) -> None:
        """Refuse other members than one voter, many alternatives, and a law of the winner that takes too long."""
        coalition = scene.coalition(self.members)
        value = SERVER if coalition.has_server else f"{len(self.members)} voters"
        refuse(len(self.members) != 1 or coalition.has_server, "members", value, "one voter")
        check_between("trials", self.trials, _LEAST_TRIALS, _MOST_TRIALS)
        vote = _vote_of(scene)
        size = len(vote.parameters.alternatives)
        refuse(size > MOST_ALTERNATIVES, "alternatives", f"{size} alternatives", f"at most {MOST_ALTERNATIVES}")
        try:
            check_law(vote, scene.inputs)
        except NotImplementedError:
            mechanism, allowed = (
                vote.parameters.mechanism,
                "another one, or fewer samples: the winner's law takes too long",
            )
            raise ConfigurationError(field="mechanism", value=mechanism, allowed=allowed) from None

    def learn(self, scene: Scene, happened: Happened) -> Lesson:
        """Return what the best false ranking is worth to the voter, here and under other mechanisms."""
        del happened
        vote = _vote_of(scene)
        (place,) = scene.coalition(self.members).members
        found = gains_of(vote, scene.inputs, place, trials=self.trials, seed=scene.seed)
        own, plain = found[:2]
        return self.lesson(
            who=f"{scene.names[place]}, who would report a false ranking",
            trust=(
                "It knows the rankings of all other voters, which nobody tells it here, and follows the protocol with "
                "whatever ranking it reports. A utility is the score of the winner's position in its true ranking, "
                "from 0 to 1."
            ),
            sentences=self._said(own, plain, may_show=scene.may_show_truth),
            rows=(_row(gain, may_show=scene.may_show_truth) for gain in found),
            figures=(_figure(found),),
        )

    def _said(self, own: MisreportGain, plain: MisreportGain, *, may_show: bool) -> Sequence[str]:
        error = f" ± {own.error:.2g} (in {self.trials - self.trials // 2:,} simulated elections)" if own.error else ""
        misreport = f", by {' > '.join(own.misreport)}" if may_show and own.gain > 0 else ""
        said = "no false ranking is worth more than the truth"
        if own.gain or own.error:
            said = f"its best misreport is worth {own.gain:.4g}{error} more than the truth{misreport}"
        return (
            f"With {own.mechanism!r} {said}.",
            (
                f"The proven ε = {own.epsilon:.4g} allows any voter {own.bound:.4g} at most, (e^ε − 1)/(e^ε + 1), "
                "whatever all others report."
            ),
            f"Without privacy it would gain {plain.gain:.4g}.",
        )


def _vote_of(scene: Scene) -> FairVoting:
    return cast("FairVoting", scene.protocol)  # `protocols` says so


def _row(gain: MisreportGain, *, may_show: bool) -> Row:
    is_private = gain.mechanism != WITHOUT_PRIVACY
    return {
        "mechanism": gain.mechanism,
        "truthful": gain.truthful,
        "gain": gain.gain,
        "standard_error": gain.error,
        "bound": gain.bound,
        "epsilon": f"{gain.epsilon:.6g}" if is_private and np.isfinite(gain.epsilon) else "unbounded",
        "misreport": " > ".join(gain.misreport) if may_show else "",
    }


def _figure(found: Sequence[MisreportGain]) -> Figure:
    names, gains, errors = zip(*((gain.mechanism, gain.gain, gain.error) for gain in found), strict=True)
    measured = Series(name="gain", x=names, y=gains, errors=errors, style="bars")
    allowed = Series(name="allowed by ε", x=names, y=tuple(gain.bound for gain in found), style="bars")
    title, label = "What a false ranking is worth", "gained utility, of 1"
    return Figure(title=title, x_label="", y_label=label, series=(measured, allowed))
