"""Pictures in pages: a name and a description, text as text in fonts with fallbacks, and nothing that leaks."""

import html
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.scenarios import simulate
from psephos.scenarios.presentation import draw_outcome
from psephos.scenarios.presentation.drawing import Marks, Picture, clean, save_picture

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = 'rail <script>alert("1")</script> & ]]> --> $x$'


def drawn(folder: Path, *candidates: str, seed: int = 2) -> str:
    """Return the SVG of a vote on these candidates."""
    parties = {f"p{n}": (1 + n % 3, *(n % 2 for _ in candidates)) for n in range(30)}
    outcome = simulate(DPWeVote(Parameters(candidates=candidates)), parties, seed=seed)
    setting = "30 partners · ε = 1 proven"
    (svg,) = draw_outcome(outcome, title=f"On {candidates[0]}", truth=None, folder=folder, setting=setting)
    return svg.read_text(encoding="utf-8")


def test_a_picture_is_named_and_described_for_those_who_hear_it(tmp_path: Path) -> None:
    root = ET.fromstring(drawn(tmp_path, "rail", "fish"))  # noqa: S314  our own file
    assert root.get("role") == "img"
    title, description = root[0], root[1]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert root.get("aria-labelledby") == title.get("id")
    assert root.get("aria-describedby") == description.get("id")
    assert title.text == "On rail"
    said = str(description.text)
    assert said.startswith("30 partners · ε = 1 proven.")
    assert re.search(r"rail: .*P\(wrong\) [\d.]+ %; fish: .*P\(wrong\)|fish: .*; rail: ", said)
    assert "weight of the yes votes" in said


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", [HOSTILE, "日本 🗳", "</title></svg><img src=x onerror=alert(1)>"])
def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path, name: str) -> None:
    text = drawn(tmp_path, name)
    root = ET.fromstring(text)  # noqa: S314  our own file
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert "<script" not in text
    assert root[0].text == f"On {name}"


def test_what_no_xml_may_hold_is_left_out(tmp_path: Path) -> None:
    picture = Picture(draw=lambda panels: clean(panels[0, 0]), size=(4, 2), title="a\x01b\x0cc")
    svg, _ = save_picture(picture, folder=tmp_path, name="picture")
    assert ET.fromstring(svg.read_text(encoding="utf-8"))[0].text == "abc"  # noqa: S314  our own file


def test_text_is_text_in_fonts_that_readers_have(tmp_path: Path) -> None:
    root = ET.fromstring(drawn(tmp_path, "rail"))  # noqa: S314  our own file
    texts = [each for each in root.iter() if each.tag == f"{SVG}text"]
    assert {"rail", "On rail", "30 partners · ε = 1 proven"} <= {each.text for each in texts}
    for each in texts:
        style = html.unescape(str(each.get("style")))
        assert style.count("'DejaVu Sans', 'Bitstream Vera Sans', Verdana, Geneva, sans-serif") == 1, style


def test_pictures_in_one_page_do_not_meet(tmp_path: Path) -> None:
    """No style is the page's, and a name that two pictures have is that of the same thing."""
    pictures = [ET.fromstring(drawn(tmp_path, "rail", seed=seed)) for seed in (2, 3)]  # noqa: S314  our own files
    named: list[dict[str, bytes]] = []
    for root in pictures:
        assert not [each for each in root.iter() if each.tag == f"{SVG}style"]
        assert not [each for each in root.iter() if each.tag.endswith("metadata")]
        named.append({str(each.get("id")): ET.tostring(each) for each in root.iter() if each.get("id")})
        referred = {
            name for each in root.iter() for key in each.attrib.values() for name in re.findall(r"#([\w-]+)\)?$", key)
        }
        colors = {name for name in referred if re.fullmatch(r"[0-9a-f]{6}", name)}
        assert referred - colors <= named[-1].keys()
    for name in named[0].keys() & named[1].keys():
        assert named[0][name] == named[1][name], name
    titles = [str(root[0].get("id")) for root in pictures]
    assert titles[0] != titles[1]


def test_the_background_is_a_light_card_on_a_dark_page_too(tmp_path: Path) -> None:
    root = ET.fromstring(drawn(tmp_path, "rail"))  # noqa: S314  our own file
    assert "max-width: 100%" in str(root.get("style"))
    first = next(each for each in root.iter() if each.tag == f"{SVG}path")
    assert "#ffffff" in str(first.get("style"))


@pytest.mark.full("a picture more")
def test_long_settings_notes_and_legends_make_the_picture_higher_and_not_the_panel_smaller(tmp_path: Path) -> None:
    heights: list[float] = []

    def draw(panels: Any) -> Marks:
        clean(panels[0, 0], x="across")
        return {f"a mark that is called number {number}": {"color": "k"} for number in range(4)}

    for setting, note in (("short", ""), ("words " * 60, "words " * 60)):
        picture = Picture(draw=draw, size=(6, 3), setting=setting, note=note)
        svg, _ = save_picture(picture, folder=tmp_path, name="picture", title="A title")
        root = ET.fromstring(svg.read_text(encoding="utf-8"))  # noqa: S314  our own file
        heights.append(float(str(root.get("viewBox")).split()[3]) / 72)
        drawn = [each.text or "" for each in root.iter() if each.tag == f"{SVG}text"]
        assert " ".join(drawn).count("words") == (120 if note else 0)
    assert heights[1] - heights[0] > 1.2
