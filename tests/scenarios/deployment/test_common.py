"""Addresses that stay on this machine, and the kind of a session."""

import errno

import pytest
from deployments import SEED
from psephos.agents import Deployment, SecureNoise, Simulation
from psephos.protocol import ConfigurationError, SimulatedNoise
from psephos.protocol.messages import SessionDescriptor
from psephos.scenarios.deployment import Joining
from psephos.scenarios.deployment.common import (
    TLSKeys,
    check_address,
    check_seed,
    find_transport,
    make_mode,
    name_address_in_errors,
    with_descriptor,
)
from psephos.transports import TCPTransport, TLSTransport, Transport
from psephos.transports.keys import make_identity

ELSEWHERE = ["0.0.0.0:7000", "10.0.0.1:7000", "[::]:7000", "[fe80::1]:7000", "example.org:7000", "128.0.0.1:7000"]
HERE = ["127.0.0.1:7000", "127.8.9.10:0", "localhost:65535", "[::1]:7000"]
TCP, TLS = TCPTransport(), TLSTransport()


@pytest.mark.parametrize("transport", [TCP, TLS])
@pytest.mark.parametrize("address", HERE)
def test_an_address_of_this_machine_is_allowed(address: str, transport: Transport) -> None:
    check_address(address, field="--listen", transport=transport)


@pytest.mark.parametrize("address", ELSEWHERE)
def test_an_address_beyond_this_machine_is_for_those_who_prove_who_they_are(address: str) -> None:
    expected = "over 'tcp' nobody proves who it is; over 'tls' everybody does"
    with pytest.raises(ConfigurationError, match=expected) as caught:
        check_address(address, field="--listen", transport=TCP)
    assert (caught.value.field, caught.value.value) == ("--listen", address)
    check_address(address, field="--listen", transport=TLS)


@pytest.mark.parametrize("transport", [TCP, TLS])
@pytest.mark.parametrize("address", ["", "localhost", ":7000", "127.0.0.1:65536", "127.0.0.1:-1", "::1:7000", "a:b"])
def test_what_is_no_address_is_refused_over_every_transport(address: str, transport: Transport) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_address(address, field="--listen", transport=transport)
    expected = f"--listen is {address!r}: use HOST:PORT or [IPV6]:PORT, with a port up to 65535"
    assert str(caught.value) == expected.replace("''", "empty")


def test_tls_needs_keys_which_nothing_shows() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"transport is .tls.: use one that needs no keys",
    ):
        find_transport("tls")
    own = make_identity()
    keys = TLSKeys(own, [own.certificate])
    assert find_transport("tls", keys=keys).is_authenticated
    joining = Joining(address="a", party="ann", entries={"merger": "7351"}, seed=987654321, keys=keys)
    assert not [told for told in ("PRIVATE", "7351", "987654321") if told in f"{keys} {joining}"]


@pytest.mark.parametrize(
    ("mode", "expected"), [(None, "an id"), (SEED, SimulatedNoise(SEED, session="vote").session_id)]
)
def test_the_id_of_a_simulation_follows_from_its_seed_and_that_of_a_deployment_from_its_invitations(
    mode: int | None, expected: str
) -> None:
    descriptor = SessionDescriptor("an id", "a roster", 5)
    assert with_descriptor(make_mode("vote", seed=mode), descriptor).descriptor == SessionDescriptor(
        expected, "a roster", 5
    )


@pytest.mark.parametrize("round_number", [0, 2])
def test_with_a_seed_a_session_is_a_simulation_with_its_own_noise(round_number: int) -> None:
    mode = make_mode("vote", seed=SEED, round_number=round_number)
    assert isinstance(mode, Simulation)
    assert (mode.session, mode.record_views) == ("vote", False)
    noise = SimulatedNoise(SEED, session="vote", round_number=round_number)
    ours, expected = (
        each.uniforms(protocol="dpwevote", phase="weights", start=0, stop=3, slots=2) for each in (mode.noise, noise)
    )
    assert ours.tolist() == expected.tolist()


def test_without_a_seed_a_session_is_a_deployment() -> None:
    mode = make_mode("vote", seed=None, round_number=2)
    assert isinstance(mode, Deployment)
    assert isinstance(mode.noise, SecureNoise)


def test_a_seed_is_for_a_simulation_and_a_simulation_needs_one() -> None:
    check_seed(simulate=True, seed=0)
    check_seed(simulate=False, seed=None)
    with pytest.raises(ConfigurationError, match="give --seed together with --simulate, the same on both sides"):
        check_seed(simulate=True, seed=None)
    with pytest.raises(ConfigurationError, match="leave out --seed, or add --simulate") as caught:
        check_seed(simulate=False, seed=0)
    assert caught.value.value == "given"  # and not the seed


def test_what_the_system_says_against_an_address_names_it() -> None:
    with (
        pytest.raises(OSError, match=r"No route to host: '127\.0\.0\.1:7'"),
        name_address_in_errors("127.0.0.1:7"),
    ):
        raise OSError(errno.EHOSTUNREACH, "No route to host")


def test_an_address_at_which_another_program_listens_is_a_wrong_option() -> None:
    with (
        pytest.raises(ConfigurationError, match=r"^--web: Another program listens at 127\.0\.0\.1:7\. "),
        name_address_in_errors("127.0.0.1:7", field="--web"),
    ):
        raise OSError(errno.EADDRINUSE, "Address already in use")


def test_what_names_the_address_already_stays_as_it_is() -> None:
    with pytest.raises(OSError, match=r"^all attempts failed$"), name_address_in_errors("127.0.0.1:7"):
        raise OSError("all attempts failed")
