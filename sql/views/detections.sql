-- One row per label set, setting (strategy, strategy_digest, gold, judge), repeat and trajectory with a
-- case that was asked for a ranked list of findings: how far down the list the cases are.
--   n_gold, n_gold_synthetic  cases of the trajectory; of these, put in by the authors
--   is_answered               there is a readable answer, which may be an empty list
--   n_listed                  entries of the list, whatever they are worth
--   hits_at_1, _5, _10        cases found exactly (step, kind, evidence) among the first 1, 5, 10
--                             entries; only the first mention of a step counts
with asked as (
    select distinct trajectory_id, strategy, strategy_digest, gold, judge, repeat
    from requests
    where answer = 'findings'
),

labelled as (
    select
        label_set,
        trajectory_id,
        domain,
        count(*) as n_gold,
        count(*) filter (is_synthetic) as n_gold_synthetic
    from cases
    group by label_set, trajectory_id, domain
),

answered as (
    select distinct trajectory_id, strategy, strategy_digest, gold, judge, repeat
    from predictions
),

listed as (
    select trajectory_id, strategy, strategy_digest, gold, judge, repeat, count(*) as n_listed
    from findings
    where answer = 'findings'
    group by all
),

matched as (
    select
        cases.label_set,
        cases.trajectory_id,
        findings.strategy,
        findings.strategy_digest,
        findings.gold,
        findings.judge,
        findings.repeat,
        count(*) filter (slot <= 1) as hits_at_1,
        count(*) filter (slot <= 5) as hits_at_5,
        count(*) filter (slot <= 10) as hits_at_10,
        count(*) filter (slot <= 10 and is_synthetic) as hits_at_10_synthetic
    from findings
    join cases using (trajectory_id, step_index, kind, evidence)
    where answer = 'findings' and is_first
    group by all
)

select
    labelled.label_set,
    asked.strategy,
    asked.strategy_digest,
    asked.gold,
    asked.judge,
    asked.repeat,
    asked.trajectory_id,
    labelled.domain,
    labelled.n_gold,
    labelled.n_gold_synthetic,
    answered.trajectory_id is not null as is_answered,
    coalesce(listed.n_listed, 0) as n_listed,
    coalesce(matched.hits_at_1, 0) as hits_at_1,
    coalesce(matched.hits_at_5, 0) as hits_at_5,
    coalesce(matched.hits_at_10, 0) as hits_at_10,
    coalesce(matched.hits_at_10_synthetic, 0) as hits_at_10_synthetic
from asked
join labelled using (trajectory_id)
left join answered using (trajectory_id, strategy, strategy_digest, gold, judge, repeat)
left join listed using (trajectory_id, strategy, strategy_digest, gold, judge, repeat)
left join matched
    using (label_set, trajectory_id, strategy, strategy_digest, gold, judge, repeat)
