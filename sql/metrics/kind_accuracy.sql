-- One row per label set, setting (strategy, strategy_digest, gold, judge), domain and origin: how often
-- the kind of a labelled step was named right, its evidence being known (StepCls). Repeats are pooled.
--   label_set        'human + automated' is both subsets of the later release together
--   domain, origin   'all' is every domain; every case, else those put in by the authors or not
--   n_expected       cases of the trajectories asked about
--   n_answered       of these, with a readable answer; coverage is their share
--   accuracy         n_correct / n_answered, from 0 to 1; NULL without an answer
--   accuracy_strict  n_correct / n_expected: a case without a readable answer is wrong, as the
--                    release's own evaluator has it
select
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    coalesce(pooled.domain, 'all') as domain,
    case pooled.is_synthetic when true then 'synthetic' when false then 'natural' else 'all' end as origin,
    count(*) as n_expected,
    count(*) filter (is_answered) as n_answered,
    n_answered / n_expected as coverage,
    count(*) filter (is_kind_right) as n_correct,
    n_correct / nullif(n_answered, 0) as accuracy,
    n_correct / n_expected as accuracy_strict
from pooled_cases as pooled
where answer = 'kind'
group by
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    grouping sets (
        (), (pooled.domain), (pooled.is_synthetic), (pooled.domain, pooled.is_synthetic)
    )
-- Both subsets together are a row of their own only where there are both.
having label_set = min(subset) or min(subset) <> max(subset)
