-- One row per data set and domain: how much was imported, and when.
select
    dataset,
    domain,
    count(*) as trajectories,
    count(*) filter (success) as successes,
    sum(n_messages)::bigint as messages,
    string_agg(distinct agent_model, ', ' order by agent_model) as agent_models,
    max(imported_at)::timestamp(0) as imported
from trajectories
group by dataset, domain
order by dataset, domain
