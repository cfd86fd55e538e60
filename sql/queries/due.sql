-- The prompts of the temporary table `scope` that are due, in the order of their bodies, so that
-- neighbours in text travel together.
select
    states.provider,
    states.base_url,
    states.endpoint,
    states.model,
    scope.mode,
    replace(states.prompt_hash::varchar, '-', '') as prompt_hash,
    states.attempts + 1 as attempt,
    states.n_bytes,
    states.n_input_tokens,
    states.settings,
    coalesce(uses.judge, '') as judge,
    coalesce(uses.strategy, '') as strategy,
    coalesce(uses.answer, '') as answer
from scope
join prompt_states as states using (prompt_hash)
join prompt_bodies using (prompt_hash)
left join prompt_uses as uses using (prompt_hash)
where states.state = 'due'
order by 1, 2, 3, 4, 5, prompt_bodies.rowid
