-- The prompts of the temporary table `scope` whose answer was cut short and that may have more room:
-- not widened yet, and not the wider one of another.
select
    replace(states.prompt_hash::varchar, '-', '') as prompt_hash,
    states.provider,
    states.base_url,
    states.endpoint,
    states.model,
    states.settings,
    states.n_input_tokens,
    asked.repeat,
    encode(prompt_bodies.body) as body
from scope
join prompt_states as states using (prompt_hash)
join newest_answers using (prompt_hash)
join (select prompt_hash, min(repeat) as repeat from requests group by prompt_hash) as asked
    using (prompt_hash)
join prompt_bodies using (prompt_hash)
anti join widened using (prompt_hash)
anti join (select wider_hash as prompt_hash from widened) as wider using (prompt_hash)
where states.state = 'given up' and newest_answers.state = 'truncated'
