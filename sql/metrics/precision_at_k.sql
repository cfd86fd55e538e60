-- One row per label set, setting (strategy, strategy_digest, gold, judge) and domain: how many of the
-- first K entries of a ranked list are labelled steps with their exact kind and evidence (StepDet).
-- Repeats are pooled. Of one trajectory the precision at K is its hits among the first K entries, over
-- these entries (fewer where the list is shorter), and 0 for an empty list. Here it is averaged.
--   label_set           'human + automated' is both subsets of the later release together
--   domain              'all' is every domain
--   n_expected          trajectories with a case that were asked about
--   n_answered          of these, with a readable answer; coverage is their share
--   n_empty             of these, with an empty list
--   n_gold              cases of the expected; _synthetic: put in by the authors
--   hits_at_10          of these, among the first ten entries
--   precision_at_1, _5, _10, precision_mean  over the answered, from 0 to 1; the mean is of the three
--   _strict             over the expected: a trajectory without a readable answer is a 0, as the
--                       release's own evaluator has it
with pooled as (
    select *, label_set as subset
    from detections
    union all
    select * replace ('human + automated' as label_set), label_set as subset
    from detections
    where label_set in ('human', 'automated')
),

-- In parts of 2520, which every number up to ten divides: sums are whole, and only one step rounds.
parts as (
    select
        *,
        hits_at_1 * (2520 // greatest(1, least(1, n_listed))) as parts_1,
        hits_at_5 * (2520 // greatest(1, least(5, n_listed))) as parts_5,
        hits_at_10 * (2520 // greatest(1, least(10, n_listed))) as parts_10
    from pooled
)

select
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    coalesce(parts.domain, 'all') as domain,
    count(*) as n_expected,
    count(*) filter (is_answered) as n_answered,
    n_answered / n_expected as coverage,
    count(*) filter (is_answered and n_listed = 0) as n_empty,
    sum(parts.n_gold)::bigint as n_gold,
    sum(parts.n_gold_synthetic)::bigint as n_gold_synthetic,
    sum(parts.hits_at_10)::bigint as hits_at_10,
    sum(parts.hits_at_10_synthetic)::bigint as hits_at_10_synthetic,
    -- What was not answered has no hits, so both figures have the same sum.
    sum(parts_1) / nullif(2520 * n_answered, 0) as precision_at_1,
    sum(parts_5) / nullif(2520 * n_answered, 0) as precision_at_5,
    sum(parts_10) / nullif(2520 * n_answered, 0) as precision_at_10,
    sum(parts_1 + parts_5 + parts_10) / nullif(3 * 2520 * n_answered, 0) as precision_mean,
    sum(parts_1) / (2520 * n_expected) as precision_at_1_strict,
    sum(parts_5) / (2520 * n_expected) as precision_at_5_strict,
    sum(parts_10) / (2520 * n_expected) as precision_at_10_strict,
    sum(parts_1 + parts_5 + parts_10) / (3 * 2520 * n_expected) as precision_mean_strict
from parts
group by
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    grouping sets ((), (parts.domain))
-- Both subsets together are a row of their own only where there are both.
having label_set = min(subset) or min(subset) <> max(subset)
