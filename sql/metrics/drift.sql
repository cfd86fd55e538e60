-- One row per setting (strategy, strategy_digest, gold, judge) and round of `needless recheck`: whether
-- the judge still says the same. Labels play no part, and repeats are pooled.
--   n_rechecked  answered prompts that were asked again
--   n_answered   of these, with a readable answer to the later asking too
--   n_steps      verdicts on steps in both answers
--   n_flipped    of these, another verdict the second time
--   flip_rate    n_flipped / n_steps, from 0 to 1; NULL without a step to compare
--   n_to_redundant, n_to_necessary  the flips by what the later answer says
with asked as (
    select distinct
        requests.strategy,
        requests.strategy_digest,
        requests.gold,
        requests.judge,
        rechecks.round,
        rechecks.prompt_hash
    from rechecks
    join requests using (prompt_hash)
),
compared as (
    select
        strategy,
        strategy_digest,
        gold,
        judge,
        round,
        count(distinct prompt_hash) as n_answered,
        count(*) as n_steps,
        count(*) filter (first_redundant <> again_redundant) as n_flipped,
        count(*) filter (again_redundant and not first_redundant) as n_to_redundant,
        count(*) filter (first_redundant and not again_redundant) as n_to_necessary
    from recheck_verdicts
    group by all
),
rechecked as (
    select strategy, strategy_digest, gold, judge, round, count(*) as n_rechecked
    from asked
    group by all
)
select
    strategy,
    strategy_digest,
    gold,
    judge,
    round,
    n_rechecked,
    coalesce(n_answered, 0) as n_answered,
    coalesce(n_steps, 0) as n_steps,
    coalesce(n_flipped, 0) as n_flipped,
    n_flipped / n_steps as flip_rate,
    coalesce(n_to_redundant, 0) as n_to_redundant,
    coalesce(n_to_necessary, 0) as n_to_necessary
from rechecked
left join compared using (strategy, strategy_digest, gold, judge, round)
