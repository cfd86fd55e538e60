"""What a figure is, and how every one of them looks.

Readable without colour: series differ by shape, by dash and by how dark they are, or their numbers
stand beside them. The colours are Okabe and Ito's, which colour-blind people can tell apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from batcher.report import rank

if TYPE_CHECKING:
    import altair as alt

Row: TypeAlias = dict[str, Any]

COLOURS = ["#000000", "#D55E00", "#0072B2", "#CC79A7", "#009E73", "#E69F00", "#56B4E9", "#7F7F7F"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]]

#: Names of judges are long and must not be cut.
LABEL_PIXELS = 400

_CONFIG = {
    "background": "white",
    # What texts are measured with; a page that shows another font would push them together.
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "labelLimit": LABEL_PIXELS},
    "header": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": LABEL_PIXELS},
    "legend": {"labelFontSize": 11, "labelLimit": LABEL_PIXELS, "orient": "bottom", "columns": 3},
    "text": {"fontSize": 10},
    "view": {"stroke": "#999999"},
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """One figure as text and, where asked for, as pixels (144 to the inch)."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes = b""

    def inline(self) -> str:
        """Return the SVG for use inside a page, where two figures must not share an id."""
        prefix = f"{self.name}-"
        svg = re.sub(r'\bid="', f'id="{prefix}', self.svg)
        svg = re.sub(r"url\((['\"]?)#", rf"url(\1#{prefix}", svg)
        return re.sub(r'((?:xlink:)?href)="#', rf'\1="#{prefix}', svg)


@dataclass(frozen=True, slots=True)
class Figure:
    """``query`` reads views; ``chart`` turns its rows, at least one, into a chart of altair's."""

    title: str
    caption: str
    query: str
    chart: Callable[[list[Row]], alt.TopLevelMixin]

    def draw(self, name: str, rows: list[Row], *, png: bool) -> Drawn:
        """Return the figure of these rows; nothing is fetched from anywhere."""
        import altair
        import vl_convert

        spec = self.chart(rows).to_dict()
        spec["config"] = _CONFIG
        version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
        how: dict[str, Any] = {"vl_version": version, "allowed_base_urls": []}
        return Drawn(
            name=name,
            title=self.title,
            caption=self.caption,
            svg=vl_convert.vegalite_to_svg(spec, **how),
            png=vl_convert.vegalite_to_png(spec, scale=2, **how) if png else b"",
        )


def data(rows: list[Row]) -> alt.InlineData:
    """Return rows as data of a chart."""
    import altair

    return altair.InlineData(values=rows)


def with_questions(rows: list[Row]) -> list[Row]:
    """Add ``question``: the strategy, its digest where there are several versions, and +gold.

    Strategies stand in the paper's order afterwards, and otherwise as they did.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        versions[row["strategy"]].add(row["strategy_digest"])
    rows = sorted(rows, key=lambda row: rank(row["strategy"]))
    return [row | {"question": _question(row, len(versions[row["strategy"]]) > 1)} for row in rows]


def _question(row: Row, several: bool) -> str:
    version = f"@{row['strategy_digest']}" if several else ""
    return f"{row['strategy']}{version}{' +gold' if row['gold'] else ''}"


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return each value once, in the order in which they come first."""
    return list(dict.fromkeys(values))


def series(rows: list[Row], field: str, what: str) -> dict[str, Any]:
    """Return the encodings that tell series apart: colour and shape, with one legend."""
    import altair

    names = ordered(row[field] for row in rows)
    legend = altair.Legend(title=what)

    def scale(values: list[Any]) -> Any:
        return altair.Scale(
            domain=names, range=[values[n % len(values)] for n in range(len(names))]
        )

    return {
        "color": altair.Color(f"{field}:N", scale=scale(COLOURS), legend=legend),
        "shape": altair.Shape(f"{field}:N", scale=scale(SHAPES), legend=legend),
    }
