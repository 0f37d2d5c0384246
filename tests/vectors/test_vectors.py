"""The test vectors: replayed through the machines, and made again byte for byte."""

import hashlib
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers import SERVER, Session, error_of, messages_of, receive_at_server
from masked_sums import MaskedSession
from psephos.agents.masking import Cryptography
from psephos.protocol import ClientMachine, Inputs, ServerMachine, SessionRules, run_population
from psephos.protocol.effects import Effect, Finish, LiarNamed
from psephos.protocol.masked_sessions import masking_rules
from psephos.protocol.masking import DEEDS, Evidence, verdict
from psephos.protocol.messages import PROTOCOL_VERSION, Release, Request, SessionDescriptor, Welcome, decode, encode
from psephos.protocol.transcript import Transcript
from psephos.protocol.views import describe
from psephos.scenarios.system import find_protocol
from runs import read_json
from vectors.generate import FOLDER, NAMES, render
from vectors.recorder import Journals, in_json
from vectors.transcripts import TRANSCRIPTS
from vectors.uniforms import SESSIONS, UNIFORMS

Plain = dict[str, Any]
every_vector = pytest.mark.parametrize("path", sorted(FOLDER.glob("*_*.json")), ids=lambda path: path.stem)


def load(path: pathlib.Path) -> Any:
    return read_json(path)


def session_of(vector: Plain) -> Session:
    """Return the session that a vector describes, from its public and private fields alone."""
    kind = find_protocol(vector["protocol"])
    protocol = kind(msgspec.convert(vector["parameters"], kind.parameters_type))
    num_parties = len(vector["roster"])
    private = np.array(vector["private_rows"], dtype=np.int64).reshape(num_parties, -1)
    public = np.array(vector["public_rows"], dtype=np.int64).reshape(num_parties, -1)
    kind_of_session = MaskedSession if "signature_keys" in vector else Session
    return kind_of_session(
        protocol,
        Inputs(private, public),
        seed=vector["seed"],
        names=vector["roster"],
        rules=msgspec.convert(vector["rules"], SessionRules),
        fingerprints=vector["fingerprints"],
        descriptor=msgspec.convert(list(vector["descriptor"].values()), SessionDescriptor),
    )


def tag_of(kind: Any) -> str:
    """Return what a kind of evidence is called where it travels."""
    return kind.__struct_config__.tag


def test_there_is_a_file_for_every_vector_and_no_other() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_made_again_byte_for_byte(name: str) -> None:
    assert render(name) == (FOLDER / f"{name}.json").read_text(encoding="utf-8")


@every_vector
def test_the_messages_of_a_vector_decode_to_what_it_says(path: pathlib.Path) -> None:
    vector = load(path)
    assert vector["version"] == PROTOCOL_VERSION
    for entry in vector["messages"]:
        payload = bytes.fromhex(entry["bytes"])
        message = decode(payload)
        assert encode(message) == payload
        described: Plain = in_json(describe(message))
        assert described == {"type": entry["type"], **entry["fields"]}


@every_vector
def test_a_welcome_and_terms_carry_the_public_row_of_whom_they_are_for(path: pathlib.Path) -> None:
    vector = load(path)
    rows: dict[str, list[int]] = dict(zip(vector["roster"], vector["public_rows"], strict=True))
    carried = [
        (entry["to"], entry["fields"]["public"])
        for entry in vector["messages"]
        if entry["type"] in {"Welcome", "Terms"} and not entry.get("forged", False)
    ]
    assert carried
    assert carried == [(party, rows[party]) for party, _ in carried]


def test_there_are_vectors_whose_rows_tell_the_parties_apart() -> None:
    """Else nobody could see from the vectors that a party is told its own."""
    for name in ("good_public_weights", "good_inquiry_about_weights", "bad_changed_public_row"):
        rows = load(FOLDER / f"{name}.json")["public_rows"]
        assert len({tuple(row) for row in rows}) == 3


@every_vector
def test_the_charter_of_a_vector_has_the_digest_of_its_roster(path: pathlib.Path) -> None:
    vector = load(path)
    content = [vector["roster"], vector["fingerprints"], vector["public_rows"]]
    digest = hashlib.sha256(msgspec.msgpack.encode(content)).hexdigest()
    if "signature_keys" in vector:
        keys = [bytes.fromhex(key) for key in vector["signature_keys"]]
        digest = hashlib.sha256(msgspec.msgpack.encode([digest, vector["roster"], keys])).hexdigest()
        assert vector["descriptor"]["roster"] == digest
        return
    assert vector["descriptor"]["roster"] == ("" if vector["fingerprints"] is None else digest)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*_masked*.json")), ids=lambda path: path.stem)
def test_masked_vectors_have_the_private_keys_that_belong_to_the_public_ones_and_the_session_s_roots(
    path: pathlib.Path,
) -> None:
    vector = load(path)
    private = [Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key)) for key in vector["private_keys"]]
    assert [key.public_key().public_bytes_raw().hex() for key in private] == vector["signature_keys"]
    session = session_of(vector)
    assert isinstance(session, MaskedSession)
    assert [root.hex() for root in session.roots] == vector["roots"]


def test_vectors_hold_evidence_of_each_kind_and_a_verdict_names_whom_they_name() -> None:
    """By the rules that a vector's session has, which are those that its evidence shows."""
    kinds: list[str] = []
    for path in sorted(FOLDER.glob("bad_masked_*liar*.json")):
        vector = load(path)
        session = session_of(vector)
        phase, signing = session.protocol.masked_phase, session.roster.signing_roster
        assert phase is not None
        assert signing is not None
        rules = masking_rules(session.protocol, phase, signing, session.mode())
        for named in (own for operation in vector["operations"] for own in operation.get("names", [])):
            assert named["rules"] == json.loads(msgspec.json.encode(rules.describe()))
            evidence = msgspec.convert(named["evidence"], Evidence, strict=False)
            place = verdict(rules, evidence, Cryptography())
            assert place is not None
            assert session.names[place] == named["party"]
            kinds.append(named["evidence"]["kind"])
    assert {*kinds} == {*map(tag_of, DEEDS)}
    assert kinds.count("box") == 3  # by its dealer, by who accuses, by who proves wrongly


@every_vector
def test_a_vector_is_what_the_machines_do(path: pathlib.Path) -> None:
    vector = load(path)
    session = session_of(vector)
    journals = Journals(session, is_durable="secret" in vector, secret=bytes.fromhex(vector.get("secret", "")))
    server = journals.server()
    clients = {name: journals.client(name) for name in session.names}
    finished: list[object] = []
    sent: list[int] = []
    for operation in vector["operations"]:
        at: str = operation["at"]
        if operation["operation"] == "restart":
            if "records" in operation:
                journals.forget(at, operation["records"])
            if at == SERVER:
                server = journals.server()
            else:
                clients[at] = journals.client(at)
        machine = server if at == SERVER else clients[at]
        effects = _perform(machine, operation, vector["messages"])
        journals.keep(at, effects)
        error = error_of(effects)
        assert operation["success"] == (error is None)
        if error is not None:
            assert (type(error).__name__, str(error)) == (operation["error"], operation["reason"])
        named = [{"party": each.party, **json.loads(each.evidence)} for each in effects if isinstance(each, LiarNamed)]
        assert named == operation.get("names", [])
        produced = [
            (at, recipient, encode(message).hex())
            for recipients, message in messages_of(effects)
            for recipient in recipients
        ]
        expected = [vector["messages"][number] for number in operation["sends"]]
        assert produced == [(entry["from"], entry["to"], entry["bytes"]) for entry in expected]
        endings = [effect.result for effect in effects if isinstance(effect, Finish)]
        assert bool(endings) == operation.get("finishes", False)
        if at != SERVER:
            finished += endings
        sent += operation["sends"]
    # Every message comes from a machine, in order, or is marked as forged.
    assert sent == [number for number, entry in enumerate(vector["messages"]) if not entry.get("forged", False)]
    for outcome in finished:
        assert json.loads(json.dumps(msgspec.to_builtins(outcome))) == vector["outcome"]
    assert bool(finished) == (vector["outcome"] is not None)
    assert vector["digests"] == {**{name: clients[name].transcript for name in clients}, SERVER: server.transcript}


@every_vector
def test_a_good_vector_has_no_failure_and_a_bad_one_has(path: pathlib.Path) -> None:
    failures = [operation for operation in load(path)["operations"] if not operation["success"]]
    assert bool(failures) == path.stem.startswith("bad_")


@every_vector
def test_the_outcome_of_a_session_of_all_is_that_of_the_arrays(path: pathlib.Path) -> None:
    missing = ("three_of_four", "rankings_of_four", "rankings_of_nobody", "masked_leaving", "durable_late")
    if not path.stem.startswith("good_") or path.stem.removeprefix("good_").startswith(missing):
        return  # somebody is missing there
    vector = load(path)
    session = session_of(vector)
    result = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    assert json.loads(json.dumps(msgspec.to_builtins(result.outcome))) == vector["outcome"]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*_durable*.json")), ids=lambda path: path.stem)
def test_what_is_said_again_after_a_restart_has_the_same_bytes(path: pathlib.Path) -> None:
    said: dict[tuple[object, ...], set[str]] = {}
    for entry in load(path)["messages"]:
        if entry["type"] in {"Report", "Request", "Release", "Welcome"}:
            key = entry["type"], entry["from"], entry["to"], entry["fields"].get("phase")
            said.setdefault(key, set()).add(entry["bytes"])
    assert {key: len(spellings) for key, spellings in said.items() if len(spellings) > 1} == {}


def test_transcripts_have_the_digests_that_their_file_says() -> None:
    cases: Sequence[Plain] = load(FOLDER / f"{TRANSCRIPTS}.json")
    for case in cases:
        words = {name: case[name] for name in ("session", "protocol", "kind", "num_steps")}
        transcript = Transcript(**words)
        for written in case["messages"]:
            message = decode(bytes.fromhex(written))
            assert isinstance(message, (Welcome, Request, Release))
            transcript.add(message)
        assert transcript.digest == case["digest"], case["about"]
        if case["digest"] is not None:
            assert hashlib.sha256(bytes.fromhex(case["hashed"])).hexdigest() == case["digest"]
    digests = [case["digest"] for case in cases]
    same = [case["about"] for case in cases if case["digest"] == digests[0]]
    assert same == [cases[0]["about"], cases[-4]["about"], cases[-3]["about"]]
    others = [digest for digest in digests if digest not in {digests[0], None}]
    assert len(set(others)) == len(others)


@pytest.mark.parametrize("name", SESSIONS)
def test_uniforms_are_those_by_which_the_parties_of_vectors_drew(name: str) -> None:
    vector = load(FOLDER / f"{name}.json")
    entries = [entry for entry in load(FOLDER / f"{UNIFORMS}.json") if entry["about"].startswith(f"{name},")]
    sent = {
        (m["fields"]["phase"], m["from"]): m["fields"]["payload"] for m in vector["messages"] if m["type"] == "Report"
    }
    drawn = {
        (step, party): row
        for step, entry in enumerate(entries)
        for party, row in zip(vector["roster"], entry["reports"], strict=True)
    }
    assert drawn == sent


def _perform(machine: ServerMachine | ClientMachine, operation: Plain, messages: Sequence[Plain]) -> list[Effect]:
    kind: str = operation["operation"]
    match kind:
        case "start" | "restart":
            return machine.start()
        case "receive":
            number: int = operation["message"]
            message = decode(bytes.fromhex(messages[number]["bytes"]))
            if isinstance(machine, ServerMachine):
                fingerprint: str = operation.get("fingerprint", "")
                return receive_at_server(machine, operation["from"], message, fingerprint=fingerprint)
            return machine.receive(operation["from"], message)
        case "loss":
            return machine.receive_loss(operation["from"])
        case "timeout":
            assert isinstance(machine, ServerMachine)
            return machine.receive_timeout(operation["phase"])
        case other:
            raise AssertionError(f"there is no operation {other!r}")
