-- What a selection would send, one row per judge and strategy, from the temporary table `planned`
-- (one row a request: judge, strategy, prompt_hash, provider, base_url, endpoint, model, mode,
-- n_bytes, n_input_tokens). A prompt that several rows need is counted where it comes first.
with asked as (
    select
        planned.* replace (coalesce(widened.wider_hash, planned.prompt_hash) as prompt_hash),
        planned.rowid as position
    from planned
    left join widened using (prompt_hash)
),
first_use as (
    select
        *,
        row_number() over (partition by prompt_hash, mode order by position) = 1 as is_first
    from asked
)
select
    first_use.judge,
    first_use.strategy,
    count(*) as requests,
    count(*) filter (where is_first) as prompts,
    count(*) filter (where is_first and states.state = 'answered') as answered,
    count(*) filter (where is_first and states.state = 'in flight') as in_flight,
    count(*) filter (where is_first and states.state = 'given up') as given_up,
    count(*) filter (where is_first and coalesce(states.state, 'due') = 'due') as to_send,
    coalesce(sum(first_use.n_input_tokens)
        filter (where is_first and coalesce(states.state, 'due') = 'due'), 0) as input_tokens,
    coalesce(sum(first_use.n_bytes)
        filter (where is_first and coalesce(states.state, 'due') = 'due'), 0) as input_bytes
from first_use
left join prompt_states as states using (prompt_hash)
group by all
order by min(first_use.position)
