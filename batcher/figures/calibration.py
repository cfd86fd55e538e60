"""Whether a judge that says it is sure is right as often as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batcher.figures.base import Figure, Row, data, with_questions

if TYPE_CHECKING:
    import altair as alt


def chart(rows: list[Row]) -> alt.TopLevelMixin:
    """Return one row of panels a judge, and one column a strategy and label set."""
    import altair as alt

    rows = [
        row | {"panel": f"{row['question']} · {row['label_set']}"} for row in with_questions(rows)
    ]
    x = alt.X("mean_confidence:Q", title="confidence", axis=alt.Axis(format=".0%"))
    y = alt.Y("accuracy:Q", title="right", axis=alt.Axis(format=".0%"))
    base = alt.Chart().encode(x=x.scale(domain=[0, 1]), y=y.scale(domain=[0, 1]))
    line = base.mark_line(color="black").encode(order="mean_confidence:Q")
    point = base.mark_point(size=50, filled=True, opacity=1, color="black")
    number = base.mark_text(dy=-9, fontSize=9).encode(text="n_verdicts:Q")
    ideal = alt.Chart(alt.InlineData(values=[{"at": 0}, {"at": 1}]))
    ideal = ideal.mark_line(color="#888888", strokeDash=[4, 3]).encode(x="at:Q", y="at:Q")
    panel = alt.layer(ideal, line, point, number, data=data(rows)).properties(width=250, height=200)
    return panel.facet(row=alt.Row("judge:N", title=None), column=alt.Column("panel:N", title=None))


FIGURE = Figure(
    title="Calibration of confidence",
    caption="How often verdicts are right, by the confidence they were given with, in tenths; the "
    "numbers are verdicts. On the broken line, a judge is right as often as it says.",
    query="select label_set, strategy, strategy_digest, gold, judge, tenth, n_verdicts, "
    "mean_confidence, accuracy from calibration "
    "order by label_set, strategy, strategy_digest, gold, judge, tenth",
    chart=chart,
)
