"""An SVG with boxes, arrows and text, written without any library: the same bytes on every machine."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

INK, MUTED, LINE, PAPER = "#1b1f24", "#57606a", "#8c959f", "#ffffff"
COLOURS = {"people": "#ddf4ff", "model": "#fff8c5", "ground": "#f6f8fa", "wing": "#dafbe1", "choice": "#ffe7d1"}
MONO, SANS = "ui-monospace, Menlo, Consolas, monospace", "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


class Drawing:
    """An SVG with boxes, arrows and text; positions in pixels from the upper left corner."""

    def __init__(self, width: int, title: str) -> None:
        names = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": SANS}
        self.root = Element("svg", {**names, "width": str(width)})
        self.add("title").text = title
        marker = ElementTree.SubElement(
            self.add("defs"), "marker", id="tip", viewBox="0 0 8 8", refX="7", refY="4", markerWidth="7", orient="auto"
        )
        ElementTree.SubElement(marker, "path", d="M0 0 8 4 0 8Z", fill=LINE)
        self.paper = self.add("rect", width=width, rx=8, fill=PAPER)

    def add(self, name: str, **attributes: object) -> Element:
        given = {key.replace("_", "-"): str(value) for key, value in attributes.items()}
        return ElementTree.SubElement(self.root, name, given)

    def box(self, x: int, y: int, width: int, height: int, fill: str) -> None:
        self.add("rect", x=x, y=y, width=width, height=height, rx=5, fill=COLOURS[fill], stroke=LINE)

    def text(self, x: int, y: int, text: str, size: float = 13, **attributes: object) -> None:
        self.add("text", **{"x": x, "y": y, "font_size": size, "fill": INK, **attributes}).text = text

    def arrow(self, *points: tuple[int, int]) -> None:
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.add("path", d=path, fill="none", stroke=LINE, stroke_width=1.5, marker_end="url(#tip)")

    def svg(self, height: int) -> str:
        """The picture, cut off at ``height``."""
        self.root.set("viewBox", f"0 0 {self.root.get('width')} {height}")
        for element in (self.root, self.paper):
            element.set("height", str(height))
        ElementTree.indent(self.root)
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"
