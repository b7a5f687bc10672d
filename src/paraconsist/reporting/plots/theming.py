"""A figure's SVG made part of a page: colours by class, so that they follow the page's theme; no style attributes.

A strict content security policy forbids ``style="..."``; what matplotlib says there becomes presentation attributes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

#: The light theme; the page's style sheet has the dark one under the same names. Series: after Okabe and Ito, whose
#: colours stay apart for colour-blind readers.
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "muted": "#667080",
    "grid": "#e4e7ec",
    "shade": "#f1f3f6",
    "series-0": "#0072b2",
    "series-1": "#d55e00",
    "series-2": "#009e73",
    "series-3": "#b5598c",
    "series-4": "#3d9bd1",
    "series-5": "#b87f00",
}
_NAMES = {value: name for name, value in COLOURS.items()}
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px")
#: matplotlib draws the paper first; on a page that is the page's own.
_BACKGROUNDS = ("patch_1",)


def themed(svg: bytes, name: str, description: str) -> str:
    """Return the SVG element for a page.

    Parameters
    ----------
    svg : bytes
        What matplotlib wrote, with letters as text.
    name : str
        Makes the ids unique on the page.
    description : str
        The text alternative.
    """
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(svg)
    for child in list(root):
        if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}title") or child.get("id") in _BACKGROUNDS:
            root.remove(child)
    for element in root.iter():
        for parent_child in [c for c in element if c.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}title")]:
            element.remove(parent_child)
        for background in [c for c in element if c.get("id") in _BACKGROUNDS and element.get("id") == "figure_1"]:
            element.remove(background)
    for element in root.iter():
        _without_style(element)
        _rename(element, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", description)
    root.set("class", "plot")
    return ET.tostring(root, encoding="unicode")


def _without_style(element: ET.Element) -> None:
    style = element.attrib.pop("style", "")
    classes = []
    said = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
    said = {key.strip(): value.strip() for key, value in said.items()}
    for key in ("fill", "stroke"):
        if key in element.attrib:
            said.setdefault(key, element.attrib.pop(key))
    for key, value in said.items():
        colour = _NAMES.get(value.lower())
        if key in ("fill", "stroke") and colour is not None:
            classes.append(f"{key}-{colour}")
        elif key == "font":
            found = _FONT.search(value)
            if found is not None:
                element.set("font-size", found["size"])
                if found["weight"]:
                    element.set("font-weight", found["weight"])
        elif key != "font-family":
            element.set(key, value.removesuffix("px") if key == "font-size" else value)
    if element.tag == f"{{{_SVG}}}text" and not any(c.startswith("fill-") for c in classes):
        classes.append("fill-ink")
    if classes:
        element.set("class", " ".join(classes))


def _rename(element: ET.Element, name: str) -> None:
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.get('id')}")
    for key in (f"{{{_XLINK}}}href", "href"):
        if element.get(key, "").startswith("#"):
            element.set(key, f"#{name}-{element.get(key, '')[1:]}")
    if element.get("clip-path", "").startswith("url(#"):
        element.set("clip-path", element.get("clip-path", "").replace("url(#", f"url(#{name}-"))
