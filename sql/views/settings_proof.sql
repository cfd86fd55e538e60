-- One row per model and settings (parameters and answer form) that were sent: whether any line was
-- answered, and how many the provider refused for good.
with outcomes as (
    select prompt_hash, outcome, is_transient, error, received_at
    from responses
),
held as (
    select distinct batch_prompts.prompt_hash
    from batch_prompts
    join batch_states using (batch_id)
    where batch_states.is_open
)
select
    prompts.provider,
    prompts.base_url,
    prompts.model,
    prompts.settings,
    coalesce(bool_or(outcome in ('ok', 'truncated', 'refused', 'empty')), false) as is_proven,
    count(*) filter (outcome = 'error' and not is_transient) as refusals,
    count(held.prompt_hash) as in_flight,
    arg_max(error, received_at) filter (outcome = 'error') as newest_error
from prompts
left join outcomes using (prompt_hash)
left join held using (prompt_hash)
where outcomes.prompt_hash is not null or held.prompt_hash is not null
group by prompts.provider, prompts.base_url, prompts.model, prompts.settings
