"""Events are frozen values: equal if the same thing happened, usable as keys, and read back as they were written."""

import msgspec
import pytest
from psephos.protocol.privacy import (
    Composed,
    DiscreteLaplaceNoise,
    LocalRandomizer,
    NonPrivate,
    NoRelease,
    PrivacyEvent,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    SharedDiscreteLaplace,
)

EVENTS: list[PrivacyEvent] = [
    NoRelease(),
    NonPrivate(),
    RandomizedResponse(0.5, 3),
    DiscreteLaplaceNoise(4.0, 2),
    LocalRandomizer(0.5),
    PureMechanism(0.5),
    SharedDiscreteLaplace(4.0, 2, 5, 4, 1),
    Composed((NoRelease(), NonPrivate())),
    SelfComposed(NonPrivate(), 2),
]


def test_different_events_are_different_keys() -> None:
    assert len(set(EVENTS)) == len(EVENTS)


@pytest.mark.parametrize("event", EVENTS)
def test_the_same_event_is_the_same_key(event: PrivacyEvent) -> None:
    copy = msgspec.structs.replace(event)
    assert copy == event
    assert hash(copy) == hash(event)


@pytest.mark.parametrize("event", EVENTS)
def test_a_written_event_is_read_back_as_itself(event: PrivacyEvent) -> None:
    assert msgspec.json.decode(msgspec.json.encode(event), type=PrivacyEvent) == event


@pytest.mark.parametrize(
    "event",
    [RandomizedResponse(0.5, 3), DiscreteLaplaceNoise(4.0, 2), PureMechanism(0.5), SelfComposed(NonPrivate(), 2)],
)
def test_events_cannot_be_changed(event: PrivacyEvent) -> None:
    with pytest.raises(AttributeError):
        setattr(event, msgspec.structs.fields(event)[0].name, 0)


@pytest.mark.parametrize(
    "changed", [RandomizedResponse(0.5, 4), RandomizedResponse(0.25, 3), DiscreteLaplaceNoise(0.5, 3)]
)
def test_another_number_or_another_class_is_another_event(changed: PrivacyEvent) -> None:
    assert changed != RandomizedResponse(0.5, 3)
