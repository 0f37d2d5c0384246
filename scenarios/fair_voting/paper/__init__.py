"""The paper on fair and private voting rules, run again: its table, and what the paper does not show.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F6.
"""

from .reproduction import Reproduction, check_options, reproduce_fair_voting
from .show import show_reproduction

__all__ = ["Reproduction", "check_options", "reproduce_fair_voting", "show_reproduction"]
