"""The moral preferences paper's figures, run again, and what the paper does not show.

Source: Wang et al. (2019), Section 5; readings M1 to M14.
"""

from .reproduction import check_options, reproduce_moral_preferences
from .rows import Reproduction
from .show import show_reproduction

__all__ = ["Reproduction", "check_options", "reproduce_moral_preferences", "show_reproduction"]
