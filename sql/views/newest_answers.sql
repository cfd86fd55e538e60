-- One row per prompt that has a response: the state of the answer that counts. An ok one wins;
-- without one it is the latest.
select
    prompt_hash,
    case
        when bool_or(state = 'ok') then 'ok'
        else arg_max(state, (received_at, attempt, batch_id))
    end as state
from answers
group by prompt_hash
