"""Any protocol is audited: the right ones pass, planted faults are found, what cannot be audited is refused.

A right protocol is refuted by one of these audits with a probability of at most 1e-6 for each case and source: each is
held to that confidence, and a fault has to show at it. Simulated outputs have fixed seeds.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism, VectorLaplace
from psephos.protocol.phases import Draw, Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.scenarios.audit import AuditVerdict, Case, any_protocol, audit
from psephos.scenarios.audit.any_protocol import cases_of_protocol, cases_of_scenario
from psephos.scenarios.audit.verdict import AuditResult
from psephos.scenarios.system import System
from strangers import Approvals, Ballot, BoundedMean, Bounds, Elected, Lawless, Skewed, TrustedSums, register
from thoroughness import draws

CONFIDENCE = 1 - 1e-6
SAMPLES = 20_000


def found_in(case: Case, source: Any = "simulated", *, samples: int = 0) -> AuditResult | None:
    samples = samples or (SAMPLES if source == "simulated" else draws(500, full=2_000))
    return audit(case, samples=samples, confidence=CONFIDENCE, source=source, seed=3)


def verdicts(cases: Sequence[Case], source: Any = "simulated", **how: int) -> dict[str, AuditVerdict | None]:
    found = {case.name: found_in(case, source, **how) for case in cases}
    return {name: None if own is None else own.verdict for name, own in found.items()}


class SkewedVote(Approvals):
    """Whose sampler tells more than its law."""

    name: ClassVar[str] = "skewed-vote"

    def make_mechanism(self) -> RowMechanism:
        """Return the faulty one."""
        return Skewed(self.parameters.epsilon, 2)


class UnwrittenVote(Approvals):
    """Whose mechanism says no law, and costs `factor` times what is stated."""

    name: ClassVar[str] = "unwritten-vote"
    factor: ClassVar[float] = 1.0

    def make_mechanism(self) -> RowMechanism:
        """Return it."""

        class Understated(Lawless):
            @property
            def event(self) -> Any:
                return GeneralizedRandomizedResponse(stated, 2).event

        stated = self.parameters.epsilon
        return Understated(type(self).factor * stated, 2)


class Understating(UnwrittenVote):
    """Whose mechanism costs twice what its event says."""

    factor: ClassVar[float] = 2.0


class Trusting(Approvals):
    """A vote that is counted by a trusted server."""

    name: ClassVar[str] = "trusting"
    relation: ClassVar[NeighboringRelation] = NeighboringRelation.REPLACE_ONE
    phase_type: ClassVar[type[TrustedSums]] = TrustedSums

    def make_phases(self) -> Iterable[Phase]:
        """Return the one phase."""
        number = len(self.parameters.candidates)
        is_replaced = type(self).relation is NeighboringRelation.REPLACE_ONE  # by a value of the other sign, too
        apart = (128 if is_replaced else 64) * number
        noise = VectorLaplace(scale=apart / self.parameters.epsilon, sensitivity=apart, bound=2**40)
        loss = PrivacyLoss(
            mechanism="discrete Laplace",
            event=noise.event_of(number),
            claimed=self.parameters.epsilon,
            unit="ballot",
            relation=type(self).relation,
            model=TrustModel.CENTRAL,
        )
        yield self.phase_type("counts", columns=range(number), bound=64, tally_mechanism=noise, losses=[loss])

    def possible_entries(self) -> Mapping[str, Entries]:
        """Return all ballots."""
        return {"tea": [0, 0, 1, 1], "coffee": [0, 1, 0, 1]}

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Count in 64ths."""
        inputs = super().encode(table)
        return Inputs(64 * inputs.private, inputs.public)


class Doubled(TrustedSums):
    """Whose server makes the release itself: twice the noisy sum, of which nobody has written the law."""

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Double what is randomized. See `CentralPhase.randomize_tally`."""
        noisy = super().randomize_tally(tally, draw)
        return Tally(noisy.num_reports, 2 * noisy.totals)


class Clear(TrustedSums):
    """Whose server forgets the noise."""

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Return the tally as it is. See `CentralPhase.randomize_tally`."""
        del draw
        return tally


class Doubling(Trusting):
    """A vote whose server makes its release itself."""

    name: ClassVar[str] = "doubling"
    phase_type: ClassVar[type[TrustedSums]] = Doubled


class Forgetful(Trusting):
    """A vote whose server forgets the noise."""

    name: ClassVar[str] = "forgetful"
    phase_type: ClassVar[type[TrustedSums]] = Clear


class Hiding(Trusting):
    """The same where it is private who votes."""

    name: ClassVar[str] = "hiding"
    relation: ClassVar[NeighboringRelation] = NeighboringRelation.ADD_OR_REMOVE_ONE

    def outcome(self, tallies: Sequence[Tally]) -> Elected:
        """Release nothing: how many voted is private."""
        del tallies
        return Elected(())


class Grouped(Approvals):
    """Whose voters belong to public groups."""

    name: ClassVar[str] = "grouped"

    def columns(self) -> tuple[Column, ...]:
        """Return the group's column too."""
        return (*super().columns(), Column("group", private=False, description="a number"))

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Read groups."""
        groups = np.array([[int(entry)] for entry in table["group"]], dtype=np.int64)
        return Inputs(super().encode(table).private, groups)


WHOLE = ["whole session", "whole session, twice", "two parties", "two parties among agents"]


@pytest.mark.few(most=1)
@pytest.mark.parametrize("source", ["simulated", "secure"])
def test_a_right_protocol_passes_with_its_loss_attained(source: Any) -> None:
    cases = cases_of_protocol(Approvals(Ballot()))
    assert [case.name for case in cases] == ["phase 'approvals' alone", *WHOLE]
    assert [case.proven for case in cases] == [2.0, 2.0, 4.0, 2.0, 2.0]
    found = [found_in(case, source, samples=draws(500, full=2_000)) for case in cases]
    assert [own and own.verdict for own in found] == [AuditVerdict.CONSISTENT] * 5
    assert [own and own.epsilon for own in found] == pytest.approx([2.0, 2.0, 4.0, 2.0, 2.0])


@pytest.mark.full("five seconds of audits; another right protocol passes above")
def test_a_right_mean_passes_between_its_bounds() -> None:
    cases = cases_of_protocol(BoundedMean(Bounds(epsilon=2.0)))
    found = found_in(cases[0])
    assert found is not None
    assert (found.verdict, found.pair) == (AuditVerdict.CONSISTENT, "0, against 100")
    assert 1.7 < (found.epsilon or 0) <= 2.0
    assert AuditVerdict.PROOF_REFUTED not in verdicts(cases[1:]).values()


def test_a_sampler_that_tells_more_than_its_law_is_found() -> None:
    found = verdicts(cases_of_protocol(SkewedVote(Ballot())), samples=draws(2_500, full=SAMPLES))
    assert found == dict.fromkeys(["phase 'approvals' alone", *WHOLE], AuditVerdict.PROOF_REFUTED)


def test_an_event_that_says_less_than_is_drawn_is_found_by_outputs_where_no_law_is_written_down() -> None:
    # Not among agents: of so few sessions nothing can be said without a law.
    sound, understated = (cases_of_protocol(kind(Ballot()))[:-1] for kind in (UnwrittenVote, Understating))
    assert AuditVerdict.PROOF_REFUTED not in verdicts(sound).values()
    found = verdicts(understated)
    assert [found["phase 'approvals' alone"], *(found[name] for name in WHOLE[:2])] == [AuditVerdict.PROOF_REFUTED] * 3
    assert "No law is written down" in understated[0].note
    assert "no exact sampler" in understated[0].note
    assert verdicts(sound, "secure") == dict.fromkeys([case.name for case in sound])


@pytest.mark.parametrize(("kind", "relation"), [(Trusting, "replace-one"), (Hiding, "add-remove-one")])
@pytest.mark.parametrize(
    "source", ["simulated", pytest.param("secure", marks=pytest.mark.full("thousands of secure sessions"))]
)
def test_what_a_trusted_server_releases_is_audited(kind: type[Trusting], relation: str, source: Any) -> None:
    (case,) = cases_of_protocol(kind(Ballot()))
    assert (case.name, case.relation.value, case.proven) == (f"release of phase 'counts', {relation}", relation, 1.0)
    found = found_in(case, source, samples=20_000)
    assert found is not None
    assert found.verdict is AuditVerdict.CONSISTENT
    # Two of 10,000 draws' frequencies are within .03 of the laws'; of secure noise, without a seed, a quarter is drawn.
    assert (0.2 if source == "simulated" else 0.0) < (found.epsilon or 0) <= 1.0
    assert ("nobody" in found.pair) is (relation == "add-remove-one")


@pytest.mark.few(most=1)
@pytest.mark.parametrize("source", ["simulated", "secure"])
def test_a_release_is_drawn_by_the_code_that_makes_it_in_a_session(source: Any) -> None:
    (right,) = cases_of_protocol(Doubling(Ballot()))
    assert "No law is written down" in right.note
    found = found_in(right, source, samples=50_000 if source == "simulated" else 2_000)
    assert found is not None
    assert found.verdict is not AuditVerdict.PROOF_REFUTED
    with pytest.raises(ConfigurationError, match=r"release of phase 'counts' (is|are) .*noisy"):
        cases_of_protocol(Forgetful(Ballot()))


def test_candidates_are_the_neighbors_or_else_what_the_mechanisms_take() -> None:
    class Listed(BoundedMean):
        def possible_entries(self) -> Mapping[str, Entries] | None:
            return None

    mean = Listed(Bounds(epsilon=8.0))
    low, high = mean.mechanism.value_range
    (pair,) = cases_of_protocol(mean)[0].pairs()
    assert (low, pair.name) == (0, f"0, against {high}")


def test_each_public_row_is_audited_for_itself() -> None:
    vote = Grouped(Ballot())
    with pytest.raises(ConfigurationError, match="give public columns by a scenario with parties") as caught:
        cases_of_protocol(vote)
    assert caught.value.value == ["group"]
    names = [case.name for case in cases_of_protocol(vote, np.array([[2], [1], [2]]))]
    assert names[0] == "phase 'approvals' alone, public row (1)"
    assert len(names) == 10
    cases = cases_of_protocol(vote, np.arange(100)[:, None])
    assert len(cases) == 40
    assert cases[0].note == "Of 100 kinds of public rows 8 are audited."


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(tmp_path / "site", monkeypatch, Approvals, BoundedMean)


@pytest.mark.full("two audits more")
@pytest.mark.usefixtures("strangers")
def test_a_protocol_is_audited_by_its_name_and_by_a_scenario(
    psephos: Callable[..., Any], write: Callable[[str, str], Path]
) -> None:
    ended = psephos("audit", "approvals", "--set", "epsilon=0.5", "--samples", 500, "--source", "simulated")
    assert (ended.status, "5 losses" in ended.out) == (0, True)
    assert "whole session, twice" in ended.out
    (case, *_) = cases_of_scenario("approvals", ["parameters.epsilon=0.5", "candidates=['tea', 'coffee', 'milk']"])
    assert case.proven == pytest.approx(1.5)
    text = "protocol = 'bounded-mean'\n[parameters]\nhigh = 50.0\nepsilon = 1.5\n[[voters]]\nvoter = 'ann'\nvalue = 3\n"
    path = write("mean.toml", text)
    cases = cases_of_scenario(str(path))
    assert cases[0].proven == pytest.approx(1.5)
    assert cases[0].pairs()[0].name in {"0, against 50", "50, against 0"}
    assert cases_of_scenario(str(path), ["epsilon=2.5"])[0].proven == pytest.approx(2.5)


@pytest.mark.usefixtures("strangers")
def test_a_refuted_proof_ends_with_1(
    psephos: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(tmp_path / "other", monkeypatch, SkewedVote)
    ended = psephos("audit", "skewed-vote", "--source", "simulated", "--samples", 500)
    assert ended.status == 1
    assert "proof refuted" in ended.out


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("approvals", "--set", "epsilom=1"), "--set 'epsilom' is unknown: did you mean 'epsilon'?"),
        (("approvals", "--set", "epsilon=word"), "parameters.epsilon is 'word': use a number"),
        (("approvals", "--set", "epsilon=0"), "epsilon is 0"),
        (("bounded-mean", "--set", "high=-1"), "scale is -1.0: use a positive value"),
    ],
)
def test_what_is_wrong_with_parameters_is_said_in_a_line(
    psephos: Callable[..., Any], words: tuple[object, ...], error: str
) -> None:
    assert error in psephos("audit", *words).refusal


@pytest.mark.usefixtures("strangers")
def test_a_public_row_that_leaves_no_choice_is_left_out() -> None:
    class Chosen(Grouped):
        name: ClassVar[str] = "chosen"

        def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
            if public == [1] and any(row):
                raise ValueError("group 1 approves of nobody")

    cases = cases_of_protocol(Chosen(Ballot()), np.array([[1], [2]]))
    assert {case.name.partition(", public")[2] for case in cases} == {" row (2)"}
    with pytest.raises(ConfigurationError, match=r"protocol (is|are) .*one with a loss for replace-one neighbors"):
        cases_of_protocol(Chosen(Ballot()), np.array([[1]]))


class Lonely(GeneralizedRandomizedResponse):
    """Randomized response whose loss is stated for no two rows."""

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Return True between a row and itself. See `RowMechanism.are_neighbors`."""
        return np.all(values[:, None] == other_values[None], axis=2)


class LonelyVote(Approvals):
    """Whose rows are no neighbors."""

    name: ClassVar[str] = "lonely-vote"

    def make_mechanism(self) -> RowMechanism:
        """Return the one without neighbors."""
        return Lonely(self.parameters.epsilon, 2)


def test_a_vote_whose_rows_are_nobody_s_neighbors_is_refused_before_its_audit() -> None:
    with pytest.raises(ConfigurationError, match=r"'\[0, 0\] and \[0, 1\]': use neighbors of Lonely, .* rows_of, "):
        cases_of_protocol(LonelyVote(Ballot()))


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize("source", ["approvals", "tea.toml"])
def test_a_part_of_a_system_replaces_these_cases(
    monkeypatch: pytest.MonkeyPatch, write: Callable[[str, str], Path], source: str
) -> None:
    path = write("tea.toml", "protocol = 'approvals'\n[[voters]]\nvoter = 'ann'\ntea = 1\ncoffee = 0\n")
    source = str(path) if source == "tea.toml" else source
    system = System(protocol="strangers:Approvals", mechanism_cases="nowhere:cases")
    known = {"approvals": system}
    monkeypatch.setattr(any_protocol, "systems", lambda: known)
    assert [case.name for case in cases_of_scenario(source)] == WHOLE
    known["approvals"] = dataclasses.replace(system, session_cases="nowhere:cases")
    with pytest.raises(ConfigurationError, match="Run them: psephos audit approvals"):
        cases_of_scenario(source)
