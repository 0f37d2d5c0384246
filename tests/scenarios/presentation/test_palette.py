"""The palette: colors that readers with two kinds of cones, and printers with one ink, tell apart.

What such readers see is simulated by the matrices of Machado, Oliveira and Fernandes (2009), "A Physiologically-based
Model for Simulation of Color Vision Deficiency", of severity 1. Distances are Euclidean ones in CIELAB, where some 2.3
are just seen in samples side by side; lines and marks that lie apart need many times that.
"""

import itertools
import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.scenarios import reports as report_pages
from psephos.scenarios.presentation.drawing import (
    ALLOWED,
    BEYOND,
    COLORS,
    GOOD,
    INK,
    INKS,
    MUTED,
    POOR,
    RULE,
    WITHIN,
)

SEEN: Final = {
    "all cones": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
LEAST: Final = {"all cones": 44, "deuteranopia": 29, "protanopia": 29, "tritanopia": 21}
"""The least distance of two colors of lines, by who sees them."""
LEAST_IN_GRAY: Final = 8
"""The least difference of their lightness, of 100."""
LEAST_OF_VERDICTS: Final = 20
XYZ: Final = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def linear(color: str) -> FloatArray:
    """Return the light of a color that is written in hexadecimal digits."""
    told = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    light: FloatArray = np.where(told <= 0.04045, told / 12.92, ((told + 0.055) / 1.055) ** 2.4)
    return light


def lab(light: FloatArray) -> FloatArray:
    """Return it in CIELAB, beside white of D65."""
    parts: list[float] = (XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1)).tolist()
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in parts)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first: str, second: str, seen: FloatArray) -> float:
    """Return how far apart two colors are seen."""
    return float(np.linalg.norm(lab(seen @ linear(first)) - lab(seen @ linear(second))))


def contrast(color: str, ground: str = "#ffffff") -> float:
    """Return the contrast of two colors as WCAG 2 computes it."""
    dark, light = sorted(float(XYZ[1] @ linear(each)) for each in (color, ground))
    return (light + 0.05) / (dark + 0.05)


def test_the_simulation_is_that_of_the_paper() -> None:
    """Gray stays gray; red and green of one lightness are one color to those without the cones between them."""
    for matrix in SEEN.values():
        assert matrix.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert distance("#ff0000", "#00ff00", SEEN["all cones"]) > 150
    assert distance("#2a7f62", "#b3423a", SEEN["protanopia"]) < 15  # an earlier pair for "passes" and "fails"
    assert contrast("#000000") == pytest.approx(21)


def of_page(place: int) -> dict[str, str]:
    """Return the colors of a report's page by name: of its light theme, its dark one and of paper, in this order."""
    css = (Path(report_pages.__file__).parent / "report.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{([^}]*)\}", css)
    assert len(blocks) == 3
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[place]))


LIGHT, DARK, PAPER = (of_page(place) for place in range(3))
THEMES: Final = {"pictures": COLORS, "dark": {name: DARK[name] for name in COLORS}}


@pytest.mark.parametrize("page", [LIGHT, PAPER], ids=["light", "paper"])
def test_a_light_page_has_the_colors_of_pictures(page: dict[str, str]) -> None:
    assert {name: page[name] for name in COLORS} == COLORS
    assert {page[f"{name}-ink"] for name, color in COLORS.items() if color in INKS} == {*INKS.values()}
    told = (page[name] for name in ("good", "poor", "within", "beyond", "allowed"))
    assert tuple(told) == (GOOD, POOR, WITHIN, BEYOND, ALLOWED)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("who", SEEN)
def test_colors_of_lines_are_told_apart(who: str, theme: str) -> None:
    for first, second in itertools.combinations(THEMES[theme].values(), 2):
        assert distance(first, second, SEEN[who]) >= LEAST[who], (first, second)


@pytest.mark.parametrize("theme", THEMES)
def test_colors_of_lines_are_told_apart_in_gray(theme: str) -> None:
    lightness = sorted(lab(linear(color))[0] for color in THEMES[theme].values())
    assert min(above - below for below, above in itertools.pairwise(lightness)) >= LEAST_IN_GRAY


@pytest.mark.parametrize("page", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("who", SEEN)
def test_what_passes_fails_and_is_not_known_is_told_apart(who: str, page: dict[str, str]) -> None:
    for first, second in itertools.combinations((page["good"], page["poor"], page["muted"]), 2):
        assert distance(first, second, SEEN[who]) >= LEAST_OF_VERDICTS, (first, second)
    assert abs(lab(linear(page["good"]))[0] - lab(linear(page["poor"]))[0]) >= LEAST_IN_GRAY


@pytest.mark.parametrize("color", [INK, MUTED, RULE, GOOD, POOR, *(INKS.get(each, each) for each in COLORS.values())])
def test_what_is_written_is_read(color: str) -> None:
    """What WCAG 2 asks of text."""
    assert contrast(color) >= 4.5


@pytest.mark.parametrize("name", ["ink", "muted", "rule", "good", "poor", "orange-ink", "sky-ink", "gold-ink"])
def test_what_is_written_is_read_in_the_dark(name: str) -> None:
    assert contrast(DARK[name], DARK["paper"]) >= 4.5


def test_shaded_regions_are_seen_behind_lines() -> None:
    assert distance(WITHIN, BEYOND, SEEN["protanopia"]) >= 5
    for color in COLORS.values():
        assert distance(color, BEYOND, SEEN["deuteranopia"]) >= 20
