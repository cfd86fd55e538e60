-- The ok texts that no parser has read, each with one request that tells how to read it.
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
    from requests
    group by prompt_hash
) as asked using (prompt_hash)
anti join readings using (batch_id, custom_id)
where responses.outcome = 'ok'
