"""The ballot page's modules in a real browser: their bits are ours, and their party is our machine."""

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from ballot_server import open_ballot_server
from browsers import in_a_browser, open_browser
from psephos.protocol.integers import encode_row
from psephos.protocol.mechanisms import (
    FiniteChannel,
    GeneralizedRandomizedResponse,
    OneLayer,
    epsilon_of,
    two_point,
)
from psephos.protocol.messages import Report, decode
from psephos.scenarios.deployment.links import form_of
from runs import read_json
from scipy import stats
from vectors.generate import FOLDER, VECTORS
from vectors.transcripts import TRANSCRIPTS
from vectors.uniforms import OTHER_SESSIONS, SESSIONS, UNIFORMS

pytestmark = in_a_browser
MACHINE_VECTORS: Final = tuple(
    path.stem
    for path in sorted(FOLDER.glob("*_*.json"))
    if (vector := read_json(path))["protocol"] == "dpwevote"
    and vector["parameters"]["variant"] in {"joint", "printed"}
    and "inquiry" not in path.stem  # a page has its terms from elsewhere
    and path.stem not in {"bad_kind", "bad_version", "bad_session_id"}  # what no page says
)
OTHER_CENTRAL: Final = ("good_answers_central", "good_rankings_laplace", "good_rankings_exponential")
MODULES: Final = """
const [codec, machine, randomizer, systems, vote] = await Promise.all(
  ['codec', 'party', 'randomizer', 'systems', 'vote'].map((name) => import(`/vote/${name}.js`)))
const { TAG, Raw, hex, isEqual, pack, packRow, readMessage, readValue, sha256, transcriptOf } = codec
const { Party, SessionAborted } = machine
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    with open_browser() as one:
        yield one


@pytest.fixture(scope="module")
def modules(browser: Any) -> Iterator[Any]:
    """A page in which the modules can be called: `evaluate` returns what a script's function returns."""
    with open_ballot_server() as one:
        page = browser.new_page()
        page.goto(f"{one.origin}/session.json")
        yield page
        page.close()


def call(page: Any, body: str, argument: Any = None) -> Any:
    """Return what a script's body returns of `given`, in a page in which it sees the modules."""
    return page.evaluate(f"async (given) => {{ {MODULES} {body} }}", argument)


def test_its_reports_by_uniforms_are_those_of_the_vectors(modules: Any) -> None:
    entries = [entry for entry in read_json(FOLDER / f"{UNIFORMS}.json") if entry["epsilon"] is not None]
    body = """
return given.map(({ epsilon, choices, flip_probability: flip, masses, values, uniforms }) => ({
  keep_probability: masses || flip ? null : randomizer.keepProbability({ epsilon, choices }),
  reports: values.map((row, at) => row.map((value, place) =>
    randomizer.respondByUniform(value, { epsilon, choices, flip: flip ?? undefined, masses }, uniforms[at][place]))),
}))"""
    expected = [{name: entry[name] for name in ("keep_probability", "reports")} for entry in entries]
    assert sum(len(row) for entry in entries for row in entry["reports"]) > 1_000
    assert call(modules, body, entries) == expected


def test_its_probabilities_are_those_that_estimates_invert(modules: Any) -> None:
    generator = np.random.default_rng(60)
    epsilons = [1e-9, 30.0, 1.0, 0.5, math.log(3), *(10.0 ** generator.uniform(-9, 1.4, 1_000)).tolist()]
    laws = [(epsilon, choices) for epsilon in epsilons for choices in (2, 3, 100)]
    kept = [GeneralizedRandomizedResponse(*law).keep_probability for law in laws]
    body = "return given.map(([epsilon, choices]) => randomizer.keepProbability({ epsilon, choices }))"
    assert call(modules, body, laws) == kept


def table_of(epsilon: float) -> dict[str, Any]:
    """Return the law of two points for four numbers, as the page has it."""
    mechanism = two_point([Fraction(number) for number in (-3, -1, 1, 3)], epsilon=epsilon).mechanism
    assert isinstance(mechanism, FiniteChannel)
    return {"epsilon": epsilon, "choices": 4, "masses": [list(row) for row in mechanism.masses]}


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 9.0])
def test_it_draws_by_no_table_that_costs_more_than_it_says(modules: Any, epsilon: float) -> None:
    """The tables have no room to spare: what is 1e-9 cheaper is refused, as is what is no law of so many values."""
    law = table_of(epsilon)
    short, more, below = (table_of(epsilon)["masses"] for _ in range(3))
    short[1].pop()
    more[0][0] += 1
    below[0][:2] = [-1, 2**53 + 1]
    changes: list[dict[str, Any]] = [{"masses": short}, {"masses": more}, {"masses": below}, {"choices": 3}]
    changes += [{"masses": []}, {"epsilon": epsilon * (1 - 1e-9)}]
    body = "return given.map(randomizer.isPrivate)"
    assert call(modules, body, [law, *({**law, **change} for change in changes)]) == [True] + [False] * len(changes)


def test_it_draws_by_no_flip_that_costs_more_than_it_says(modules: Any) -> None:
    """All that one layer takes pass; a flip that is rarer, or makes a lie likelier than the answer, does not."""
    generator = np.random.default_rng(60)
    epsilons = [1e-9, 30.0, 1.0, math.log(3), *(10.0 ** generator.uniform(-9, 1.4, 300)).tolist()]
    laws: list[dict[str, Any]] = []
    for epsilon, size in [(epsilon, size) for epsilon in epsilons for size in (2, 3, 1_000)]:
        (flip,) = OneLayer.from_epsilon((size,), epsilon).flip_probabilities
        laws.append({"epsilon": epsilon, "choices": size, "flip": flip})
        laws.append({"epsilon": epsilon_of(0.4, size), "choices": size, "flip": 0.4})
    assert call(modules, "return given.map(randomizer.isPrivate)", laws) == [True] * len(laws)
    wrong = [{**law, "flip": law["flip"] * (1 - 1e-9)} for law in laws if law["epsilon"] > 1e-6]
    wrong += [{"epsilon": 1.0, "choices": 2, "flip": flip} for flip in (0.0, 0.6, 1.0, -1.0, 2.0**-45)]
    assert call(modules, "return given.map(randomizer.isPrivate)", wrong) == [False] * len(wrong)


def test_its_flips_are_exact(modules: Any) -> None:
    """A flip is drawn by 128 bits of which the probability is a multiple: the last draw below it flips."""
    flip = OneLayer.from_epsilon((3,), 30.0).flip_probabilities[0]
    last = int(Fraction(flip) * 2**128) - 1
    body = """
const [law, place] = given
const words = (place) => [place >> 64n, place & (2n ** 64n - 1n), 1n]
const draw = (place) => {
  const drawn = words(place)
  return randomizer.respond(0, law, () => drawn.shift())
}
return [draw(BigInt(place)), draw(BigInt(place) + 1n)]"""
    assert call(modules, body, [{"epsilon": 30.0, "choices": 3, "flip": flip}, str(last)]) == [2, 0]


def test_its_draws_from_a_table_follow_the_row_of_the_value(modules: Any) -> None:
    law = table_of(1.0)
    first: int = law["masses"][0][0]
    body = """
const [law, places] = given
return places.map((place) => randomizer.respond(0, law, () => BigInt(place)))"""
    assert call(modules, body, [law, [0, first - 1, first, 2**53 - 1]]) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"masses": [[2**52, 2**52], [2**50, 2**53 - 2**50]]}, "costs more than they say"),
        ({"votes": [[1, 0]]}, "a yes for something else"),
        ({"votes": [[0, 1], [0, 1]]}, "a yes for something else"),
        ({"votes": [[0, 2]]}, "a yes for something else"),
    ],
)
def test_terms_whose_channel_is_wrong_are_refused(modules: Any, change: dict[str, Any], reason: str) -> None:
    parameters = {"variant": "two_point", "candidates": ["a"], "weights": [1.0], "groups": [], "epsilon": 1.0}
    channel = {"votes": [[0, 1]], "choices": 2, "masses": [[2**52 + 2**49, 2**52 - 2**49], [2**52, 2**52]]}
    terms = {
        "wire": 10,
        "kind": "deployment",
        "protocol": "dpwevote",
        "session": "s",
        "descriptor": ["", "", 0],
        "trust": "local",
        "ballots": [{"name": "a", "options": ["no", "yes"]}],
        "epsilon": {"total": 1.0},
        "parameters": {**parameters, "epsilon_opinion": None, "public_weights": False},
    }
    body = """
return given.map((terms) => {
  try {
    return vote.readTerms(terms).votes
  } catch (error) {
    return error.message
  }
})"""
    good, bad = call(modules, body, [{**terms, "channel": channel}, {**terms, "channel": {**channel, **change}}])
    assert good == [[0, 1]]
    assert reason in bad


def test_its_reports_follow_the_law(modules: Any) -> None:
    """The entropy is that of a counter (SplitMix64): the same in every run. By chi-square, 1e-6 in all."""
    number, law = 20_000, GeneralizedRandomizedResponse(0.7, 5)
    flip = OneLayer.from_epsilon((5,), 0.7).flip_probabilities[0]
    body = """
let state = 60n
const mix = () => {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
  let z = state
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
  return z ^ (z >> 31n)
}
const own = crypto.getRandomValues
crypto.getRandomValues = (words) => words.map(mix)
const laws = [{ epsilon: 0.7, choices: 5 }, { epsilon: 0.7, choices: 5, flip: given[1] }]
const all = laws.flatMap((law) => [0, 1, 2, 3, 4].map((value) =>
  Array.from({ length: given[0] }, () => randomizer.respond(value, law))))
crypto.getRandomValues = own
return all"""
    for value, row in enumerate(call(modules, body, [number, flip])):
        counts = np.bincount(row, minlength=5)
        chances = np.array(law.channel_matrix()[value % 5])
        assert len(counts) == 5
        assert stats.chisquare(counts, chances * number).pvalue > 1e-7


def test_it_asks_the_browser_for_entropy_and_rejects_what_would_be_uneven(modules: Any) -> None:
    body = """
const own = crypto.getRandomValues
const words = [2n ** 64n - 1n, 7n]
crypto.getRandomValues = (asked) => asked.map(() => words.shift())
const drawn = Number(randomizer.drawBelow(3n))
crypto.getRandomValues = own
return [drawn, words.length]"""
    assert call(modules, body) == [1, 0]  # 2**64 - 1 is a multiple of 3, and would make 0 likelier


def test_its_messages_are_ours(modules: Any) -> None:
    values: list[Any] = [
        None,
        True,
        0,
        127,
        128,
        65_536,
        2**40,
        -1,
        -33,
        -70_000,
        1.5,
        -0.1,
        "Ψῆφος",
        "a" * 40,
        "b" * 300,
    ]
    values += [list(range(20)), {"": {"__proto__": 1}}, [[], {}], {f"k{i}": i for i in range(20)}, 2**53 - 1]
    packed = [msgspec.msgpack.encode(value).hex() for value in values]
    shown = [json.loads(json.dumps(value)) for value in values]
    body = "return given.map(([text, value]) => isEqual(readValue(unhex(text)), JSON.parse(value)))"
    pairs = [[text, json.dumps(value)] for text, value in zip(packed, shown, strict=True)]
    assert call(modules, body, pairs) == [True] * len(values)
    writable: list[Any] = [None, True, "Ψῆφος", "a" * 40, "b" * 300, list(range(20)), [[], [2**40]]]
    body = "return given.map((value) => hex(pack(value)))"
    assert call(modules, body, writable) == [msgspec.msgpack.encode(value).hex() for value in writable]


@pytest.mark.parametrize(
    ("low", "high", "width"), [(0, 2, 1), (-32, 127, 1), (0, 200, 2), (-128, 5, 2), (-300, 60_000, 3), (-70_000, 5, 5)]
)
def test_numbers_of_a_report_have_the_width_of_their_range(modules: Any, low: int, high: int, width: int) -> None:
    row = [low, high, 0]
    body = "return hex(packRow(given[0], given[1], given[2]))"
    assert call(modules, body, [row, low, high]) == encode_row(row, width=width).hex()


def test_its_digests_are_those_of_transcripts(modules: Any) -> None:
    cases = [case for case in read_json(FOLDER / f"{TRANSCRIPTS}.json") if case["digest"] is not None]
    body = """
return Promise.all(given.map(async ({ session, protocol, kind, messages }) => {
  const [welcome, ...others] = messages.map((message) => readMessage(unhex(message)))
  const [parameters, descriptor] = [welcome[2].raw, welcome[4].value]
  const requests = others.slice(0, -1).map((request) => request[2].raw)
  const heard = { parameters, descriptor, requests, release: others.at(-1)[1].raw }
  return hex(await sha256(transcriptOf([session, protocol, kind], heard)))
}))"""
    assert len(cases) > 10
    assert call(modules, body, cases) == [case["digest"] for case in cases]


REPLAY: Final = """
const { vector, name, reports } = given
const place = vector.roster.indexOf(name)
const read = () => {
const { parameters } = vector
const rounds = parameters.weight_collection === 'per_candidate' ? parameters.candidates.length : 1
const weight = parameters.public_weights ? 0 : 1
return vote.readTerms({
  wire: 10, ...vector, kind: 'deployment', trust: 'local', descriptor: Object.values(vector.descriptor),
  ballots: parameters.candidates.map((name) => ({ name, options: ['no', 'yes'] })),
  epsilon: { total: rounds * weight * parameters.epsilon / 2
    + parameters.candidates.length * parameters.epsilon / (1 + weight) },
})
}
const terms = given.terms ? await systems.readTerms(given.terms) : read()
terms.words[2] = vector.kind
const fresh = () => ({ reports: reports.map(unhex), requests: [], receipts: new Map() })
let past = fresh()
const come = () => new Party(terms, { place, name, row: vector.public_rows[place] }, past)
let party = come()
let isOver = false
const results = []
for (const { operation, at, message, records } of vector.operations) {
  if (at !== name) continue
  if (operation === 'start' || operation === 'restart') {
    if (operation === 'restart' && (records !== undefined || !('secret' in vector))) past = fresh()
    party = come()
    isOver = false
    results.push({ success: true, sends: [hex(party.hello())], digest: null })
  } else if (operation === 'receive') {
    const result = { success: true, sends: [], digest: null }
    results.push(result)
    if (isOver) continue
    try {
      for (const effect of await party.receive(unhex(vector.messages[message].bytes))) {
        if ('send' in effect) result.sends.push(hex(effect.send))
        if ('release' in effect) {
          isOver = true
          result.digest = effect.heard ? hex(await sha256(effect.heard)) : null
        }
      }
    } catch (error) {
      if (!(error instanceof codec.Refusal)) throw error
      isOver = true
      Object.assign(result, { success: false, sends: [] })
    }
  }
}
return results"""


def reports_in(vector: dict[str, Any]) -> dict[tuple[int, str], str]:
    """Return what the parties of a vector have reported, by step and party, in hexadecimal."""
    reports: dict[tuple[int, str], str] = {}
    for entry in vector["messages"]:
        message = decode(bytes.fromhex(entry["bytes"]))
        if isinstance(message, Report) and not entry.get("forged", False):
            reports[message.step, entry["from"]] = bytes(message.payload).hex()
    return reports


@pytest.mark.parametrize("name", MACHINE_VECTORS)
def test_a_party_of_a_vector_is_what_its_machine_does(modules: Any, name: str) -> None:
    """It sends the same bytes to the same messages, and is offended by the same; its last word is that of a journal."""
    vector = read_json(FOLDER / f"{name}.json")
    assert len(MACHINE_VECTORS) > 20
    parameters, drawn = vector["parameters"], reports_in(vector)
    num_steps = 2 * (len(parameters["candidates"]) if parameters["weight_collection"] == "per_candidate" else 1)
    num_steps = 1 if parameters["public_weights"] else num_steps
    for party in vector["roster"]:
        reports = [drawn.get((step, party), "9100") for step in range(num_steps)]
        results = call(modules, REPLAY, {"vector": vector, "name": party, "reports": reports})
        operations = [each for each in vector["operations"] if each["at"] == party and each["operation"] != "loss"]
        for operation, result in zip(operations, results, strict=True):
            sends = [vector["messages"][number]["bytes"] for number in operation["sends"]]
            if operation.get("finishes") and "secret" not in vector:
                assert result["sends"].pop() == f"9309{num_steps:02x}c400"
            assert result["success"] == operation["success"], operation
            assert result["sends"] == (sends if operation["success"] else []), operation
            if operation.get("finishes"):
                assert result["digest"] == vector["digests"][party]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_ballot_by_uniforms_gives_the_reports_of_the_vectors(modules: Any, name: str) -> None:
    vector = read_json(FOLDER / f"{name}.json")
    steps = [entry for entry in read_json(FOLDER / f"{UNIFORMS}.json") if entry["about"].startswith(f"{name},")]
    ballots: list[dict[str, Any]] = []
    for place in range(len(vector["roster"])):
        own = [(entry["about"], entry["values"][place]) for entry in steps]
        weights = [values[0] for about, values in own if "weights" in about]
        opinions = [value for about, values in own if "opinions" in about for value in values]
        ballots.append({"weight": weights[0] if weights else None, "opinions": opinions})
    terms = {
        **{field: vector[field] for field in ("session", "protocol", "parameters")},
        "wire": 10,
        "kind": "deployment",
        "trust": "local",
        "descriptor": ["", "", 0],
        "ballots": [{"name": each, "options": ["no", "yes"]} for each in vector["parameters"]["candidates"]],
        "epsilon": {"total": vector["outcome"]["epsilon_total"]},
    }
    uniforms = [
        [uniform for entry in steps for uniform in entry["uniforms"][place]] for place in range(len(vector["roster"]))
    ]
    body = """
return given.ballots.map((ballot, place) => {
  const uniforms = [...given.uniforms[place]]
  const draw = (value, law) => randomizer.respondByUniform(value, law, uniforms.shift())
  return vote.drawReports(vote.readTerms(given.terms), ballot, draw).map(hex)
})"""
    drawn = call(modules, body, {"ballots": ballots, "uniforms": uniforms, "terms": terms})
    sent = reports_in(vector)
    assert drawn == [[sent[step, party] for step in range(len(steps))] for party in vector["roster"]]


def terms_of(name: str) -> dict[str, Any]:
    """Return what /session.json would have of another system's vector, by the form that a server makes."""
    vector = read_json(FOLDER / f"{name}.json")
    return {
        **{field: vector[field] for field in ("session", "protocol", "parameters")},
        **msgspec.to_builtins(form_of(VECTORS[name]().session.protocol)),
        "wire": 10,
        "kind": "deployment",
        "descriptor": [*vector["descriptor"].values()],
    }


def ballot_of(vector: dict[str, Any], place: int) -> list[int]:
    """Return what a party of another system's vector chose, as the page asks for it: labels' places, or positions."""
    row: list[int] = vector["private_rows"][place]
    if vector["protocol"] == "fair-voting":
        return row
    parameters = vector["parameters"]
    sizes = [len(labels) for labels in parameters["answer_sets"]]
    sets = parameters["answer_set_of_task"] or [0] * len(parameters["tasks"])
    offsets = [sum(sizes[:number]) for number in sets]
    asked = [task for task in vector["public_rows"][place][1:] if task >= 0]
    return [code if code < 0 else code - offsets[task] for code, task in zip(row, asked, strict=False)]


@pytest.mark.parametrize("name", [*OTHER_SESSIONS, *OTHER_CENTRAL])
def test_a_ballot_of_another_system_gives_the_report_of_the_vectors(modules: Any, name: str) -> None:
    """By its uniforms, where it is randomized; a server that is trusted gets the row itself."""
    vector = read_json(FOLDER / f"{name}.json")
    entries = [entry for entry in read_json(FOLDER / f"{UNIFORMS}.json") if entry["about"].startswith(f"{name},")]
    parties: list[dict[str, Any]] = []
    for place, row in enumerate(vector["public_rows"]):
        uniforms: list[float] = entries[0]["uniforms"][place] if entries else []
        if vector["protocol"] == "truth-discovery":  # a place that is not answered has one, which nobody uses
            pairs = zip(uniforms, vector["private_rows"][place], strict=False)
            uniforms = [uniform for uniform, value in pairs if value >= 0]
        parties.append({"row": row, "ballot": ballot_of(vector, place), "uniforms": uniforms})
    body = """
const terms = await systems.readTerms(given.terms)
return given.parties.map(({ row, ballot, uniforms }, place) => {
  const respond = (value, law) => randomizer.respondByUniform(value, law, uniforms.shift())
  const below = (bound) => BigInt(Math.min(Math.trunc(uniforms.shift() * Number(bound)), Number(bound) - 1))
  return hex(terms.system.draw(terms, { place, name: '', row }, ballot, respond, below)[0])
})"""
    drawn = call(modules, body, {"terms": terms_of(name), "parties": parties})
    sent = reports_in(vector)
    assert drawn == [sent[0, party] for party in vector["roster"]]


@pytest.mark.parametrize("name", [*OTHER_SESSIONS, *OTHER_CENTRAL])
def test_a_party_of_another_system_is_what_its_machine_does(modules: Any, name: str) -> None:
    """It takes what the server tells it alone, and hashes what all are told."""
    vector = read_json(FOLDER / f"{name}.json")
    drawn = reports_in(vector)
    for party in vector["roster"]:
        given = {"vector": vector, "name": party, "reports": [drawn[0, party]], "terms": terms_of(name)}
        results = call(modules, REPLAY, given)
        operations = [each for each in vector["operations"] if each["at"] == party and each["operation"] != "loss"]
        for operation, result in zip(operations, results, strict=True):
            if operation.get("finishes"):
                assert result["sends"].pop() == "930901c400"
                assert result["digest"] == vector["digests"][party]
            assert result["success"]
            assert result["sends"] == [vector["messages"][number]["bytes"] for number in operation["sends"]]


def test_a_damaged_message_is_refused_and_changes_no_report(modules: Any) -> None:
    """Each message of a session with single bytes changed, left out or repeated: taken or refused, and nothing else."""
    vector = read_json(FOLDER / "good_durable.json")
    generator = random.Random(60)
    heard = [m for m in vector["messages"] if m["to"] == "p0"]
    damaged: list[str] = []
    for message in heard:
        whole = bytes.fromhex(message["bytes"])
        damaged += [whole[:place].hex() for place in range(len(whole))]
        for _ in range(1_000):
            place = generator.randrange(len(whole))
            parts = (bytes([generator.randrange(256)]), b"", whole[place : place + 1] * 2)
            damaged.append((whole[:place] + generator.choice(parts) + whole[place + 1 :]).hex())
    reports = [reports_in(vector)[step, "p0"] for step in (0, 1)]
    body = REPLAY.replace("const results = []", FUZZ)
    faults, sent = call(modules, body, {"vector": vector, "name": "p0", "reports": reports, "damaged": damaged})
    assert len(damaged) > 5_000
    assert faults == []
    expected = {bytes([0x93, 4, step]).hex() + report for step, report in enumerate(reports)} | {"930902c400"}
    assert {*sent} <= expected


FUZZ: Final = """
const faults = []
const sent = []
const whole = vector.messages.filter(({ to }) => to === name).map(({ bytes }) => unhex(bytes))
for (const text of given.damaged) {
  for (let before = 0; before <= whole.length; before++) {
    past = fresh()
    party = come()
    party.hello()
    try {
      for (const message of [...whole.slice(0, before), unhex(text)]) {
        for (const effect of await party.receive(message)) if ('send' in effect) sent.push(hex(effect.send))
      }
    } catch (error) {
      if (!(error instanceof codec.Refusal)) faults.push([text, before, String(error)])
    }
  }
}
return [faults, [...new Set(sent)]]
const results = []"""
