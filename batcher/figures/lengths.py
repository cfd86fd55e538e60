"""Figure 2 of the paper: how many trajectories there are of each length, by domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batcher.figures.base import Figure, Row, data

if TYPE_CHECKING:
    import altair as alt


def chart(rows: list[Row]) -> alt.TopLevelMixin:
    """Return one panel a domain: an open bar is all, the dark part of it annotated."""
    import altair as alt

    levels = ["1-18", "19-30", "31-49", "50+"]
    x = alt.X("messages:O", sort=levels, title="messages", axis=alt.Axis(labelAngle=0))
    x = x.scale(domain=levels)
    base = alt.Chart().encode(x=x)
    every = base.mark_bar(fill="white", stroke="black").encode(
        y=alt.Y("n_trajectories:Q", title="trajectories", axis=alt.Axis(tickMinStep=1))
    )
    annotated = base.mark_bar(fill="#555555", stroke="black").encode(y="n_annotated:Q")
    number = base.mark_text(dy=-7).encode(y="n_trajectories:Q", text="n_trajectories:Q")
    panel = alt.layer(every, annotated, number, data=data(rows)).properties(width=180, height=180)
    return panel.facet(column=alt.Column("domain:N", title=None))


FIGURE = Figure(
    title="Trajectories by length and domain",
    caption="The dark part of a bar is annotated; the number is of all of it. The paper's "
    "figure 2.",
    query="select domain, level, messages, n_trajectories, n_annotated "
    "from length_counts order by domain, level",
    chart=chart,
)
