"""DPWeVote's published tables and figures, run again, and what the paper does not show.

Source: Yan, Liu and Liu (2018), Section 5; readings W1 to W9.
"""

from .reproduction import Reproduction, check_options, reproduce_dpwevote
from .show import show_reproduction

__all__ = ["Reproduction", "check_options", "reproduce_dpwevote", "show_reproduction"]
