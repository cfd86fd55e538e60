-- One row per setting (strategy, strategy_digest, gold, judge) and domain: what the judge said, with
-- or without labels to hold it against. redundant_score = redundant / steps, from 0 to 1;
-- trajectory_redundant_score = the share of trajectories with at least one redundant step.
with per_trajectory as (
    select
        trajectory_id,
        strategy,
        strategy_digest,
        gold,
        judge,
        repeat,
        count(*) as steps,
        count(*) filter (is_redundant) as redundant
    from predictions
    group by all
)
select
    strategy,
    strategy_digest,
    gold,
    judge,
    trajectories.domain,
    count(distinct trajectory_id) as n_trajectories,
    sum(steps)::bigint as n_steps,
    sum(redundant)::bigint as n_redundant,
    sum(redundant) / sum(steps) as redundant_score,
    avg((redundant > 0)::integer) as trajectory_redundant_score
from per_trajectory
join trajectories using (trajectory_id)
group by strategy, strategy_digest, gold, judge, trajectories.domain
