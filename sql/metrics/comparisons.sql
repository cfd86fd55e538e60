-- One row per label set, pair of settings (a before b by name, see the view settings) and domain, on
-- the trajectories that both scored. A domain 'all' is the unweighted mean of those domains for the
-- step scores, and their sum for the counts. Scores are fractions from 0 to 1.
--   n_trajectories          different trajectories both scored; repeats of the same number are paired
--   step_score_a, step_score_b  mean f1 of each over them
--   step_score_difference, _low, _high  a minus b, and its 95 % paired bootstrap interval, drawn as in
--                           score_intervals; NULL where a domain has fewer than two trajectories
--   n_both_right to n_neither_right  whose "has a redundant step" is right, a trajectory counting once,
--                           by its first repeat that both scored
--   mcnemar_p               exact two-sided McNemar test of n_only_a_right against n_only_b_right: how
--                           often a fair coin would split them as unevenly; 1 where there are none
with named as materialized (
    select
        label_set,
        setting,
        domain,
        trajectory_id,
        repeat,
        f1::decimal(18, 15) as f1,
        trajectory_correct
    from step_scores
    join settings using (strategy, strategy_digest, gold, judge)
    where is_scored
),

paired as materialized (
    select
        a.label_set,
        a.setting as setting_a,
        b.setting as setting_b,
        a.domain,
        a.trajectory_id,
        count(*) as n_repeats,
        sum(a.f1)::decimal(18, 15) as f1_a,
        sum(b.f1)::decimal(18, 15) as f1_b,
        arg_min(a.trajectory_correct, a.repeat) as right_a,
        arg_min(b.trajectory_correct, b.repeat) as right_b
    from named as a
    join named as b using (label_set, trajectory_id, repeat)
    where a.setting < b.setting
    group by a.label_set, a.setting, b.setting, a.domain, a.trajectory_id
),

placed as materialized (
    select
        dense_rank() over (order by label_set, setting_a, setting_b, domain) as series,
        row_number() over (
            partition by label_set, setting_a, setting_b, domain order by trajectory_id
        ) - 1 as place,
        count(*) over (partition by label_set, setting_a, setting_b, domain) as n_trajectories,
        paired.*
    from paired
),

series as (
    select
        series,
        label_set,
        setting_a,
        setting_b,
        domain,
        n_trajectories,
        sum(f1_a) / sum(n_repeats) as step_score_a,
        sum(f1_b) / sum(n_repeats) as step_score_b,
        count(*) filter (right_a and right_b) as n_both_right,
        count(*) filter (right_a and not right_b) as n_only_a_right,
        count(*) filter (right_b and not right_a) as n_only_b_right,
        count(*) filter (not right_a and not right_b) as n_neither_right
    from placed
    group by series, label_set, setting_a, setting_b, domain, n_trajectories
),

-- Hashed twice, as in score_intervals.
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
        sum(f1_a - f1_b) / sum(n_repeats) as difference
    from placed
    join draws using (domain, n_trajectories, place)
    group by series, resample
),

bounds as (
    select
        label_set,
        setting_a,
        setting_b,
        domain,
        quantile_cont(difference, [0.025, 0.975]) as bounds
    from resampled
    join series using (series)
    group by label_set, setting_a, setting_b, domain
    union all
    select label_set, setting_a, setting_b, 'all', quantile_cont(difference, [0.025, 0.975])
    from (
        select label_set, setting_a, setting_b, avg(difference::decimal(18, 15)) as difference
        from resampled
        join series using (series)
        group by label_set, setting_a, setting_b, resample
    ) as averages
    group by label_set, setting_a, setting_b
),

counted as (
    select
        label_set,
        setting_a,
        setting_b,
        domain,
        n_trajectories,
        n_trajectories > 1 as has_interval,
        step_score_a,
        step_score_b,
        n_both_right,
        n_only_a_right,
        n_only_b_right,
        n_neither_right
    from series
    union all
    select
        label_set,
        setting_a,
        setting_b,
        'all',
        sum(n_trajectories)::bigint,
        bool_and(n_trajectories > 1),
        avg(step_score_a::decimal(18, 15)),
        avg(step_score_b::decimal(18, 15)),
        sum(n_both_right)::bigint,
        sum(n_only_a_right)::bigint,
        sum(n_only_b_right)::bigint,
        sum(n_neither_right)::bigint
    from series
    group by label_set, setting_a, setting_b
)

select
    label_set,
    setting_a,
    setting_b,
    domain,
    n_trajectories,
    step_score_a,
    step_score_b,
    step_score_a - step_score_b as step_score_difference,
    case when has_interval then bounds[1] end as step_score_difference_low,
    case when has_interval then bounds[2] end as step_score_difference_high,
    n_both_right,
    n_only_a_right,
    n_only_b_right,
    n_neither_right,
    -- Twice the smaller tail of Binomial(n, 1/2), by logarithms: n! has too many digits.
    least(1.0, 2 * list_sum(list_transform(
        range(least(n_only_a_right, n_only_b_right) + 1),
        lambda k: exp(
            lgamma(n_only_a_right + n_only_b_right + 1)
            - lgamma(k + 1)
            - lgamma(n_only_a_right + n_only_b_right - k + 1)
            - (n_only_a_right + n_only_b_right) * ln(2)
        )
    ))) as mcnemar_p
from counted
join bounds using (label_set, setting_a, setting_b, domain)
