"""A network that stalls: connections stay open, and nothing passes."""

import contextlib
import socket
import threading
from typing import Self


class StallingNetwork:
    """Passes connections on to a server, until it stalls.

    Args:
        port: of the server, on the loopback interface.

    Attributes:
        port: where it is reached through this.
        passes: cleared where nothing passes.
    """

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.passes = threading.Event()
        self.passes.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        with near:
            with contextlib.suppress(OSError):
                while content := near.recv(65_536):
                    self.passes.wait()
                    far.sendall(content)
            self.passes.wait()
            with contextlib.suppress(OSError):
                far.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.passes.set()
        with self._listener:
            self._listener.shutdown(socket.SHUT_RDWR)
