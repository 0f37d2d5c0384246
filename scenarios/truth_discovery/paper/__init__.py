"""The truth discovery paper's published tables and figures, run again, and what the paper does not show.

Source: Li et al. (2018), Sections 6 and 7; readings T1 to T9.
"""

from .reproduction import Reproduction, check_options, reproduce_truth_discovery
from .show import show_reproduction

__all__ = ["Reproduction", "check_options", "reproduce_truth_discovery", "show_reproduction"]
