-- The stored prompts that ask about step $2 of trajectory $1, by whichever judge, strategy, version,
-- gold and repeat: one row a prompt, named by the first request that needs it.
with asking as (
    select
        prompt_hash,
        arg_min(judge, rowid) as judge,
        arg_min(strategy, rowid) as strategy,
        arg_min(strategy_digest, rowid) as strategy_digest,
        arg_min(gold, rowid) as gold,
        min(repeat) as repeat
    from requests
    where trajectory_id = $1 and list_contains(targets, $2)
    group by prompt_hash
)
select
    replace(prompts.prompt_hash::varchar, '-', '') as prompt_hash,
    asking.judge,
    asking.strategy,
    asking.strategy_digest,
    asking.gold,
    asking.repeat,
    prompts.provider,
    prompts.base_url,
    prompts.endpoint,
    encode(prompt_bodies.body) as body
from asking
join prompts using (prompt_hash)
join prompt_bodies using (prompt_hash)
order by prompt_bodies.rowid
