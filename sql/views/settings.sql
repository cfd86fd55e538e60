-- One row per setting (strategy, strategy_digest, gold, judge) that was asked, and its name.
--   setting  'judge/strategy', with '@digest' where several versions of the strategy were asked, and
--            '+gold' where the ground-truth actions were shown
with asked as (
    select distinct strategy, strategy_digest, gold, judge from asked_trajectories
),

versions as (
    select strategy, count(distinct strategy_digest) as n_versions from asked group by strategy
)

select
    judge
        || '/' || strategy
        || case when n_versions > 1 then '@' || strategy_digest else '' end
        || case when gold then '+gold' else '' end as setting,
    strategy,
    strategy_digest,
    gold,
    judge
from asked
join versions using (strategy)
