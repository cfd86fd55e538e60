-- One row per label set, domain, setting (strategy, strategy_digest, gold, judge) and level of
-- length, in messages of the trajectory: 1 = up to 18, 2 = 19-30, 3 = 31-49, 4 = 50 and above.
-- Scores as in the view scores.
--   n_trajectories  different trajectories (n_expected counts each repeat)
--   is_small        fewer than 3 of them, which the paper leaves out
select
    label_set,
    domain,
    strategy,
    strategy_digest,
    gold,
    judge,
    lengths.messages,
    lengths.level,
    count(distinct trajectory_id) as n_trajectories,
    n_trajectories < 3 as is_small,
    count(*) as n_expected,
    count(*) filter (is_scored) as n_scored,
    n_scored / n_expected as coverage,
    count(trajectory_correct) as n_decided,
    favg(f1) filter (is_scored) as step_score,
    favg(f1_clean_is_one) filter (is_scored) as step_score_clean_is_one,
    favg(f1_strict) as step_score_strict,
    count(*) filter (trajectory_correct) / nullif(n_decided, 0) as trajectory_score,
    count(*) filter (trajectory_correct) / n_expected as trajectory_score_strict
from step_scores
join (select trajectory_id, level, messages from trajectory_lengths) as lengths using (trajectory_id)
group by label_set, domain, strategy, strategy_digest, gold, judge, level, messages
