-- The newest $3 stored prompts of provider $1 and model $2 that a request needs: one row a prompt,
-- named by the first such request.
with newest as (
    select prompts.*
    from prompts
    semi join requests using (prompt_hash)
    semi join prompt_bodies using (prompt_hash)
    where prompts.provider = $1 and prompts.model = $2
    order by prompts.created_at desc, prompts.rowid desc
    limit $3
),
asking as (
    select
        prompt_hash,
        arg_min(judge, rowid) as judge,
        arg_min(strategy, rowid) as strategy,
        arg_min(strategy_digest, rowid) as strategy_digest,
        arg_min(gold, rowid) as gold,
        min(repeat) as repeat
    from requests
    semi join newest using (prompt_hash)
    group by prompt_hash
)
select
    replace(newest.prompt_hash::varchar, '-', '') as prompt_hash,
    asking.judge,
    asking.strategy,
    asking.strategy_digest,
    asking.gold,
    asking.repeat,
    newest.provider,
    newest.base_url,
    newest.endpoint,
    encode(prompt_bodies.body) as body
from newest
join asking using (prompt_hash)
join prompt_bodies using (prompt_hash)
order by prompt_bodies.rowid
