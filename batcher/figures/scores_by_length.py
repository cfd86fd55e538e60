"""Figure 3 of the paper: both scores by length of the trajectory and by strategy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batcher.figures.base import DASHES, Figure, Row, data, ordered, series, with_questions

if TYPE_CHECKING:
    import altair as alt

#: One line for each line of a name.
_LINES = r"split(datum.label, '\n')"


def chart(rows: list[Row]) -> alt.TopLevelMixin:
    """Return one row of panels a judge and label set, and one column a score and domain."""
    import altair as alt

    rows = with_questions(rows)
    several = len({row["label_set"] for row in rows}) > 1
    points = []
    for row in rows:
        # A long name would run into the next panel: its parameters have lines of their own.
        who = re.sub("(?=[?&])", "\n", row["judge"]) + (f"\n{row['label_set']}" if several else "")
        for score, name in (("step_score", "Step-level"), ("trajectory_score", "Traj-level")):
            if row[score] is not None:
                panel = {"who": who, "panel": f"{name} · {row['domain']}"}
                points.append(row | panel | {"score": row[score]})
    levels = ["1-18", "19-30", "31-49", "50+"]
    x = alt.X("messages:O", sort=levels, title="messages", axis=alt.Axis(labelAngle=0, grid=True))
    x = x.scale(domain=levels)
    y = alt.Y("score:Q", title="score", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
    told = series(points, "question", "strategy")
    questions = ordered(row["question"] for row in points)
    dashes = alt.Scale(
        domain=questions, range=[DASHES[n % len(DASHES)] for n in range(len(questions))]
    )
    line = (
        alt.Chart()
        .mark_line()
        .encode(
            x=x,
            y=y,
            color=told["color"],
            strokeDash=alt.StrokeDash("question:N", scale=dashes, legend=None),
        )
    )
    mark = alt.Chart().mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, **told)
    panels = alt.layer(line, mark, data=data(points)).properties(width=190, height=130)
    return panels.facet(
        row=alt.Row(
            "who:N",
            title=None,
            header=alt.Header(labelOrient="top", labelAnchor="start", labelExpr=_LINES),
        ),
        column=alt.Column("panel:N", title=None),
    )


FIGURE = Figure(
    title="Scores by length of the trajectory",
    caption="One row a judge. Levels with fewer than three trajectories are left out, as in the "
    "paper's figure 3.",
    query="select label_set, domain, strategy, strategy_digest, gold, judge, level, messages, "
    "step_score, trajectory_score from length_levels "
    "where not is_small and (step_score is not null or trajectory_score is not null) "
    "order by label_set, domain, judge, strategy, strategy_digest, gold, level",
    chart=chart,
)
