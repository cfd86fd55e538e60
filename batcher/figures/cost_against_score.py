"""What a judge costs against what its verdicts are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batcher.figures.base import Figure, Row, data, ordered, series, with_questions

if TYPE_CHECKING:
    import altair as alt

#: From here on, cheap settings would lie on top of each other on a linear axis.
_WIDE = 20


def chart(rows: list[Row]) -> alt.TopLevelMixin:
    """Return one panel a label set: a point a setting, and a line through the best."""
    import altair as alt

    rows = with_questions(rows)
    # Names beside the points would lie on each other; a number leads to the name in the legend.
    names = ordered((row["judge"], row["question"]) for row in rows)
    numbers = {name: number for number, name in enumerate(names, 1)}
    for row in rows:
        row["number"] = numbers[row["judge"], row["question"]]
        row["setting"] = f"{row['number']}  {row['judge']} {row['question']}"
    costs = [row["usd_per_trajectory"] for row in rows]
    wide = max(costs) / min(costs) > _WIDE
    x = alt.X(
        "usd_per_trajectory:Q",
        title=f"US dollars a trajectory{' (logarithmic)' if wide else ''}",
        scale=alt.Scale(type="log", nice=False, padding=20) if wide else alt.Scale(zero=True),
        axis=alt.Axis(format="$.2~g"),
    )
    y = alt.Y("step_score:Q", title="step-level score", axis=alt.Axis(format=".0%"))
    y = y.scale(zero=False, padding=20)
    base = alt.Chart().encode(x=x, y=y)
    best = base.transform_filter("datum.is_best").mark_line(color="#888888", strokeDash=[4, 3])
    best = best.encode(order="usd_per_trajectory:Q")
    points = base.mark_point(size=90, filled=True, opacity=1)
    points = points.encode(**series(rows, "setting", "judge and strategy"))
    said = base.mark_text(dy=-12, fontWeight="bold").encode(text="number:N")
    panel = alt.layer(best, points, said, data=data(rows)).properties(width=520, height=260)
    return panel.facet(row=alt.Row("label_set:N", title=None))


FIGURE = Figure(
    title="Cost against score",
    caption="Numbers lead to the legend. The broken line joins settings that none beats for the "
    "same money. Settings that cost nothing, or whose price is not known, are left out.",
    query="select label_set, strategy, strategy_digest, gold, judge, usd_per_trajectory, "
    "step_score, is_best from cost_scores "
    "where usd_per_trajectory > 0 and step_score is not null "
    "order by label_set, strategy, strategy_digest, gold, usd_per_trajectory, judge",
    chart=chart,
)
