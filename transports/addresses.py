"""Socket addresses, written as HOST:PORT or [IPV6]:PORT."""

import ipaddress
from typing import Final

from ..protocol.errors import refuse

_MAX_PORT: Final = 65535


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of "HOST:PORT" or "[IPV6]:PORT"; port 0 lets the system choose.

    Raises:
        ConfigurationError: it has another form.

    Examples:
        >>> parse_address("127.0.0.1:7000"), parse_address("[::1]:7000")
        (('127.0.0.1', 7000), ('::1', 7000))
    """
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    is_port = port.isascii() and port.isdigit() and int(port) <= _MAX_PORT
    allowed = f"HOST:PORT or [IPV6]:PORT, with a port up to {_MAX_PORT}"
    refuse(not colon or not bare or not is_port or (":" in bare and not bracketed), "an address", address, allowed)
    return bare, int(port)


def format_address(host: str, port: int) -> str:
    """Return the form that `parse_address` reads.

    Examples:
        >>> format_address("::1", 7000)
        '[::1]:7000'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(address: str) -> bool:
    """Return whether an address is a loopback address; the only name that counts is "localhost".

    Raises:
        ConfigurationError: it has another form.

    Examples:
        >>> is_loopback("127.0.0.1:7000"), is_loopback("192.0.2.1:7000")
        (True, False)
    """
    host, _ = parse_address(address)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
