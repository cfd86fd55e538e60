-- Every prompt that a request asks for, what rechecks ask again of them, and what open batches carry
-- whether or not one does: a database that was brought back has no requests yet. One that is asked
-- for both ways goes into a batch.
select prompt_hash, min(mode) as mode
from (
    select prompt_hash, mode from requests
    union all
    select rechecks.again_hash, requests.mode
    from rechecks
    join requests using (prompt_hash)
    union all
    select batch_prompts.prompt_hash, batch_states.mode
    from batch_prompts
    join batch_states using (batch_id)
    where batch_states.is_open
)
group by prompt_hash
