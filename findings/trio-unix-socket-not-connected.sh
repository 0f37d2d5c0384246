#!/usr/bin/env bash
# One would guess that trio.open_unix_socket waits for a listener that has no room for one more connection, as
# open_tcp_stream does, or raises. Where the listener's queue is full, Linux answers a connect of a Unix socket that may not
# wait with EAGAIN; trio takes it for EINPROGRESS, waits until the socket can be written, which it can at once, finds no
# error, and returns a stream that is connected to nobody. The first thing that is sent on it fails.
# Why a user would care: of many parties that connect to one server at once most seem to be connected and are gone, as if
# the server had hung up on them; a retry around the connect alone never sees it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet trio==0.35.0
"$folder/venv/bin/python" - "$folder/socket" <<'PYTHON'
import sys

import trio


async def main(path):
    listening = trio.socket.socket(trio.socket.AF_UNIX)
    await listening.bind(path)
    listening.listen(1)  # has room for two, which nobody accepts here
    found = []
    for _ in range(4):
        stream = await trio.open_unix_socket(path)
        try:
            await stream.send_all(b"hello")
            found.append("sent")
        except trio.BrokenResourceError as error:
            found.append(error.__cause__.strerror)
    return found


found = trio.run(main, sys.argv[1])
print("trio", trio.__version__)
print("four streams that open_unix_socket returned:", "; ".join(found))
sys.exit(found != ["sent"] * 2 + ["Transport endpoint is not connected"] * 2)
PYTHON
# Seen: four streams that open_unix_socket returned: sent; sent; Transport endpoint is not connected; Transport endpoint
#       is not connected
