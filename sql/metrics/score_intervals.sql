-- One row per label set, setting (strategy, strategy_digest, gold, judge) and domain: how far its two
-- scores could move with other trajectories of the same sort. A domain 'all' is the unweighted mean
-- of the domains, as in score_averages. Fractions from 0 to 1.
--   n_trajectories              different trajectories asked about; their repeats stay together
--   step_score, _low, _high     the score of the view scores, and its 95 % percentile bootstrap
--                               interval: 1,000 times as many trajectories again, drawn with
--                               replacement within each domain
--   trajectory_score, _low, _high  the same
-- An interval is NULL where a domain has fewer than two trajectories to draw, or there is no score.
-- The draws are a hash of (seed, domain, resample, place): the same data has the same digits, and
-- settings asked about the same trajectories are drawn the same. Decimals, since their sum does not
-- depend on the order of the rows, which threads change.
with per_trajectory as materialized (
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        domain,
        trajectory_id,
        coalesce(sum(f1::decimal(18, 15)) filter (is_scored), 0)::decimal(18, 15) as f1,
        count(*) filter (is_scored) as scored,
        count(*) filter (trajectory_correct) as correct,
        count(trajectory_correct) as decided
    from step_scores
    group by label_set, strategy, strategy_digest, gold, judge, domain, trajectory_id
),

placed as materialized (
    select
        dense_rank() over (order by label_set, strategy, strategy_digest, gold, judge, domain)
            as series,
        row_number() over (
            partition by label_set, strategy, strategy_digest, gold, judge, domain
            order by trajectory_id
        ) - 1 as place,
        count(*) over (
            partition by label_set, strategy, strategy_digest, gold, judge, domain
        ) as n_trajectories,
        per_trajectory.*
    from per_trajectory
),

series as (
    select
        series,
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        domain,
        n_trajectories,
        count(*) filter (scored > 0) as n_with_step_score,
        count(*) filter (decided > 0) as n_with_trajectory_score
    from placed
    group by all
),

-- Hashed twice: hashing several values at once mixes them too little for a remainder to be fair.
draws as materialized (
    select
        domain,
        n_trajectories,
        resample,
        (hash(hash(1, domain, resample, draw)) % n_trajectories)::bigint as place
    from (select distinct domain, n_trajectories from series) as sizes,
        range(1000) as resamples (resample),
        range(n_trajectories) as places (draw)
),

resampled as (
    select
        series,
        resample,
        sum(f1) / nullif(sum(scored), 0) as step_score,
        sum(correct) / nullif(sum(decided), 0) as trajectory_score
    from placed
    join draws using (domain, n_trajectories, place)
    group by series, resample
),

-- Each resample of all domains together: their mean, where every one of them has a score in it.
resampled_averages as (
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        resample,
        case
            when count(step_score) = count(*) then avg(step_score::decimal(18, 15))
        end as step_score,
        case
            when count(trajectory_score) = count(*) then avg(trajectory_score::decimal(18, 15))
        end as trajectory_score
    from resampled
    join series using (series)
    group by label_set, strategy, strategy_digest, gold, judge, resample
),

bounds as (
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        domain,
        quantile_cont(step_score, [0.025, 0.975]) as step_bounds,
        quantile_cont(trajectory_score, [0.025, 0.975]) as trajectory_bounds
    from resampled
    join series using (series)
    group by label_set, strategy, strategy_digest, gold, judge, domain
    union all
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        'all',
        quantile_cont(step_score, [0.025, 0.975]),
        quantile_cont(trajectory_score, [0.025, 0.975])
    from resampled_averages
    group by label_set, strategy, strategy_digest, gold, judge
),

sizes as (
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        domain,
        n_trajectories,
        n_with_step_score > 1 as has_step_interval,
        n_with_trajectory_score > 1 as has_trajectory_interval
    from series
    union all
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        'all',
        sum(n_trajectories)::bigint,
        bool_and(n_with_step_score > 1),
        bool_and(n_with_trajectory_score > 1)
    from series
    group by label_set, strategy, strategy_digest, gold, judge
),

points as (
    select label_set, strategy, strategy_digest, gold, judge, domain, n_scored, n_decided,
        step_score, trajectory_score
    from scores
    union all
    select label_set, strategy, strategy_digest, gold, judge, 'all', n_scored, n_decided,
        step_score, trajectory_score
    from score_averages
)

select
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    domain,
    sizes.n_trajectories,
    points.n_scored,
    points.step_score,
    case when has_step_interval then step_bounds[1] end as step_score_low,
    case when has_step_interval then step_bounds[2] end as step_score_high,
    points.n_decided,
    points.trajectory_score,
    case when has_trajectory_interval then trajectory_bounds[1] end as trajectory_score_low,
    case when has_trajectory_interval then trajectory_bounds[2] end as trajectory_score_high
from points
join sizes using (label_set, strategy, strategy_digest, gold, judge, domain)
join bounds using (label_set, strategy, strategy_digest, gold, judge, domain)
