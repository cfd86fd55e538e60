-- The prompts of the temporary table `scope` that are due at a provider, with what their price
-- depends on.
select
    states.provider,
    states.model,
    scope.mode,
    coalesce(uses.judge, '') as judge,
    coalesce(uses.strategy, '') as strategy,
    coalesce(uses.answer, '') as answer,
    states.n_input_tokens
from scope
join prompt_states as states using (prompt_hash)
left join prompt_uses as uses using (prompt_hash)
where states.state = 'due' and states.provider != 'offline'
order by 1, 2, 3
