"""The text of the page: one file that asks nothing of any network.

Recorded text is untrusted. Tables are escaped; trajectories are embedded as JSON that cannot end
its element, and the script only ever makes text nodes of them. The policy in the page's head lets
the browser run that one script, by its hash, and fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from batcher.figures import Drawn
from batcher.page import data, made
from batcher.report import headline, metric, metrics
from batcher.table import Table, fragment
from cache.store import Connection

_HERE = Path(__file__).parent
_SCRIPTS = ("state.js", "list.js", "trajectory.js", "start.js")

#: Metrics that tell of money and of what is missing, as far as there are such.
_COSTS = ("coverage", "costs", "cache_savings", "plan_error")

_NO_FIGURES = "Nothing to draw yet."

#: Inside an element, ``<`` may end it, and the two separators ended lines of old JavaScript.
_HIDDEN = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Contents:
    """All that stands on a page, but for the figures."""

    scores: Table
    costs: tuple[Table, ...]
    made: tuple[Table, ...]
    viewer: data.Viewer


def read(con: Connection, now: datetime) -> Contents:
    """Return the contents of the page, so that the database need not stay open while it is made."""
    return Contents(
        scores=headline(con),
        # One line a setting reads better here than one small table a setting.
        costs=tuple(
            replace(metric(con, name), headings=()) for name in _COSTS if name in metrics()
        ),
        made=tuple(made.tables(con, now)),
        viewer=data.read(con),
    )


def text(contents: Contents, figures: Sequence[Drawn], without: str = "") -> str:
    """Return the page. ``without`` says why there are no figures, where that is so."""
    script = '"use strict";\n' + "".join(_file(name) for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "digest": digest,
        "style": _file("page.css"),
        "script": script,
        "scores": _tables([contents.scores]),
        "figures": "\n".join(map(_figure, figures))
        or f"<p>{html.escape(without or _NO_FIGURES)}</p>",
        "costs": _tables(contents.costs),
        "made": _tables(contents.made),
        "index": embedded(contents.viewer.index),
        "bodies": "\n".join(
            f'<script type="application/json" id="t{at}">{embedded(body)}</script>'
            for at, body in enumerate(contents.viewer.bodies)
        ),
    }
    return _filled(_file("page.html"), parts)


def embedded(value: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element: nothing in it is markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.translate(_HIDDEN)


def _filled(page: str, parts: Mapping[str, str]) -> str:
    """Put each part where the page says ``{{name}}``, once: what is put in is not looked at."""
    done = []
    for piece in page.split("{{"):
        name, closed, rest = piece.partition("}}")
        done.append(parts[name] + rest if closed else piece)
    return "".join(done)


def _file(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _tables(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        title = html.escape(table.title)
        parts.append(f"<h3>{title}</h3>")
        # A wide table scrolls inside its frame, which the keyboard can reach.
        parts.append(f'<div class="wide" tabindex="0" role="region" aria-label="{title}">')
        notes = [f"<p>{html.escape(note)}</p>" for note in ("No rows.", *table.notes)]
        parts += fragment(table) if table.rows else notes
        parts.append("</div>")
    return "\n".join(parts)


def _figure(drawn: Drawn) -> str:
    return (
        f'<figure id="figure-{html.escape(drawn.name)}"><div class="drawing" role="group" '
        f'aria-label="{html.escape(drawn.title)}" tabindex="0">{drawn.inline()}</div>'
        f"<figcaption><b>{html.escape(drawn.title)}.</b> {html.escape(drawn.caption)}</figcaption>"
        "</figure>"
    )
