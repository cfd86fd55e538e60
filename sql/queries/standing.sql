-- What is known of the prompts $1: one row for each that is stored, with its state as in
-- prompt_states. answered_* is the first answer that could be read; held_* the open batch that
-- speaks for it; newest_* the newest response of any outcome.
with wanted as (
    select unnest($1::varchar[])::uuid as prompt_hash
),
first_ok as (
    select
        prompt_hash,
        arg_min(batch_id, (received_at, custom_id)) as batch_id,
        min(received_at) as received_at
    from answers
    semi join wanted using (prompt_hash)
    where state = 'ok'
    group by prompt_hash
),
held as (
    select
        batch_prompts.prompt_hash,
        max(batch_states.batch_id) as batch_id,
        arg_max(batch_states.status, batch_states.batch_id) as status
    from batch_prompts
    join batch_states using (batch_id)
    semi join wanted using (prompt_hash)
    where batch_states.is_open
    group by batch_prompts.prompt_hash
),
newest as (
    select
        prompt_hash,
        arg_max(state, (received_at, attempt, batch_id)) as state,
        -- A response has one of the two or neither, and arg_max passes over nulls.
        arg_max(coalesce(detail, error, ''), (received_at, attempt, batch_id)) as reason
    from answers
    semi join wanted using (prompt_hash)
    group by prompt_hash
)
select
    replace(states.prompt_hash::varchar, '-', '') as prompt_hash,
    states.state,
    states.attempts,
    first_ok.batch_id as answered_by,
    first_ok.received_at::timestamp(0)::varchar as answered_at,
    held.batch_id as held_by,
    held.status as held_status,
    newest.state as newest_state,
    newest.reason as newest_reason
from prompt_states as states
semi join wanted using (prompt_hash)
left join first_ok using (prompt_hash)
left join held using (prompt_hash)
left join newest using (prompt_hash)
