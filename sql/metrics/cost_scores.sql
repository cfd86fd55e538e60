-- One row per label set and setting (strategy, strategy_digest, gold, judge): what its answers cost
-- in US dollars beside what they are worth. Scores as in score_averages.
--   n_trajectories      different trajectories asked about, labelled or not
--   cost_usd            what this setting's prompts cost, answers that were cut short included. A
--                       prompt that two settings share counts in full for both, so do not add rows
--   usd_per_trajectory  cost_usd / n_trajectories
--   n_unpriced          billed answers without a known price; cost_usd is NULL where there are any
--   is_best             no setting of the label set scores as well for less, or better for as much
with asked as (
    select strategy, strategy_digest, gold, judge, count(distinct trajectory_id) as n_trajectories
    from requests
    group by all
),

-- The prompts a setting needed: those asked now, and those whose answer was cut short before.
needed as (
    select strategy, strategy_digest, gold, judge, prompt_hash from requests
    union
    select requests.strategy, requests.strategy_digest, requests.gold, requests.judge,
        widened.prompt_hash
    from requests
    join widened on widened.wider_hash = requests.prompt_hash
),

paid as (
    select
        needed.strategy,
        needed.strategy_digest,
        needed.gold,
        needed.judge,
        fsum(responses.cost_usd) as cost_usd,
        count(*) filter (cost_usd is null and output_tokens is not null) as n_unpriced
    from needed
    join responses using (prompt_hash)
    group by all
),

beside as (
    select
        averages.label_set,
        averages.strategy,
        averages.strategy_digest,
        averages.gold,
        averages.judge,
        averages.step_score,
        averages.trajectory_score,
        asked.n_trajectories,
        coalesce(paid.n_unpriced, 0) as n_unpriced,
        case when paid.n_unpriced = 0 then paid.cost_usd end as cost_usd,
        case when paid.n_unpriced = 0 then paid.cost_usd end / asked.n_trajectories
            as usd_per_trajectory
    from score_averages as averages
    join asked using (strategy, strategy_digest, gold, judge)
    left join paid using (strategy, strategy_digest, gold, judge)
)

select
    beside.*,
    case
        when usd_per_trajectory is not null and step_score is not null
        then not exists (
            from beside as other
            where other.label_set = beside.label_set
                and other.usd_per_trajectory <= beside.usd_per_trajectory
                and other.step_score >= beside.step_score
                and (
                    other.usd_per_trajectory < beside.usd_per_trajectory
                    or other.step_score > beside.step_score
                )
        )
    end as is_best
from beside
