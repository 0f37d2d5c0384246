"""The collusion sweep: how much more a larger coalition learns, with and without the server, by protocol and by ε.

Each case is a scenario: this one, or another by name with its own settings. Coalitions of growing size infer the first
party's secret, and the plot shows the bound from the proven loss next to them. In the local model the server alone has
all the evidence, so the success of coalitions with the server does not depend on their size. In the central model the
server is trusted and sees all values; the bound covers only what other parties learn from the release, and that case
has its own panel.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from ...protocol.errors import ConfigurationError, refuse, require
from ..attacks import Attack, Coalition, Evaluation, find_attack, success_bound
from .role import AttackContext, AttackReport, Role, Row, SessionTrace, check_at_least
from .trials import try_coalition

# The default sizes: all parties but one, half of them, a quarter and so on.
_LEAST_SHARE: Final = 1 / 8
_MOST_CASES: Final = 12
_TARGET: Final = np.zeros(1, dtype=np.int64)
_LEAST_ERROR: Final = 0.0005  # smaller errors vanish in three decimals


class CollusionCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session whose coalitions are compared.

    Examples:
        >>> CollusionCase(scenario="consortium", settings=("count=9",)).title
        ''
    """

    scenario: str = ""  # a shipped scenario's name, or a path; empty for the scenario that names this adversary
    settings: tuple[str, ...] = ()  # "key=value" each, as on the command line
    title: str = ""  # the panel's title; by default the protocol's name and model
    secret: str = ""  # the secret that is inferred; by default the first of the protocol's attack


class CollusionSweepRole(Role, frozen=True, kw_only=True):
    """Coalitions of every size against the first party.

    Examples:
        >>> CollusionSweepRole(epsilons=(0.5, 1.0)).trials
        300
    """

    cases: tuple[CollusionCase, ...] = ()  # the cases that are compared; by default the scenario itself
    epsilons: tuple[float, ...] = ()  # the ε of each line; by default each case's own
    sizes: tuple[int, ...] = ()  # numbers of other parties that collude; by default some from none to all
    trials: int = 300  # synthetic targets over which the success of a coalition without the server is averaged

    name: ClassVar[str] = "collusion-sweep"
    refused_if_masked: ClassVar[str] = (
        "its bound is one for all sizes, and here it grows with them; 'coalition' has each"
    )

    def check(self, context: AttackContext) -> None:
        self.check_left_out(allowed="sizes say it")
        refuse(len(self.cases) > _MOST_CASES, "cases", f"{len(self.cases)} cases", f"at most {_MOST_CASES}")
        check_at_least("trials", self.trials, 1)
        for _, case_scene, attack, secret in self._cases_with_attacks(context):
            attack.check_secret(secret)
            max_members = len(case_scene.names) - 1
            for size in self.sizes:
                if not 0 <= size <= max_members:
                    allowed = f"in [0, {max_members}]: all parties but the target"
                    raise ConfigurationError(field="sizes", value=size, allowed=allowed)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return success and advantage of each coalition."""
        # The session that took place is not used: every coalition is tried on its own sessions.
        rows: list[Row] = []
        number = len(self.cases or (CollusionCase(),)) * len(self.epsilons or (None,))
        for place, (title, case, attack, secret) in enumerate(self._cases_with_attacks(context)):
            trace.on_step(place, number)
            epsilon, evaluations = self._sweep(case, attack, secret)
            losses = {
                has_server: attack.loss(secret, case.inputs.public, _TARGET, Coalition((), has_server=has_server))
                for has_server in (False, True)
            }
            for (has_server, size), evaluation in evaluations.items():
                bound = losses[has_server]
                rows.append(_row(title, secret, epsilon, size, evaluation, has_server=has_server, bound=bound))
        return AttackReport(
            role=self.name,
            who="coalitions of every size, with and without the server",
            trust="Each coalition is semi-honest, and the target's only protection is its own noise, or the server's.",
            sentences=tuple(_sentences(rows)),
            rows=tuple(rows),
        )

    def _sweep(
        self, context: AttackContext, attack: Attack, secret: str
    ) -> tuple[float, Mapping[tuple[bool, int], Evaluation]]:
        """Return the case's ε, and evaluations by whether the server is a member and by the number of others."""
        evaluations: dict[tuple[bool, int], Evaluation] = {}
        sizes = self.sizes or _sizes(len(context.names) - 1)
        for has_server in (False, True):
            if has_server and attack.infers_from_reports_alone:
                # Reports are independent, so other members add nothing: one trial covers all sizes.
                evaluation = try_coalition(context, Coalition((), has_server=True), attack, _TARGET, secret=secret)
                evaluations |= {(True, size): evaluation for size in sizes}
                continue
            for size in sizes:
                coalition = Coalition(tuple(range(1, size + 1)), has_server=has_server)
                try:
                    evaluations[has_server, size] = try_coalition(
                        context, coalition, attack, _TARGET, secret=secret, num_targets=self.trials
                    )
                except ConfigurationError:
                    if has_server or size == len(context.names) - 1:
                        raise
                    # No attack computes what so few parties learn from the tallies, so the table has no row for them.
        parameters = context.protocol.parameters
        epsilon: float = not getattr(parameters, "epsilons", ()) and getattr(parameters, "epsilon", 0.0)
        if not epsilon:  # there is no common ε, so take the target's
            epsilon = attack.loss(secret, context.inputs.public, _TARGET, Coalition((), has_server=False))
        return epsilon, evaluations

    def _cases_with_attacks(self, context: AttackContext) -> Iterator[tuple[str, AttackContext, Attack, str]]:
        """Yield each case for each ε: its title, what is run, the attack and the secret."""
        for case in self.cases or (CollusionCase(),):
            for epsilon in self.epsilons or (None,):
                context_of_case = context if not case.scenario and not case.settings and epsilon is None else None
                settings = [*case.settings, *([] if epsilon is None else [f"epsilon={epsilon!r}"])]
                of_case = context_of_case or _context_of_case(context, case, settings)
                attack = find_attack(of_case.protocol).against(of_case.inputs)
                title = case.title or f"{of_case.protocol.name}, {of_case.protocol.model.value} model"
                yield title, of_case, attack, case.secret or attack.default_secret


def _context_of_case(context: AttackContext, case: CollusionCase, settings: Sequence[str]) -> AttackContext:
    """Return another scenario's context, at this one's seed."""
    from ..running.config import load_scenario  # noqa: PLC0415  `running` imports this folder
    from ..running.resolution import resolve  # noqa: PLC0415  the same

    require(case.scenario, "cases", "no scenario", "the name of a scenario, since settings and ε are set for it")
    scenario = load_scenario(case.scenario, [*settings, "transport=array", "adversary=[]"])
    return resolve(scenario).context(seed=context.seed)


def _sizes(max_size: int) -> tuple[int, ...]:
    """Return some sizes from none to all; the success changes most between all but one and all."""
    shares = [0.0, _LEAST_SHARE, 0.25, 0.5, 0.75, 1.0]
    return tuple(sorted({round(share * max_size) for share in shares} | {max(0, max_size - 1)}))


def _row(
    title: str, secret: str, epsilon: float, size: int, evaluation: Evaluation, *, has_server: bool, bound: float
) -> Row:
    return {
        "case": title,
        "secret": secret,
        "server": "in" if has_server else "out",
        "ε": epsilon,
        "others": size,
        "success": evaluation.success,
        "standard error": evaluation.success_error,
        "advantage": evaluation.advantage,
        "bits": evaluation.information,
        "bound_on_success": success_bound(bound, [evaluation.baseline]),
    }


def _sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for title, epsilon in dict.fromkeys((str(row["case"]), float(row["ε"])) for row in rows):
        case_rows = [row for row in rows if (row["case"], row["ε"]) == (title, epsilon)]
        of_server = [row for row in case_rows if row["server"] == "in"]
        server_sentence = f"with the server the advantage is {max(float(row['advantage']) for row in of_server):.3f}"
        if any(float(row["bound_on_success"]) >= 1 for row in of_server):  # trusted with values, so no bound applies
            server_sentence = "the server is trusted, and sees every value"
        serverless_rows = sorted(
            (row for row in case_rows if row["server"] == "out"), key=lambda row: int(row["others"])
        )
        opening = f"{title}, ε = {epsilon:g}: {server_sentence}"
        if not serverless_rows:  # all sizes were too small for the attack
            yield f"{opening}; what so few learn without it is not computed."
            continue
        comparisons = [
            f"{row['others']:,} others have {row['advantage']:.3f}"
            for row in (serverless_rows[len(serverless_rows) // 2], serverless_rows[-1])
        ]
        last, error = serverless_rows[-1], float(serverless_rows[-1]["standard error"])
        right = f"{float(last['success']):.3f}{f' ± {error:.3f}' if error >= _LEAST_ERROR else ''}"
        yield (
            f"{opening}; without it, {' and '.join(dict.fromkeys(comparisons))}, who are right in "
            f"{right:s} (the bound is {float(last['bound_on_success']):.3f})."
        )
