-- One row per setting (strategy, strategy_digest, gold, judge) and repeat that was asked: how often,
-- by which way, when its answers came, and which models they say they are from.
select
    requests.judge,
    requests.strategy,
    requests.strategy_digest,
    requests.gold,
    requests.repeat,
    string_agg(distinct requests.mode, ', ' order by requests.mode) as mode,
    count(distinct requests.trajectory_id) as trajectories,
    count(distinct (requests.trajectory_id, requests.excerpt_index)) as requests,
    count(distinct requests.prompt_hash) as prompts,
    string_agg(distinct responses.model, ', ' order by responses.model) as answered_by,
    min(responses.received_at)::timestamp(0) as first_answer,
    max(responses.received_at)::timestamp(0) as last_answer
from requests
left join responses using (prompt_hash)
group by all
order by requests.judge, requests.strategy, requests.strategy_digest, requests.gold, requests.repeat
