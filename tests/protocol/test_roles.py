"""Names of parties: what can name one, at both limits."""

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.roles import MAX_PARTY_NAME_LENGTH, SessionKind, Side, check_party_name


@pytest.mark.parametrize("name", ["p", "Ψῆφος", "a b", "x" * MAX_PARTY_NAME_LENGTH, "République française"])
def test_a_printable_name_is_returned_as_it_is(name: str) -> None:
    assert check_party_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * (MAX_PARTY_NAME_LENGTH + 1), " a", "a ", "a\nb", "\x00", "a\u2028b", "\u200b"]
)
def test_what_cannot_name_a_party_is_refused_with_field_and_value(name: str) -> None:
    with refuses("partner", name, "1 to 128 printable characters"):
        check_party_name(name, field="partner")


@pytest.mark.parametrize(("name", "composed"), [("Rene\u0301e", "Renée"), ("\u212b", "Å")])
def test_one_name_has_one_spelling_so_that_nobody_has_two_budgets(name: str, composed: str) -> None:
    assert check_party_name(composed) == composed
    with pytest.raises(ConfigurationError, match=f"form NFC, as '{composed}' is"):
        check_party_name(name)


def test_the_words_on_the_wire_are_fixed() -> None:
    assert [kind.value for kind in SessionKind] == ["simulation", "deployment"]
    assert [side.value for side in Side] == ["client", "server"]
