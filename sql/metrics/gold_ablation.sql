-- One row per label set, domain, strategy, strategy_digest and judge that was asked both without
-- and with the ground-truth actions (Table 3 of the paper). Scores as in the view scores, fractions
-- from 0 to 1; a difference is with minus without.
select
    label_set,
    domain,
    strategy,
    strategy_digest,
    judge,
    max(n_expected) filter (not gold) as n_expected_without,
    max(n_scored) filter (not gold) as n_scored_without,
    max(n_expected) filter (gold) as n_expected_with,
    max(n_scored) filter (gold) as n_scored_with,
    max(trajectory_score) filter (not gold) as trajectory_score_without,
    max(trajectory_score) filter (gold) as trajectory_score_with,
    trajectory_score_with - trajectory_score_without as trajectory_score_difference,
    max(step_score) filter (not gold) as step_score_without,
    max(step_score) filter (gold) as step_score_with,
    step_score_with - step_score_without as step_score_difference
from scores
group by label_set, domain, strategy, strategy_digest, judge
having count(distinct gold) = 2
