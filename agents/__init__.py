"""Who takes part: partners and voters, cloud servers and aggregators, each driving a pure machine over a channel."""

from .client import Client, Partner, Voter, inquire
from .modes import Deployment, Mode, Simulation
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
    "inquire",
]
