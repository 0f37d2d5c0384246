"""A masked vote's modules of the ballot page, in Node.js: their bits are ours, and their party is our machine."""

import hashlib
import random
from typing import Any, Final

import numpy as np
import pytest
from masked_sums import SESSION_ID
from node_page import call, in_node
from psephos.agents.masking import Cryptography
from psephos.protocol import Inputs, SimulatedNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.masking.scalars import ORDER, encode_scalar, montgomery_of
from psephos.protocol.mechanisms import NoiseShare
from psephos.protocol.population import draw_reports
from runs import read_json
from vectors.generate import FOLDER

pytestmark = in_node
TOOLS: Final = Cryptography()
VECTORS: Final = tuple(path.stem for path in sorted(FOLDER.glob("*_masked*.json")))


def noisy_rows(vector: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a vector's parties with the noise that its seed gives them."""
    vote = DPWeVote(Parameters(**vector["parameters"]))
    (phase,) = vote.phases
    private, public = (np.array(vector[f"{kind}_rows"], dtype=np.int64) for kind in ("private", "public"))
    noise = SimulatedNoise(vector["seed"], session=vector["session"])
    inputs = Inputs(private, public.reshape(len(private), -1))
    reports = draw_reports(phase, inputs, noise=noise, protocol=vote.name, start=0)
    return [[str(number) for number in row] for row in reports.tolist()]


PARTY: Final = """
const { vector } = given
const play = async (place, row, isReloaded) => {
const name = vector.roster[place]
const { parameters } = vector
const request = vector.messages.find((message) => message.type === 'Request' && message.fields.phase === 0)
const [others] = codec.readMessage(unhex(request.bytes))[2].value
const { id, expires } = vector.descriptor
const { threshold, colluders } = parameters
const masked = { ...masks, phase: 'votes', parties: vector.roster.length, threshold, colluders, width: row.length }
const words = [vector.session, vector.protocol, vector.kind]
const terms = { words, parameters, descriptor: [id, others, expires], masked, steps: [] }
const pkcs8 = (key) => unhex('302e020100300506032b657004220420' + key)
const signing = await crypto.subtle.importKey('pkcs8', pkcs8(vector.private_keys[place]), 'Ed25519', false, ['sign'])
const root = await crypto.subtle.importKey('raw', unhex(vector.roots[place]), 'HKDF', false, ['deriveBits'])
const sign = async (message) => new Uint8Array(await crypto.subtle.sign('Ed25519', signing, message))
const secrets = { root, sign, key: unhex(vector.signature_keys[place]), row: row.map(BigInt) }
const seat = { place, name, row: vector.public_rows[place] }
const come = (past) => new party.Party(terms, seat, past, secrets)
"""
REPLAY: Final = (
    PARTY
    + """
let one = come({ reports: [], requests: [], receipts: new Map() })
const kept = new Map()
const results = []
let heard = null
let isOver = false
let welcome = null
for (const { operation, at, message } of vector.operations) {
  if (at !== name || operation === 'loss') continue
  const sends = []
  let problem = null
  if (operation === 'start') sends.push(one.hello())
  else if (!isOver) { // what was on its way when it left is not heard
    const bytes = unhex(vector.messages[message].bytes)
    if (vector.messages[message].type === 'Welcome') welcome = bytes
    if (isReloaded && kept.size) { // each message finds a page that was opened anew
      const past = { reports: [], requests: [], receipts: new Map() }
      kept.forEach(([request, report], step) => { [past.requests[step], past.reports[step]] = [request, report] })
      secrets.row = kept.has(party.MASKED) ? null : secrets.row
      one = come(past)
      await one.receive(welcome)
    }
    try {
      for (const effect of await one.receive(bytes)) {
        if ('send' in effect) sends.push(effect.send)
        else if ('keep' in effect) kept.set(Number(effect.keep.split(' ')[1]), effect.value)
        else heard = effect.heard
      }
    } catch (error) {
      if (!(error instanceof codec.Refusal)) throw error
      problem = error.message
      isOver = true
    }
  }
  results.push({ sends: sends.map(hex).filter((text) => !text.startsWith('93090')), problem })
}
return { results, digest: heard && hex(await codec.sha256(heard)) }
}
return Promise.all(given.plays.map((each) => play(...each)))
"""
)


@pytest.mark.parametrize("name", VECTORS)
def test_its_party_is_our_machine_in_masked_vectors(name: str) -> None:
    """Each honest party says our bytes, also where the page was opened anew before each message, and leaves as ours."""
    vector = read_json(FOLDER / f"{name}.json")
    rows = noisy_rows(vector)
    assert vector["descriptor"]["id"] == SESSION_ID
    liars = {named["party"] for operation in vector["operations"] for named in operation.get("names", ())}
    places = [place for place, party in enumerate(vector["roster"]) if party not in liars]
    plays = [(place, rows[place], is_reloaded) for place in places for is_reloaded in (False, True)]
    for (place, _, _), played in zip(plays, call(REPLAY, {"vector": vector, "plays": plays}), strict=True):
        party = vector["roster"][place]
        own = [each for each in vector["operations"] if each["at"] == party and each["operation"] != "loss"]
        for operation, result in zip(own, played["results"], strict=True):
            said = [vector["messages"][each]["bytes"] for each in operation["sends"]]
            if operation["success"]:
                assert result == {"sends": said, "problem": None}, operation
            else:
                assert result["sends"] == [], operation
                assert result["problem"], operation  # in words of its own
        if played["digest"] is not None:
            assert played["digest"] == vector["digests"][party]


FUZZ: Final = (
    PARTY
    + """
const faults = []
const heard = vector.messages.filter(({ to }) => to === name).map(({ bytes }) => unhex(bytes))
for (const [before, text] of given.damaged) {
  const one = come({ reports: [], requests: [], receipts: new Map() })
  try {
    for (const message of [...heard.slice(0, before), unhex(text)]) await one.receive(message)
  } catch (error) {
    if (!(error instanceof codec.Refusal)) faults.push([before, text, String(error.stack)])
  }
}
return faults
}
return play(0, given.row)
"""
)


def test_a_damaged_message_of_a_masked_vote_is_taken_or_refused() -> None:
    """Single bytes changed, left out or repeated, in each message that a party hears: no other error."""
    vector = read_json(FOLDER / "bad_masked_liar_about_a_box.json")
    heard = [bytes.fromhex(message["bytes"]) for message in vector["messages"] if message["to"] == "p0"]
    generator = random.Random(62)
    damaged: list[tuple[int, str]] = []
    for number, whole in enumerate(heard):
        for _ in range(8):
            place = generator.randrange(min(len(whole), 400))
            parts = (bytes([generator.randrange(256)]), b"", whole[place : place + 1] * 2)
            damaged.append((number, (whole[:place] + generator.choice(parts) + whole[place + 1 :]).hex()))
    assert len(damaged) > 60
    assert call(FUZZ, {"vector": vector, "row": noisy_rows(vector)[0], "damaged": damaged}) == []


def test_its_boxes_and_streams_are_those_of_rfc_8439() -> None:
    """Sections 2.3.2, 2.4.2, 2.5.2 and 2.8.2."""
    text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
    text += "sunscreen would be it."
    body = """
const bytes = (first) => Uint8Array.from({ length: 32 }, (_, at) => first + at)
const text = codec.utf8(given)
const about = unhex('50515253c0c1c2c3c4c5c6c7')
const box = chacha.seal(bytes(0x80), text, about, unhex('070000004041424344454647'))
const poly = unhex('85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b')
const changed = box.slice()
changed[3] ^= 1
const stream = chacha.keyStream(bytes(0), 114, 1, unhex('000000000000004a00000000'))
return [
  chacha.keyStream(bytes(0), 64, 1, unhex('000000090000004a00000000')),
  text.map((byte, at) => byte ^ stream[at]).slice(0, 16),
  chacha.poly1305(poly, codec.utf8('Cryptographic Forum Research Group')),
  box.slice(0, 16), box.slice(-16),
  new TextDecoder().decode(chacha.open(bytes(0x80), box, about, unhex('070000004041424344454647'))),
  chacha.open(bytes(0x80), changed, about, unhex('070000004041424344454647')),
]"""
    second = "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    assert call(body, text) == [
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e" + second,
        "6e2e359a2568f98041ba0728dd0d6981",
        "a8061dc1305136c6c22b8baf0c0127a9",
        "d31a8d34648e60db7b86afbc53ef7ec2",
        "1ae10b594f09e26a7e902ecbd0600691",
        text,
        None,
    ]


def test_its_digests_boxes_and_points_are_ours() -> None:
    generator = random.Random(60)
    messages = [generator.randbytes(size) for size in (0, 1, 63, 64, 127, 128, 129, 256, 1_000)]
    key, person = generator.randbytes(32), b"psephos-masking2"
    body = """
const [key, ...messages] = given.map(unhex)
return messages.map((message) => [blake2.blake2b(message, 32, codec.utf8('psephos-masking2')),
  chacha.seal(key, message, codec.utf8('about')), chacha.keyStream(key, message.length)])"""
    assert call(body, [key.hex(), *(message.hex() for message in messages)]) == [
        [
            hashlib.blake2b(message, digest_size=32, person=person).hexdigest(),
            TOOLS.seal(key, message, b"about").hex(),
            TOOLS.expand(key, len(message)).hex(),
        ]
        for message in messages
    ]
    scalars = [encode_scalar(each) for each in (1, 2, ORDER - 1, *(generator.randrange(ORDER) for _ in range(8)))]
    points = [TOOLS.base(scalar) for scalar in scalars]
    pairs = list(zip(scalars, points[::-1], strict=True))
    body = """
return Promise.all(given.map(async ([scalar, point]) => {
  const number = chacha.fromBytes(unhex(scalar))
  return [group.base(number), group.times(number, unhex(point)), group.plus(group.base(number), unhex(point)),
    await (await masks.agreement(number))(unhex(point)), group.isPoint(unhex(point))]
}))"""
    assert call(body, [[scalar.hex(), point.hex()] for scalar, point in pairs]) == [
        [
            TOOLS.base(scalar).hex(),
            TOOLS.times(scalar, point).hex(),
            TOOLS.plus(TOOLS.base(scalar), point).hex(),
            montgomery_of([TOOLS.times(scalar, point)])[0].hex(),
            True,
        ]
        for scalar, point in pairs
    ]


def test_what_is_no_point_for_us_is_none_for_it() -> None:
    """The zero, points of low order and of mixed order, ones beyond the field, and random bytes."""
    generator = random.Random(61)
    of_order_4 = bytes(32)
    mixed = TOOLS.plus(TOOLS.base(encode_scalar(5)), of_order_4)
    tried = [bytes(32), (1).to_bytes(32, "little"), mixed, b"\xff" * 32, (2**255 - 18).to_bytes(32, "little")]
    tried += [generator.randbytes(32) for _ in range(30)] + [TOOLS.base(encode_scalar(7))]
    expected = [TOOLS.is_point(each) for each in tried]
    assert expected.count(True) >= 1
    assert call("return given.map((each) => group.isPoint(unhex(each)))", [each.hex() for each in tried]) == expected


class Counter:
    """Uniform integers that follow from a number, the same in both languages."""

    def __init__(self, state: int) -> None:
        self._state = state

    def __call__(self, bound: int) -> int:
        self._state = (self._state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) % 2**128
        return self._state * bound >> 128


def test_its_shares_of_noise_are_ours_by_given_uniforms() -> None:
    laws = [(0.0625, 3), (0.5, 1), (1.0, 2), (2.0, 4), (6.5, 1600), (1000.3, 7), (2.0**13, 3), (3.3e6, 2), (1 / 3, 5)]
    body = """
return given.map(([scale, planned]) => {
  let state = 7n
  const draw = (bound) => {
    state = BigInt.asUintN(128, state * 0x2360ed051fc65da44385df649fccf645n + 0x5851f42d4c957f2d14057b7ef767814fn)
    return (state * bound) >> 128n
  }
  return sums.addShares(Array.from({ length: 60 }, (_, at) => at - 30), { scale, planned }, draw)
})"""
    row = list(range(-30, 30))
    shares = [NoiseShare(scale, 1, 30, planned).randomize_exactly(row, Counter(7)) for scale, planned in laws]
    assert call(body, laws) == [[str(number) for number in each] for each in shares]
    assert sum(number != own for each in shares for number, own in zip(each, row, strict=True)) > 100
