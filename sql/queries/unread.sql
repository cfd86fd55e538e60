-- The ok texts that no parser has read, each with one request that tells how to read it: one that
-- needs its prompt, or the prompt that a recheck asked again.
with needed as (
    select prompt_hash, answer, positions, n_shown from requests
    union all
    select rechecks.again_hash, requests.answer, requests.positions, requests.n_shown
    from rechecks
    join requests using (prompt_hash)
)
select
    responses.batch_id,
    responses.custom_id,
    asked.answer,
    asked.positions,
    asked.n_shown,
    responses.text
from responses
join (
    select
        prompt_hash,
        any_value(answer) as answer,
        any_value(positions) as positions,
        any_value(n_shown) as n_shown
    from needed
    group by prompt_hash
) as asked using (prompt_hash)
anti join readings using (batch_id, custom_id)
where responses.outcome = 'ok'
