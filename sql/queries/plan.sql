-- What a selection would send, one row a request, from the temporary table `planned` (one row a
-- request: judge, strategy, gold, answer, mode, prompt_hash, n_bytes, n_input_tokens, n_shared_tokens). A prompt
-- that several rows need is counted where it comes first (is_first).
with asked as (
    select
        planned.* replace (coalesce(widened.wider_hash, planned.prompt_hash) as prompt_hash),
        planned.rowid as position
    from planned
    left join widened using (prompt_hash)
)
select
    asked.judge,
    asked.strategy,
    asked.gold,
    asked.answer,
    row_number() over (partition by asked.prompt_hash, asked.mode order by asked.position) = 1
        as is_first,
    coalesce(states.state, 'due') as state,
    asked.n_bytes,
    asked.n_input_tokens,
    asked.n_shared_tokens
from asked
left join prompt_states as states using (prompt_hash)
order by asked.position
