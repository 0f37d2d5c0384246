"""The page on votes in a browser: its proxies are run as they stand there, with other ports and certificates."""

import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from deployments import PATIENCE
from psephos.transports.keys import make_identity
from test_documents import files_of
from web_parties import CHALLENGE, CONTEXT, ENROLMENT, SEAT, Vote, free_port, talk

PAGE: Final = Path(__file__).parents[1] / "docs" / "web.md"
NGINX: Final = """daemon off; user root; pid nginx.pid; error_log stderr;
events {{}}
http {{ access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi; scgi_temp_path scgi; {} }}
"""


def caddy(text: str, folder: Path, front: int, certificate: Path, key: Path) -> list[str]:
    """Write what the page says for Caddy, and return the command."""
    site = text.replace("vote.example.org {", f"https://localhost:{front} {{\n    tls {certificate} {key}")
    assert site != text
    (folder / "Caddyfile").write_text("{\n    admin off\n    auto_https off\n}\n" + site, encoding="utf-8")
    return ["caddy", "run", "--config", "Caddyfile"]


def nginx(text: str, folder: Path, front: int, certificate: Path, key: Path) -> list[str]:
    """Write what the page says for nginx, and return the command."""
    server = text.replace("listen 443 ssl", f"listen 127.0.0.1:{front} ssl").replace("vote.example.org", "localhost")
    assert server.count("localhost") == 1
    server = server.replace("fullchain.pem", str(certificate)).replace("privkey.pem", str(key))
    (folder / "nginx.conf").write_text(NGINX.format(server), encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]


@contextlib.contextmanager
def proxied(
    write: Callable[..., list[str]], file: str, folder: Path, front: int, back: str
) -> Generator[ssl.SSLContext]:
    """Run a proxy in front of a server."""
    make_identity().write(folder / "both.pem")
    text = files_of(PAGE)[file].replace("127.0.0.1:8000", back)
    assert back in text
    command = write(text, folder, front, folder / "both.pem", folder / "both.pem")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:  # noqa: S603  our own
        try:
            gives_up = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", front), timeout=1.0):
                    break
                assert process.poll() is None, process.stderr
                assert time.monotonic() < gives_up
            yield context
        finally:
            process.terminate()


@pytest.mark.parametrize(("write", "file"), [(caddy, "Caddyfile"), (nginx, "psephos.conf")])
async def test_a_proxy_of_the_page_adds_https_to_pages_events_and_web_sockets(
    tmp_path: Path, write: Callable[..., list[str]], file: str
) -> None:
    if shutil.which(write.__name__) is None:
        pytest.skip(f"{write.__name__} is not installed")
    front = free_port()
    vote = Vote(tmp_path, origin=f"https://localhost:{front}")

    def visit(context: ssl.SSLContext) -> tuple[int, bytes, list[Any]]:
        pages = http.client.HTTPSConnection("localhost", front, timeout=PATIENCE, context=context)
        with contextlib.closing(pages):
            pages.request("GET", "/vote")
            status = pages.getresponse().status
        with contextlib.closing(pages):
            pages.request("GET", "/events")
            event = pages.getresponse().readline()
        with (
            socket.create_connection(("127.0.0.1", front), timeout=PATIENCE) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            return status, event, talk(secure, f"localhost:{front}", vote.browser("cid"))

    async with vote.served():
        with proxied(write, file, tmp_path, front, vote.address) as context:
            status, event, answer = await trio.to_thread.run_sync(visit, context)
    assert status == 200
    assert event.startswith(b'data: {"state": "gathering"')
    assert answer[:2] == [SEAT, "cid"]


def test_the_terms_and_first_messages_are_as_the_page_says(tmp_path: Path) -> None:
    text = (PAGE.parents[1] / "scenarios" / "deployment" / "page" / "README.md").read_text(encoding="utf-8")
    terms = json.loads((Vote(tmp_path).folder / "web.json").read_bytes())
    (table,) = re.findall(r"^\| field of the terms .*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split(" | ")[0])]
    assert sorted(named) == sorted(terms)
    assert terms["epsilon"].keys() == {"weight", "opinion", "total"}
    assert [int(tag) for tag in re.findall(r"^\| (\d+) \| ", text, re.MULTILINE)] == [CHALLENGE, ENROLMENT, SEAT]
    assert f"`{CONTEXT[:-1].decode()}`, a zero byte" in text
