"""A picture's SVG as pages want it: named for those who hear it, and without what would act on a page around it.

The background stays white, so that a picture is a light card on a dark page, too. Its text is text: it is searched,
selected and enlarged, in the font that was measured or one of the same widths. Several pictures stand in one page: no
name in one of them is one of another's, and no style of one reaches beyond it.
"""

import hashlib
import html
import re
from typing import Final

_MEASURED_FONT: Final = "'DejaVu Sans'"
_FONTS: Final = f"{_MEASURED_FONT}, 'Bitstream Vera Sans', Verdana, Geneva, sans-serif"
"""Alike wide, so that what fits in one fits in the others; a browser takes the first that it has."""
_LEFT_OUT: Final = re.compile(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", re.DOTALL)
"""What a page needs no second time, and a style that would be that of the whole page."""
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML cannot hold, in a title that somebody wrote."""
_DIGEST_BYTES: Final = 6


def embeddable(svg: str, *, title: str, description: str) -> str:
    """Return matplotlib's SVG as one that stands alone, and in a page, with words to be read aloud."""
    digest = hashlib.blake2s(svg.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    _, opening, rest = svg.partition("<svg ")
    attributes, _, content = rest.partition(">")
    own = (
        f'role="img" aria-labelledby="title-{digest}" aria-describedby="desc-{digest}" '
        'style="max-width: 100%; height: auto" stroke-linejoin="round" stroke-linecap="butt"'
    )
    named = (
        f'\n <title id="title-{digest}">{html.escape(title, quote=False)}</title>'
        f'\n <desc id="desc-{digest}">{html.escape(description, quote=False)}</desc>'
    )
    content = _LEFT_OUT.sub("", content)
    content = re.sub(r'<g id="[^"]*"', "<g", content)  # nothing refers to groups
    return _NO_XML.sub("", f"{opening}{attributes} {own}>{named}{content.replace(_MEASURED_FONT, _FONTS)}")
