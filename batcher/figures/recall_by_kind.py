"""Which kinds of redundant steps are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batcher.figures.base import Figure, Row, data, ordered, series, with_questions

if TYPE_CHECKING:
    import altair as alt


def chart(rows: list[Row]) -> alt.TopLevelMixin:
    """Return one column of panels a strategy, and one row a label set and origin of the labels."""
    import altair as alt

    rows = [
        row
        | {
            "kind": row["kind"] or "no kind",
            "count": f"{row['n_found']}/{row['n_predicted']}",
            "panel": f"{row['label_set']} · {'synthetic' if row['is_synthetic'] else 'natural'}",
        }
        for row in with_questions(rows)
    ]
    judges = ordered(row["judge"] for row in rows)
    x = alt.X("recall:Q", title="recall", axis=alt.Axis(format=".0%"))
    x = x.scale(domain=[0, 1.12], nice=False)
    base = alt.Chart().encode(
        x=x, y=alt.Y("kind:N", title=None), yOffset=alt.YOffset("judge:N", sort=judges)
    )
    point = base.mark_point(size=50, filled=True, opacity=1).encode(
        **series(rows, "judge", "judge")
    )
    number = base.mark_text(align="left", dx=7, fontSize=9).encode(text="count:N")
    panel = alt.layer(point, number, data=data(rows)).properties(width=190, height=alt.Step(14))
    questions = ordered(row["question"] for row in rows)
    return panel.facet(
        row=alt.Row("panel:N", title=None),
        column=alt.Column("question:N", title=None, sort=questions),
    )


FIGURE = Figure(
    title="Recall by kind",
    caption="Of the labelled steps of a kind that have a verdict, how many were called redundant; "
    "the numbers are those counts. Synthetic steps were put in, and are often easier to spot.",
    query="select label_set, strategy, strategy_digest, gold, judge, kind, is_synthetic, "
    "n_predicted, n_found, recall from kind_recall where recall is not null "
    "order by label_set, strategy, strategy_digest, gold, judge, kind, is_synthetic",
    chart=chart,
)
