"""The paper's numbers, each with its table.

Source: Li et al. (2018), Section 7.
"""

from collections.abc import Mapping
from typing import Final

RUNS: Final = 100
"""Section 7.1.4: "the mean of 100 independent trials"."""


METHODS: Final[Mapping[str, tuple[str, str]]] = {
    "MV with one-layer": ("majority", "one_layer"),
    "TD with one-layer": ("truth_discovery", "one_layer"),
    "MV with two-layer": ("majority", "two_layer"),
    "TD with two-layer": ("truth_discovery", "two_layer"),
}
"""The columns of Tables 2 and 3, in their order: estimator and mechanism."""
TABLE_1: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "peer-grading": (26, 72, 360, 26),
    "duchenne": (2134, 64, 17729, 159),
}
"""Tasks, workers, answers, and tasks with a known truth."""
CLEAN_ACCURACIES: Final[Mapping[str, float]] = {"peer-grading": 0.73, "duchenne": 0.76}
"""Section 7.2, without saying of which aggregation: "the accuracy of aggregated answers"."""

_TABLE_2: Final = {
    1.0: (0.1019, 0.0850, 0.0885, 0.0619),
    0.9: (0.1135, 0.0954, 0.1112, 0.0800),
    0.8: (0.1300, 0.1127, 0.1212, 0.0827),
    0.7: (0.1404, 0.1135, 0.1265, 0.0923),
    0.6: (0.1615, 0.1408, 0.1554, 0.1138),
    0.5: (0.1669, 0.1546, 0.1631, 0.1262),
    0.4: (0.1788, 0.1604, 0.1696, 0.1354),
    0.3: (0.1842, 0.1658, 0.1785, 0.1415),
    0.2: (0.2042, 0.1823, 0.1938, 0.1581),
    0.1: (0.2269, 0.2088, 0.2165, 0.1723),
    0.01: (0.2373, 0.2135, 0.2327, 0.1865),
    0.001: (0.2485, 0.2196, 0.2377, 0.1958),
    0.0: (0.2504, 0.2212, 0.2419, 0.1992),
}
_TABLE_3: Final = {
    1.0: (0.1228, 0.0735, 0.1240, 0.0560),
    0.9: (0.1296, 0.0870, 0.1337, 0.0629),
    0.8: (0.1438, 0.1104, 0.1447, 0.0709),
    0.7: (0.1459, 0.1157, 0.1564, 0.0821),
    0.6: (0.1699, 0.1321, 0.1701, 0.0906),
    0.5: (0.1784, 0.1562, 0.1738, 0.0962),
    0.4: (0.1917, 0.1769, 0.1903, 0.1081),
    0.3: (0.2126, 0.1930, 0.2133, 0.1271),
    0.2: (0.2218, 0.2016, 0.2160, 0.1379),
    0.1: (0.2335, 0.2086, 0.2248, 0.1511),
    0.01: (0.2406, 0.2150, 0.2362, 0.1742),
    0.001: (0.2414, 0.2178, 0.2426, 0.1774),
    0.0: (0.2516, 0.2277, 0.2447, 0.1793),
}
EPSILONS: Final = tuple(_TABLE_2)


TABLES: Final[Mapping[str, Mapping[float, tuple[float, ...]]]] = {"peer-grading": _TABLE_2, "duchenne": _TABLE_3}
"""Error rate changes of Tables 2 and 3, by data set: for each ε those of all methods."""
