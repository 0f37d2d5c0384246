"""The agents of a session: partners, voters, workers, cloud servers and aggregators, each driving a pure machine."""

from .client import Client, Partner, Voter, Worker, inquire
from .modes import Deployment, Mode, Simulation, draw_session_id
from .noise import SecureNoise
from .server import Aggregator, CloudServer, Server

__all__ = [
    "Aggregator",
    "Client",
    "CloudServer",
    "Deployment",
    "Mode",
    "Partner",
    "SecureNoise",
    "Server",
    "Simulation",
    "Voter",
    "Worker",
    "draw_session_id",
    "inquire",
]
