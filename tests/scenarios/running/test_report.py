"""What a terminal shows: every number that a reader decides by, and plain text where nobody watches."""

import io
import math

import msgspec
import pytest
from makers import as_usual, loss_of, vote_of
from pages import ESTIMATE, Page, page_of
from psephos.protocol import Phase, SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import make_offers
from psephos.protocol.effects import Closed
from psephos.protocol.phases import Entries, Inputs
from psephos.protocol.privacy import (
    LedgerEntry,
    NeighboringRelation,
    PrivacyLoss,
    RandomizedResponse,
    SelfComposed,
    TrustModel,
)
from psephos.protocol.truth_discovery import NO_TASK, TruthDiscovery
from psephos.protocol.truth_discovery import Parameters as CrowdParameters
from psephos.protocol.truth_discovery.parameters import MechanismName
from psephos.scenarios.dpwevote.variants import VoteVariants
from psephos.scenarios.experiments.variants import table_of
from psephos.scenarios.experiments.variants_shown import show_variants
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.report import (
    show_heading,
    show_ledger,
    show_phase,
    show_privacy,
    show_scenarios,
)
from rich.console import Console

PARTIES = {f"p{n}": (1 + n % 3, n % 2, int(n % 5 > 0)) for n in range(60)}


vote = as_usual(vote_of, candidates=("rail", "[fish]"))


def test_a_heading_says_who_trusts_whom() -> None:
    facts = ["27 partners", "protocol dpwevote"]
    page = page_of(show_heading, title="A [vote]", facts=facts, description="Made\nup.", trust="  Nobody\nis trusted.")
    assert "A [vote]" in page.text
    assert "27 partners · protocol dpwevote" in page.text
    assert "Made up." in page.text
    assert "Trust: Nobody is trusted." in page.text


def test_a_heading_leaves_out_what_is_not_said() -> None:
    page = page_of(show_heading, title="A vote", facts=["one"], description="", trust=" ")
    assert page.text.split() == ["A", "vote", "one"]


def test_a_phase_says_how_many_came_and_what_it_publishes() -> None:
    page = Page()
    show_phase(page.console, Closed("join", 60, 0, None))
    show_phase(page.console, Closed("opinions", 1200, 40, None))
    joined, reported = page.text.splitlines()
    assert joined.split() == ["join", "60", "joined"]
    assert reported.split() == ["opinions", "1,200", "of", "1,240", "reported"]


def test_a_weights_phase_shows_the_quota_that_it_publishes() -> None:
    ballot = vote()
    columns = zip(*PARTIES.values(), strict=True)
    table: dict[str, Entries] = dict(zip(("weight", "rail", "[fish]"), map(list, columns), strict=True))
    lines: list[str] = []

    def show(phase: Phase, tally: Tally, published: msgspec.Struct | None) -> None:
        lines.append(page_of(show_phase, Closed(phase.name, tally.num_reports, 0, published)).text)

    run_population(ballot, ballot.encode(table), noise=SimulatedNoise(8, session="s"), on_phase=show)
    assert "quota" in lines[0]
    assert ESTIMATE.search(lines[0])
    assert "quota" not in lines[1]


def test_the_price_is_shown_by_phase_and_in_all() -> None:
    page = page_of(show_privacy, vote(epsilon=2.0))
    lines = [line.split() for line in page.text.splitlines()]
    assert ["weights", "k-RR", "weight", "1", "1", "1"] in lines
    assert ["opinions", "randomized", "response", "opinion", "2", "2", "2"] in lines
    assert ["in", "all", "3", "3", "3"] in lines
    assert "replace-one neighbors, local model" in page.text


def entries(num_persons: int = 1) -> list[LedgerEntry]:
    """Return the ledger of two partners, or of arrays."""
    ballot = vote()
    persons = ["ann", "bob"] if num_persons == 1 else [f"each of {num_persons} partners"]
    return [
        LedgerEntry.from_loss(loss, person=person, session="s", phase=phase.name, num_persons=num_persons)
        for person in persons
        for phase in ballot.phases
        for loss in phase.losses
    ]


def test_a_ledger_is_shown_by_phase_with_what_each_paid_at_most() -> None:
    page = page_of(show_ledger, entries(), party=None, delta=None)
    lines = [line.split() for line in page.text.splitlines()]
    assert ["weights", "k-RR", "weight", "2", "0.5", "0.5"] in lines
    assert ["opinions", "randomized", "response", "opinion", "2", "1", "1"] in lines
    assert "each of 2 at most: ε proven = 1.5" in page.text
    assert "parallel composition" in page.text
    assert "session s\n" in page.text
    assert page.text.count("replace-one neighbors, local model") == 1
    assert "δ" not in page.text


def test_a_ledger_of_one_party_is_that_partys() -> None:
    page = page_of(show_ledger, entries(), party="bob", delta=1e-6)
    assert "bob in all: ε proven = 1.5, or ε = 1.5 at δ = 1e-06" in page.text
    assert "parallel" not in page.text
    assert (
        page.text.count("Whoever had no idea (50 : 50) ends at most 81.8 % sure of one person's values (ε = 1.5).") == 1
    )
    assert "Little protection" not in page.text


def test_a_ledger_that_protects_little_says_so() -> None:
    of_many = [msgspec.structs.replace(entry, session=str(number)) for number in range(4) for entry in entries()]
    page = page_of(show_ledger, of_many, party="ann", delta=None)
    assert "Little protection: at ε = 6 in all someone can become over 95 % sure" in page.text


def test_a_ledger_of_arrays_counts_everybody() -> None:
    page = page_of(show_ledger, entries(num_persons=5000), party=None, delta=0.3)
    assert "each of 5,000 at most: ε proven = 1.5, or ε = " in page.text
    tighter = float(page.text.partition("or ε = ")[2].split()[0])
    assert 0 < tighter < 1.5


def crowd(mechanism: MechanismName = "two_layer") -> tuple[TruthDiscovery, Inputs]:
    """Return 5 workers of whom 3 give 2 answers, 1 gives 5, and 1 none."""
    tasks = [f"q{number}" for number in range(5)]
    protocol = TruthDiscovery(
        CrowdParameters(tasks=tuple(tasks), answer_sets=(("no", "yes"),), max_answers=5, mechanism=mechanism)
    )
    asked = [tasks[:2], tasks[1:3], tasks[3:], tasks, []]
    return protocol, protocol.encode({"tasks": asked, "answers": [["yes"] * len(names) for names in asked]})


def of_arrays(protocol: TruthDiscovery, inputs: Inputs, *, phase_name: str = "answers") -> list[LedgerEntry]:
    """Return the ledger that the array path keeps: a line for each group of workers who pay alike."""
    return [
        LedgerEntry.from_loss(loss, person=f"each of {n} workers {who}", session="s", phase=phase_name, num_persons=n)
        for phase in protocol.phases
        for who, n, losses in phase.loss_groups(inputs.public)
        for loss in losses
    ]


# At ε = 1, worked out in the joint law's tests: J and R of 5 answers, by two layers (reading T3).
JOINT, ONE = 3.71088, 1.68059


def test_what_one_part_of_a_unit_loses_is_below_it_and_in_no_total() -> None:
    page = page_of(show_privacy, crowd()[0])
    (of_all,) = [line for line in page.lines if line[:2] == ["answers", "two_layer"]]
    (part,) = [line for line in page.lines if line[:2] == ["of", "which"]]
    (total,) = [line for line in page.lines if line[:2] == ["in", "all"]]
    assert page.lines.index(part) == page.lines.index(of_all) + 1
    assert part[:-2] == ["of", "which", "one", "answer"]
    assert [float(number) for number in part[-2:]] == pytest.approx([1, ONE], abs=1e-5)
    for line in (of_all, total):
        assert line[-3] == "1"
        assert [float(number) for number in line[-2:]] == pytest.approx([5, JOINT], abs=1e-4)


def test_a_claim_that_holds_for_less_than_is_protected_is_named() -> None:
    page = page_of(show_privacy, crowd()[0])
    assert "ε proven of one answer is more than claimed" in page.text
    for protocol in (crowd("one_layer")[0], vote()):
        page = page_of(show_privacy, protocol)
        assert "more than claimed" not in page.text


def test_a_party_that_pays_less_than_others_is_shown_its_own_price() -> None:
    protocol, inputs = crowd("one_layer")
    page = page_of(show_privacy, protocol, public=inputs.public[0].tolist())
    assert ["Your", "privacy", "loss"] in [line[:3] for line in page.lines]
    (total,) = [line for line in page.lines if line[:2] == ["in", "all"]]
    assert total[-2:] == ["2", "2"]
    page = page_of(show_privacy, protocol, public=inputs.public[4].tolist())
    assert next(line for line in page.lines if line[:2] == ["in", "all"])[-3:] == ["0", "0", "0"]
    assert "Your privacy loss: none." in page.text


def test_a_ledger_of_groups_has_a_line_a_mechanism_and_the_total_of_the_worst() -> None:
    page = page_of(show_ledger, of_arrays(*crowd("one_layer")), party=None, delta=None)
    (line,) = [line for line in page.lines if line[:2] == ["answers", "one_layer"]]
    assert line[-7:] == ["4", "2", "to", "5", "2", "to", "5"]
    (part,) = [line for line in page.lines if line[:2] == ["of", "which"]]
    assert part[-2:] == ["1", "1"]
    assert "each of 4 at most: ε proven = 5\n" in page.text


def test_the_ledger_of_one_group_is_that_groups() -> None:
    page = page_of(show_ledger, of_arrays(*crowd("one_layer")), party="each of 3 workers with 2 answers", delta=None)
    assert "each of 3 at most: ε proven = 2\n" in page.text
    assert " to " not in page.text.partition("each of 3")[0]


def test_where_phases_have_other_groups_the_total_is_of_who_paid_most_in_each() -> None:
    protocol, inputs = crowd("one_layer")
    again = Inputs(inputs.private, inputs.public.copy())
    again.public[:3, 2] = NO_TASK  # these are asked one task in the second phase
    ledger = of_arrays(protocol, inputs) + of_arrays(protocol, again, phase_name="more")
    page = page_of(show_ledger, ledger, party=None, delta=None)
    assert "each of 4 at most: ε proven = 10\n" in page.text


def test_tighter_composition_is_of_whoever_it_costs_most() -> None:
    """Sixty small losses add to more than one large one, and compose to less."""
    (loss,) = vote(epsilon=2.0, public_weights=True).phases[0].losses[:1]
    small = RandomizedResponse(epsilon=0.01, num_choices=2)
    many = msgspec.structs.replace(loss, event=SelfComposed(small, 300), claimed=3.0, proven=math.nan)
    least = msgspec.structs.replace(loss, event=small, claimed=0.01, proven=0.01)
    few = msgspec.structs.replace(loss, event=RandomizedResponse(epsilon=2.9, num_choices=2), claimed=2.9, proven=2.9)
    ledger = [
        LedgerEntry.from_loss(paid, person=person, session="s", phase="opinions")
        for person, paid in (("many", many), ("few", few), ("also few", few), ("least", least))
    ]
    page = page_of(show_ledger, ledger, party=None, delta=1e-6)
    assert "ε proven = 3, or ε = " in page.text
    tighter = float(page.text.partition("or ε = ")[2].split()[0])
    assert 2.8 < tighter <= 2.9
    page = page_of(show_ledger, ledger, party="many", delta=1e-6)
    assert float(page.text.partition("or ε = ")[2].split()[0]) < 1.5


def hidden(epsilon: float) -> PrivacyLoss:
    """Return the loss of a release that hides who took part."""
    return loss_of(
        epsilon, mechanism="laplace", relation=NeighboringRelation.ADD_OR_REMOVE_ONE, model=TrustModel.CENTRAL
    )


def test_losses_of_two_relations_are_totalled_in_one_and_the_line_says_how() -> None:
    """Two runs of Algorithm 1: what is shown is what reversing a ranking attains."""
    added = hidden(1.0)
    replaced = msgspec.structs.replace(added, relation=NeighboringRelation.REPLACE_ONE)
    ledger = [
        LedgerEntry.from_loss(loss, person="ann", session=session, phase="rankings")
        for session, loss in (("spring", replaced), ("autumn", added))
    ]
    page = page_of(show_ledger, ledger, party=None, delta=None)
    assert "ann in all: ε proven = 3\n" in page.text
    assert "in all for replace-one neighbors: an add-remove-one loss counts twice, since a" in page.text
    page = page_of(show_ledger, ledger[1:], party=None, delta=None)
    assert "ann in all: ε proven = 1\n" in page.text
    assert "in all for replace-one neighbors: ε proven = 2, since a replacement is a removal" in page.text


def test_a_total_of_both_models_says_against_whom() -> None:
    (local,) = vote(epsilon=1.0, public_weights=True).phases[0].losses[:1]
    central = msgspec.structs.replace(local, model=TrustModel.CENTRAL)
    ledger = [LedgerEntry.from_loss(loss, person="ann", session="s", phase="p") for loss in (local, central)]
    page = page_of(show_ledger, ledger, party=None, delta=0.1)
    assert f"ann in all: ε proven = {2 * local.proven:g}, or ε = 1.79" in page.text
    assert "at δ = 0.1 for sessions fixed in advance" in page.text
    assert "in all against whoever sees the releases, and no view of a trusted server" in page.text
    page = page_of(show_ledger, ledger[:1], party=None, delta=None)
    assert "in all against" not in page.text


@pytest.mark.parametrize(
    ("model", "mechanism", "said"),
    [
        (TrustModel.DISTRIBUTED, "shares", f"{TrustModel.DISTRIBUTED.adversary} (semi-honest server only)"),
        (TrustModel.CENTRAL, "noise", ", with as many parties as the session states (semi-honest server only)"),
    ],
)
def test_a_total_is_bounded_as_all_of_its_parts_need(model: TrustModel, mechanism: str, said: str) -> None:
    circle = loss_of(mechanism="shares, semi-honest server only", unit="vote", model=TrustModel.DISTRIBUTED)
    other = msgspec.structs.replace(circle, model=model, mechanism=mechanism)
    ledger = [LedgerEntry.from_loss(loss, person="ann", session="s", phase="p") for loss in (other, circle)]
    page = page_of(show_ledger, ledger, party=None, delta=None)
    told = " ".join(page.text.split())
    assert f"in all against {said}" in told.replace(TrustModel.CENTRAL.adversary, "")


def test_scenarios_are_listed_with_what_they_decide() -> None:
    rows = [("council", "dpwevote", "A vote", "weights"), ("survey", "mean", "Salaries", "")]
    page = page_of(show_scenarios, rows, origins={"weights": "3 kB, from there"}, variable="FOLDER_OF_DATA")
    assert ["survey", "mean", "Salaries"] in [line.split() for line in page.text.splitlines()]
    assert ["council", "dpwevote", "A", "vote", "weights"] in [line.split() for line in page.text.splitlines()]
    assert "weights: 3 kB, from there" in page.text
    assert "FOLDER_OF_DATA" in page.text


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_words(width: int) -> None:
    page = Page(width=width)
    show_privacy(page.console, vote())
    show_ledger(page.console, entries(), party=None, delta=None)
    assert {"Mechanism", "randomized", "response"} <= set(page.text.split())
    assert "…" not in page.text
    assert max(map(len, page.text.splitlines())) <= width


def test_variants_are_compared_at_one_price_and_the_best_is_bold() -> None:
    console = Console(file=io.StringIO(), width=120, highlight=False, force_terminal=True, color_system="standard")
    settings = ["epsilon=1.5", "partners.count=400", 'candidates=["a", "b"]', "partners.yes_shares=[0.5, 0.5]"]
    table = table_of(VoteVariants, load_scenario("consortium", settings), trials=2)
    parameters = table.resolved.protocol.parameters
    show_variants(console, table, table.offers())
    assert isinstance(console.file, io.StringIO)
    lines = {line.split()[0]: line for line in console.file.getvalue().splitlines() if line.strip()}
    offers = {offer.variant: offer for offer in make_offers(parameters)}
    bold = [name for name, line in lines.items() if line.startswith("\x1b[1;32m")]
    assert len(bold) == 2  # and of the mechanisms that count weights
    assert "optimal" in bold[0]
    for name in ("two_point", "signed_rr"):
        *_, epsilon, total, variance, error = lines[name].split()
        assert (float(epsilon), float(total)) == (1.5, 3.0)  # two candidates
        assert float(variance) == pytest.approx(offers[name].worst_variance, rel=1e-4)
        assert float(error.replace(",", "")) == pytest.approx((400 * offers[name].worst_variance) ** 0.5, rel=1e-3)
