-- One row per label set, judge, strategy (with its digest), gold and level, in the layout of the
-- paper's Tables 2 and 3, in percent: our scores by domain and on average, and beside them what the
-- paper prints for that model, strategy and level. NULL where one of the two has nothing.
--   average             ours: unweighted mean of the domains, NULL while one has no score
--   printed_average     as printed in the paper; recomputed_average: from its printed domains
--   gold                shown the ground-truth actions: the paper has that for gpt-4o on airline
with levels as (
    select
        * exclude (trajectory_score, step_score),
        unnest(['trajectory', 'step']) as level,
        unnest([trajectory_score, step_score]) as score
    from scores
),
ours as (
    select
        label_set,
        judge,
        strategy,
        strategy_digest,
        gold,
        level,
        100 * max(score) filter (domain = 'airline') as airline,
        100 * max(score) filter (domain = 'retail') as retail,
        100 * max(score) filter (domain = 'telecom') as telecom,
        case when count(score) = count(*) then 100 * favg(score) end as average,
        -- A dated name is the same model.
        regexp_replace(regexp_extract(judge, ':([^?]*)', 1), '-20\d\d-\d\d-\d\d$', '') as model
    from levels
    group by label_set, judge, strategy, strategy_digest, gold, level
)
select
    ours.label_set,
    ours.judge,
    ours.strategy,
    ours.strategy_digest,
    ours.gold,
    ours.level,
    ours.airline,
    ours.retail,
    ours.telecom,
    ours.average,
    case when ours.gold then with_gold.with_gold else plain.airline end as printed_airline,
    case when not ours.gold then plain.retail end as printed_retail,
    case when not ours.gold then plain.telecom end as printed_telecom,
    case when not ours.gold then plain.printed_average end as printed_average,
    case when not ours.gold then plain.recomputed_average end as recomputed_average
from ours
left join published as plain using (model, strategy, level)
left join published_gold as with_gold using (model, strategy, level)
