"""What OpenSSL can do to a TLS 1.3 connection and Python's `ssl` has no word for: new keys, as often as one likes."""

import ctypes
import ctypes.util
import ssl
from typing import Final

import pytest

_WITH_AN_ANSWER: Final = 1
"""SSL_KEY_UPDATE_REQUESTED: the other end has to change its keys, too."""


def _library() -> ctypes.CDLL | None:
    """Return the library that `ssl` itself uses; None where its calls cannot be made by name."""
    for name in ("libssl.so.3", ctypes.util.find_library("ssl")):
        try:
            library = ctypes.CDLL(name)
            library.SSL_key_update.argtypes = (ctypes.c_void_p, ctypes.c_int)
            library.SSL_do_handshake.argtypes = (ctypes.c_void_p,)
        except (OSError, AttributeError, TypeError):
            continue
        return library
    return None


_LIBRARY: Final = _library()
needs_openssl_calls: Final = pytest.mark.skipif(_LIBRARY is None, reason="OpenSSL's calls cannot be made by name here")


def ask_for_new_keys(end: ssl.SSLObject | ssl.SSLSocket, number: int = 1) -> None:
    """Change this end's keys so many times, and ask each time that the other end changes its own.

    Raises:
        OSError: the other end takes no more.
    """
    assert _LIBRARY is not None
    place = id(vars(end)["_sslobj"]) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
    connection = ctypes.c_void_p.from_address(place).value  # after the object's head and its socket
    for _ in range(number):
        assert _LIBRARY.SSL_key_update(connection, _WITH_AN_ANSWER) == 1
        if _LIBRARY.SSL_do_handshake(connection) != 1:
            raise OSError("the other end takes no more")
