"""Matplotlib's SVG as a part of a page: smaller, in the page's colours (light and dark), and with the page's type."""

from __future__ import annotations

import re
from html import escape

COLOURS = {
    "#1f2a37": "--ink", "#000000": "--ink", "#ffffff": "--card", "#e2e8f0": "--grid", "#94a3b8": "--mute",
    "#64748b": "--soft", "#0f766e": "--c0", "#b45309": "--c1", "#1d4ed8": "--c2", "#be185d": "--c3",
    "#4d7c0f": "--c4", "#7c3aed": "--c5", "#0e7490": "--c6", "#a16207": "--c7",
}  # fmt: skip
"""The colours of our figures, by the name under which the style sheet has them twice."""

LARGER = 1.16
"""The page's type is narrower than that which the figure was measured for, so it can be larger."""


def inline_svg(text: str, prefix: str, label: str) -> str:
    """The figure as an element of the page.

    `prefix` keeps its names apart from those of other figures, and `label` says what it shows to who cannot see it.
    """
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = _own_names(body, prefix)
    body = re.sub(r"<[^>]*>", lambda match: _restyled(match[0]), body)
    body = re.sub(r"<defs>\s*</defs>", "", re.sub(r"\s*\n\s*", " ", body))
    width, height = _size(body)
    shape = f'viewBox="0 0 {width:g} {height:g}" style="--width:{width:.0f}"'
    return re.sub(
        r"<svg [^>]*>", f'<svg class="figure" role="img" aria-label="{escape(label)}" {shape}>', body, count=1
    )


def _restyled(tag: str) -> str:
    """One tag with the page's type and colours and shorter numbers. What stands between the tags stays as it is."""
    tag = re.sub(r"\s*font-family: [^;\"]*;?| ?-inkscape-[^;\"]*;?", "", tag)
    tag = re.sub(r"font-size: ([\d.]+)px", lambda match: f"font-size: {float(match[1]) * LARGER:.1f}px", tag)
    tag = re.sub(r"font: ([\d.]+)px [^;\"]*", lambda match: f"font-size: {float(match[1]) * LARGER:.1f}px", tag)
    tag = re.sub(r"-?\d+\.\d{2,}", lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: _coloured(match[0]), tag)


def _own_names(body: str, prefix: str) -> str:
    """Names that something points to get a prefix; the others go."""
    targets = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}-{match[1]}"' if match[1] in targets else "", body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{prefix}-', body)
    return body.replace("url(#", f"url(#{prefix}-")


def _coloured(colour: str) -> str:
    name = COLOURS.get(colour)
    return f"var({name})" if name else colour


def _size(body: str) -> tuple[float, float]:
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body)
    if size is None:
        raise ValueError("a figure must have a view box from 0 0, as matplotlib writes it")
    return float(size[1]), float(size[2])
